// Command overlay makes the stock Go toolchain build for bare metal.
//
// It writes a build overlay (go help build, -overlay) that replaces the part of
// the standard library that talks to Linux: the files below _std, and the text
// edits in edits.go. It refuses any Go release but the one that both were
// written for, and any edit whose text it does not find exactly once.
//
//	overlay -o DIR    writes DIR/overlay.json and the files that it names
package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// release is the Go release that _std and edits.go were written for.
const release = "go1.26.8"

//go:embed all:_std
var std embed.FS

func main() {
	out := flag.String("o", "", "output `directory`")
	goroot := flag.String("goroot", "", "the Go `tree` to overlay (default: the go command's)")
	flag.Parse()
	if *out == "" || flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*goroot, *out); err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
}

func run(goroot, out string) error {
	if goroot == "" {
		b, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return fmt.Errorf("go env GOROOT: %w", err)
		}
		goroot = strings.TrimSpace(string(b))
	}
	files, err := generate(goroot, std, removed, edits)
	if err != nil {
		return err
	}
	return write(goroot, out, files)
}

// generate returns the contents of the overlaid files by their names below
// GOROOT/src. A removed file has nil contents.
func generate(goroot string, std fs.FS, removed []string, edits []edit) (map[string][]byte, error) {
	if err := checkRelease(goroot); err != nil {
		return nil, err
	}
	src := filepath.Join(goroot, "src")
	files := make(map[string][]byte)
	for _, name := range removed {
		if _, err := os.Stat(filepath.Join(src, name)); err != nil {
			return nil, fmt.Errorf("file to remove: %w", err)
		}
		files[name] = nil
	}
	for _, e := range edits {
		text, ok := files[e.file]
		if !ok {
			var err error
			if text, err = os.ReadFile(filepath.Join(src, e.file)); err != nil {
				return nil, fmt.Errorf("file to edit: %w", err)
			}
		}
		if n := bytes.Count(text, []byte(e.old)); n != 1 {
			return nil, fmt.Errorf("%s: found %d times, not once: %q (%s)", e.file, n, e.old, e.why)
		}
		files[e.file] = bytes.Replace(text, []byte(e.old), []byte(e.new), 1)
	}
	err := fs.WalkDir(std, "_std", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel := strings.TrimPrefix(name, "_std/")
		if _, ok := files[rel]; ok {
			return fmt.Errorf("%s: both replaced and edited or removed", rel)
		}
		files[rel], err = fs.ReadFile(std, name)
		return err
	})
	return files, err
}

// checkRelease reads the release from the tree itself: the go command that runs
// this program may be another one.
func checkRelease(goroot string) error {
	b, err := os.ReadFile(filepath.Join(goroot, "VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not a release of Go: it has no file VERSION", goroot)
	}
	if err != nil {
		return err
	}
	if v, _, _ := strings.Cut(string(b), "\n"); v != release {
		return fmt.Errorf("%s holds %s, but this overlay is for %s", goroot, v, release)
	}
	return nil
}

// write puts the files and overlay.json below out. Files that are already
// there with the same contents are left alone.
func write(goroot, out string, files map[string][]byte) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	replace := make(map[string]string)
	for name, text := range files {
		stock := filepath.Join(goroot, "src", name)
		if text == nil {
			replace[stock] = ""
			continue
		}
		dst := filepath.Join(out, "src", path.Clean(name))
		replace[stock] = dst
		if err := writeFile(dst, text); err != nil {
			return err
		}
	}
	j, err := json.MarshalIndent(struct{ Replace map[string]string }{replace}, "", "\t")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(out, "overlay.json"), append(j, '\n'))
}

func writeFile(name string, b []byte) error {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, b) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	// Whoever builds at the same time sees the old file or the new one.
	f, err := os.CreateTemp(filepath.Dir(name), ".overlay")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after an error; else it is gone
	_, err = f.Write(b)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
