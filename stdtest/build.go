package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"tamaprobe/boot/archive"
)

// A builder builds test binaries.
type builder struct {
	root string // the project's folder
	dir  string // where everything goes that is made
}

// An image is a test binary and the files that it is to have.
type image struct {
	file    string
	archive string
	dir     string // the working directory
	hash    string // of the contents of both
}

// prepare makes the Go tree.
func (b *builder) prepare(goroot string) error {
	// What metal.sh makes besides what it is asked for: the overlay, and the tool
	// that makes an image bootable.
	if err := b.metal(nil, "list", "unsafe"); err != nil {
		return err
	}
	if err := makeTree(b.root, goroot, b.tree()); err != nil {
		return fmt.Errorf("the Go tree: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(b.dir, "log"), 0o777); err != nil {
		return err
	}
	// A module outside of the project, where the harness is not a standard package. It is of the
	// language version of the standard library, which decides on defaults (GODEBUG).
	std, err := os.ReadFile(filepath.Join(goroot, "src/go.mod"))
	if err != nil {
		return err
	}
	version := regexp.MustCompile(`(?m)^go .*$`).FindString(string(std))
	return os.WriteFile(filepath.Join(b.dir, "go.mod"), []byte("module stdtest\n\n"+version+"\n"), 0o666)
}

func (b *builder) tree() string { return filepath.Join(b.dir, "goroot") }

// build builds the test binary of a suite, and the archive of its files.
func (b *builder) build(s *suite) (image, error) {
	i := image{
		file:    filepath.Join(b.dir, s.fileName()+".test"),
		archive: filepath.Join(b.dir, s.fileName()+".tar"),
		dir:     filepath.Join(b.tree(), "src", s.pkg),
	}
	env := []string{"GOROOT=" + b.tree()}
	if err := b.metal(env, "test", "-tags", tags, "-c", "-o", i.file, s.pkg); err != nil {
		return image{}, err
	}
	if err := b.archive(s, i.archive); err != nil {
		return image{}, err
	}
	h := sha256.New()
	for _, name := range []string{i.file, i.archive} {
		f, err := os.Open(name)
		if err != nil {
			return image{}, err
		}
		defer f.Close()
		if _, err := io.Copy(h, f); err != nil {
			return image{}, err
		}
	}
	i.hash = hex.EncodeToString(h.Sum(nil))
	return i, nil
}

// archive writes the files that a suite's tests read. They have the names that they have here,
// in the tree that the test binary was built in: so they are where runtime.GOROOT and
// runtime.Caller say.
func (b *builder) archive(s *suite, name string) error {
	folder := filepath.Join("src", s.pkg)
	files := map[string][]byte{"/tmp/": nil} // os.TempDir, wherever the tree is
	entries, err := os.ReadDir(filepath.Join(b.tree(), folder))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "testdata" {
			continue // another package's
		}
		if err := b.addFiles(files, filepath.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	for _, more := range strings.Fields(s.files) {
		if err := b.addFiles(files, more); err != nil {
			return err
		}
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := archive.Write(f, files); err != nil {
		return err
	}
	return f.Close()
}

// addFiles adds a file of the tree, or all that are in a folder.
func (b *builder) addFiles(files map[string][]byte, name string) error {
	return filepath.WalkDir(filepath.Join(b.tree(), name), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[name], err = os.ReadFile(name)
		return err
	})
}

// metal runs scripts/metal.sh.
func (b *builder) metal(env []string, args ...string) error {
	cmd := exec.Command(filepath.Join(b.root, "scripts/metal.sh"), args...)
	cmd.Dir = b.dir
	if err := os.MkdirAll(b.dir, 0o777); err != nil {
		return err
	}
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("metal.sh %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
