package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The harness has to be in a standard package's test binary, and a standard package imports
// standard packages only. So the harness, and what it imports, become standard packages, in a
// Go tree of links: to the stock one, to the overlay for bare metal, to the project, and, in its
// vendor folder, to other modules. (An overlay alone would not do: the assembler wants a
// package's folder to be there.) Package testing/internal/testdeps is edited to call the
// harness. Only the generated main package imports that, no tested package and no test; so no
// import becomes a cycle, and the go command builds the harness anew where it depends on the
// package under test.

// testdeps is the file that is edited. hook is the head of the method that the generated main package
// calls first, call is what is added to it.
const (
	testdeps = "testing/internal/testdeps/deps.go"
	hook     = "func (TestDeps) InitRuntimeCoverage() (mode string, tearDown func(string, string) (string, error), snapcov func() float64) {\n"
	call     = "\tstartHarness()\n"
)

// tags are the build tags: those of scripts/metal.sh, and time zones, because most suites have no
// file of them.
const tags = "linkramstart,metal,timetzdata"

// makeTree makes a Go tree in the folder dir, from the one at goroot. root is the project's
// folder, whose overlay for bare metal has been made. A tree that is as it should be is left alone: two
// drivers may use it at the same time.
func makeTree(root, goroot, dir string) error {
	files, err := plan(root, goroot)
	if err != nil {
		return err
	}
	list, err := json.MarshalIndent(files, "", "\t")
	if err != nil {
		return err
	}
	manifest := filepath.Join(dir, "links.json")
	if old, err := os.ReadFile(manifest); err == nil && bytes.Equal(old, list) {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for name, file := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.Symlink(file, name); err != nil {
			return err
		}
	}
	if err := edit(filepath.Join(goroot, "src", testdeps), filepath.Join(dir, "src", testdeps)); err != nil {
		return err
	}
	return os.WriteFile(manifest, list, 0o666)
}

// plan returns the tree's links: what they lead to, by their names in the tree.
func plan(root, goroot string) (map[string]string, error) {
	files := make(map[string]string)
	for _, name := range []string{"VERSION", "bin", "go.env", "lib", "pkg"} {
		files[name] = filepath.Join(goroot, name)
	}
	if err := addFolder(files, filepath.Join(goroot, "src")); err != nil {
		return nil, err
	}

	metal := filepath.Join(root, "build/_overlay/overlay.json")
	b, err := os.ReadFile(metal)
	if err != nil {
		return nil, err
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(b, &overlay); err != nil {
		return nil, fmt.Errorf("%s: %w", metal, err)
	}
	for stock, file := range overlay.Replace {
		name, err := filepath.Rel(goroot, stock)
		if err != nil {
			return nil, err
		}
		if file == "" {
			delete(files, name)
		} else {
			files[name] = file
		}
	}

	packages, err := harnessPackages(root, metal)
	if err != nil {
		return nil, err
	}
	for _, p := range packages {
		folder := "src"
		if first, _, _ := strings.Cut(p.ImportPath, "/"); strings.Contains(first, ".") {
			folder = "src/vendor"
		}
		for _, file := range p.files() {
			files[filepath.Join(folder, p.ImportPath, file)] = filepath.Join(p.Dir, file)
		}
	}
	err = addFolder(files, filepath.Join(root, "stdtest/_std/src"))
	delete(files, filepath.Join("src", testdeps)) // a file of the tree's own
	return files, err
}

// addFolder adds the files below a folder src.
func addFolder(files map[string]string, src string) error {
	return filepath.WalkDir(src, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(filepath.Dir(src), name)
		files[rel] = name
		return err
	})
}

// edit writes the file of package testdeps that calls the harness.
func edit(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if n := bytes.Count(text, []byte(hook)); n != 1 {
		return fmt.Errorf("%s: found %d times, not once: %q", from, n, hook)
	}
	return os.WriteFile(to, bytes.Replace(text, []byte(hook), []byte(hook+call), 1), 0o666)
}

// A listed is a package as go list describes it.
type listed struct {
	ImportPath, Dir         string
	Standard                bool
	GoFiles, HFiles, SFiles []string
}

func (p *listed) files() []string {
	var all []string
	for _, list := range [][]string{p.GoFiles, p.HFiles, p.SFiles} {
		all = append(all, list...)
	}
	return all
}

// harnessPackages returns the harness and those packages it depends on that are not
// standard ones.
func harnessPackages(root, metal string) ([]listed, error) {
	const pkg = "./stdtest/harness"
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,GoFiles,HFiles,SFiles",
		"-overlay", metal, "-tags", tags, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pkg, err)
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list %s: %w", pkg, err)
		}
		if !p.Standard {
			packages = append(packages, p)
		}
	}
}
