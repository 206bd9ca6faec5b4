package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// tree makes a GOROOT of a release with some files.
func tree(t *testing.T, version string, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	files["../VERSION"] = version + "\ntime 2026-01-01T00:00:00Z\n"
	for name, text := range files {
		name = filepath.Join(root, "src", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestGenerate(t *testing.T) {
	root := tree(t, release, map[string]string{
		"runtime/a.go": "one\ntwo\nthree\n",
		"runtime/b.go": "gone",
	})
	std := fstest.MapFS{"_std/runtime/c.go": {Data: []byte("new")}}
	files, err := generate(root, std, []string{"runtime/b.go"}, []edit{
		{"runtime/a.go", "", "one\n", "1\n"},
		{"runtime/a.go", "", "three", "3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 3 || string(files["runtime/a.go"]) != "1\ntwo\n3\n" || files["runtime/b.go"] != nil || string(files["runtime/c.go"]) != "new" {
		t.Errorf("%q", files)
	}

	out := t.TempDir()
	if err := write(root, out, files); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(out, "overlay.json"))
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(b, &overlay); err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(root, "src", "runtime")
	want := map[string]string{
		filepath.Join(src, "a.go"): filepath.Join(out, "src/runtime/a.go"),
		filepath.Join(src, "b.go"): "",
		filepath.Join(src, "c.go"): filepath.Join(out, "src/runtime/c.go"),
	}
	for k, v := range want {
		if overlay.Replace[k] != v {
			t.Errorf("%s: replaced by %q, want %q", k, overlay.Replace[k], v)
		}
	}
	if len(overlay.Replace) != len(want) {
		t.Errorf("%q", overlay.Replace)
	}
}

// What does not fit exactly is refused, in one line.
func TestGenerateErrors(t *testing.T) {
	files := map[string]string{"runtime/a.go": "one\ntwo\ntwo\n"}
	for _, c := range []struct {
		name    string
		version string
		std     fstest.MapFS
		removed []string
		edits   []edit
		want    string
	}{
		{"other release", "go1.26.7", nil, nil, nil, "holds go1.26.7, but this overlay is for " + release},
		{"development", "devel go1.27-abc", nil, nil, nil, "holds devel go1.27-abc"},
		{"no match", release, nil, nil, []edit{{"runtime/a.go", "why", "four", "4"}}, "runtime/a.go: found 0 times, not once: \"four\" (why)"},
		{"two matches", release, nil, nil, []edit{{"runtime/a.go", "why", "two", "2"}}, "runtime/a.go: found 2 times"},
		{"no file", release, nil, nil, []edit{{"runtime/x.go", "", "", ""}}, "file to edit"},
		{"nothing to remove", release, nil, []string{"runtime/x.go"}, nil, "file to remove"},
		{"edited and replaced", release, fstest.MapFS{"_std/runtime/a.go": {}}, nil, []edit{{"runtime/a.go", "", "one", "1"}}, "both replaced and edited or removed"},
		{"edited and removed", release, nil, []string{"runtime/a.go"}, []edit{{"runtime/a.go", "", "one", "1"}}, "found 0 times"},
	} {
		root := tree(t, c.version, files)
		std := c.std
		if std == nil {
			std = fstest.MapFS{"_std": {Mode: os.ModeDir}}
		}
		_, err := generate(root, std, c.removed, c.edits)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if err := checkRelease(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not a release of Go") {
		t.Errorf("no VERSION: %v", err)
	}
}

// The edits fit the toolchain that is here, and each says why it is there.
func TestEdits(t *testing.T) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := generate(strings.TrimSpace(string(goroot)), std, removed, edits)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		if e.why == "" {
			t.Errorf("%s: %q: no reason", e.file, e.old)
		}
	}
	if files["runtime/os_bare.go"] == nil {
		t.Error("no runtime/os_bare.go")
	}
}
