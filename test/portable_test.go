package test

import (
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Outside of boot/ nothing depends on how the stock toolchain is made to build for
// bare metal: it compiles as well with TamaGo's own, where GOOS is tamago.
func TestPortable(t *testing.T) {
	err := filepath.WalkDir("..", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		switch rel, _ := filepath.Rel("..", dir); {
		case rel == "boot", rel == "test", rel == "build", strings.HasPrefix(rel, ".") && rel != ".", d.Name() == "testdata":
			return fs.SkipDir
		}
		checkPortable(t, dir)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkPortable(t *testing.T, dir string) {
	files := func(goos string) []string {
		ctx := build.Default
		ctx.GOOS, ctx.GOARCH, ctx.CgoEnabled = goos, "amd64", false
		ctx.BuildTags = []string{"metal"}
		p, err := ctx.ImportDir(dir, 0)
		if err != nil {
			return nil
		}
		return slices.Concat(p.GoFiles, p.SFiles, p.HFiles, p.TestGoFiles, p.XTestGoFiles)
	}
	linux, tamago := files("linux"), files("tamago")
	if !slices.Equal(linux, tamago) {
		t.Errorf("%s: files %v with GOOS=linux, %v with GOOS=tamago", dir, linux, tamago)
	}
	for _, name := range linux {
		name = filepath.Join(dir, name)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if strings.Contains(path, "linux") || strings.Contains(path, "golang.org/x/sys") || path == "runtime/goos" {
				t.Errorf("%s imports %s", name, path)
			}
		}
		if strings.Contains(string(text), "runtime.bare") && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s refers to a private name of the overlay", name)
		}
	}
}
