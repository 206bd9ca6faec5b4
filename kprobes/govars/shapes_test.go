package govars

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shapes is the executable of testdata/shapes.
var shapes string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "govars")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shapes = filepath.Join(dir, "shapes")
	build := exec.Command("go", "build", "-o", shapes, "./testdata/shapes")
	build.Env = hostEnvironment()
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// hostEnvironment is that of builds for the host, whatever the test was built with.
func hostEnvironment() []string {
	return append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
}

// openShapes opens the executable as the kernel does, from memory.
func openShapes(t testing.TB) *Image {
	t.Helper()
	contents, err := os.ReadFile(shapes)
	if err != nil {
		t.Fatal(err)
	}
	im, err := Open(bytes.NewReader(contents))
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// address returns a symbol's address.
func address(t testing.TB, im *Image, name string) uint64 {
	t.Helper()
	addr, _, ok := im.Symbol(name)
	if !ok {
		t.Fatalf("no symbol %s", name)
	}
	return addr
}

// lineOf returns the number of the line of the program that contains a text.
func lineOf(t testing.TB, text string) int {
	t.Helper()
	source, err := os.ReadFile("testdata/shapes/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(source), "\n") {
		if strings.Contains(line, text) {
			return i + 1
		}
	}
	t.Fatalf("no line with %q", text)
	return 0
}
