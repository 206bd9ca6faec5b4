package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A builder builds test binaries.
type builder struct {
	root string // the project's folder
	dir  string // where everything goes that is made
}

// An image is a test binary.
type image struct {
	file string
	hash string // of its contents
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

// build builds the test binary of a suite.
func (b *builder) build(s *suite) (image, error) {
	file := filepath.Join(b.dir, s.fileName()+".test")
	env := []string{"GOROOT=" + b.tree()}
	if err := b.metal(env, "test", "-tags", tags, "-c", "-o", file, s.pkg); err != nil {
		return image{}, err
	}
	f, err := os.Open(file)
	if err != nil {
		return image{}, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return image{}, err
	}
	return image{file: file, hash: hex.EncodeToString(h.Sum(nil))}, nil
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
