package main

import (
	"archive/tar"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tamaprobe/stdtest/way"
)

const probesLine = "\nharness: 3 functions: 3 kprobes (2 optimized), 1234567 hits, 5 missed; 2 kretprobes, 89 calls: 80 returned, 4 abandoned, 0 lost, 5 on their way\n"

func TestResult(t *testing.T) {
	for _, c := range []struct {
		name, way string
		exit      int
		log       string
		ok        bool
		want      string // in the line that is printed
	}{
		{"passes", way.Bare, 0, "=== RUN   TestA\r\n--- PASS: TestA (0.00s)\r\n    --- PASS: TestA/1 (0.00s)\n--- SKIP: TestB (0.00s)\nPASS\n", true,
			"ok\tx bare 1.5s 1 tests and 1 that skip themselves"},
		{"passes with probes", way.Jump, 0, "--- PASS: TestA (0.00s)\nPASS\n" + probesLine, true,
			"1 tests, 1,234,562 hits and 5 in handlers, 89 followed calls"},
		{"a test fails", way.Bare, 1, "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/one (0.00s)\n--- PASS: TestB (0.00s)\nFAIL\n", false, "TestA TestA/one"},
		{"exit code 0, but a test failed", way.Bare, 0, "--- FAIL: TestA (0.00s)\n", false, "TestA"},
		{"no tests", way.Bare, 0, "PASS\n", false, "exit code 0"},
		{"ends early", way.Bare, 125, "--- PASS: TestA (0.00s)\nsomething happened\n\n", false, `exit code 125, "something happened"`},
		{"the probes were not there", way.Int3, 0, "--- PASS: TestA (0.00s)\nPASS\n", false, "exit code 0"},
		{"the probes do not add up", way.Jump, 3, "--- PASS: TestA (0.00s)\n" + probesLine + "\nharness: FAIL: main.f: 3 hits\n", false, "main.f: 3 hits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := &result{Package: "x", Way: c.way, Exit: c.exit, Seconds: 1.5}
			res.read([]byte(c.log))
			if res.ok() != c.ok || !strings.Contains(res.String(), c.want) {
				t.Errorf("ok is %v: %s", res.ok(), res)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	good := func(pkg, way string) *result {
		return &result{Package: pkg, Way: way, Passed: 3, Hits: 1000, Probes: strings.TrimPrefix(way, "bare")}
	}
	bad := func(pkg, way string) *result { return &result{Package: pkg, Way: way, Exit: 1} }
	for _, c := range []struct {
		name string
		all  []*result
		ok   bool
		want string
	}{
		{"all pass", []*result{good("a", way.Bare), good("a", way.Jump)}, true, "2 of 2 runs passed: 6 tests, 2,000 hits"},
		{"bare fails, too", []*result{bad("a", way.Bare), bad("a", way.Jump)}, false, "0 of 2"},
		{"only probed", []*result{good("a", way.Bare), bad("a", way.Jump)}, false, "a fails only when it is probed: jump\n1 of 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			if ok := summary(&b, c.all); ok != c.ok || !strings.HasPrefix(b.String(), c.want) {
				t.Errorf("ok is %v: %s", ok, &b)
			}
		})
	}
}

func TestMarkdown(t *testing.T) {
	chosen := []*suite{{pkg: "b"}, {pkg: "a", isShort: true, skips: []skip{{noWriting, "TestA TestB/c"}, {speed, "TestD"}}}}
	got := markdown(chosen, way.All, []*result{
		{Package: "b", Failed: []string{"build"}},
		{Package: "a", Way: way.Bare, Passed: 3, Seconds: 1.4},
		{Package: "a", Way: way.Jump, Passed: 3, Seconds: 20, Probes: "x", Hits: 1234, Calls: 567},
		{Package: "a", Way: way.Int3, Exit: 1},
	})
	want := "\n\na fails only when it is probed: int3\n2 of 4 runs passed: 6 tests, 1,234 hits, 567 followed calls\n\n" +
		"| package | tests | left out | bare | jump | hits | followed calls | int3 | hits |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n" +
		"| a (short) | 3 | 3 | 1 s | 20 s | 1,234 | 567 | FAIL | 0 |\n" +
		"| b | 0 | 0 | FAIL | FAIL | 0 | 0 | FAIL | 0 |\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant at the end\n%s", got, want)
	}
}

func TestArgs(t *testing.T) {
	for _, c := range []struct {
		s    suite
		want string
	}{
		{suite{}, ""},
		{suite{isShort: true}, "-test.short"},
		{suite{skips: []skip{{noWriting, "TestA TestB/x.y"}, {speed, "TestC"}}}, `-test.skip=^TestA$|^TestB$/^x\.y$|^TestC$`},
	} {
		if got := strings.Join(c.s.args(), " "); got != c.want {
			t.Errorf("%+v: %s", c.s, got)
		}
	}
}

// The list is what it says it is.
func TestSuites(t *testing.T) {
	goroot, err := output("go", "env", "GOROOT")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	quick := 0
	for _, s := range suites {
		if seen[s.pkg] {
			t.Errorf("%s is listed twice", s.pkg)
		}
		seen[s.pkg] = true
		if s.quick {
			quick++
		}
		files, err := filepath.Glob(filepath.Join(goroot, "src", s.pkg, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no tests", s.pkg)
		}
		var text strings.Builder
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
		for _, name := range strings.Fields(s.files) {
			if _, err := os.Stat(filepath.Join(goroot, name)); err != nil {
				t.Errorf("%s: %v", s.pkg, err)
			}
		}
		for _, k := range s.skips {
			if k.why == "" {
				t.Errorf("%s: no reason for %s", s.pkg, k.tests)
			}
			for _, name := range strings.Fields(k.tests) {
				name, _, _ = strings.Cut(name, "/")
				if ok, err := regexp.MatchString(`(?m)^func `+name+`\(`, text.String()); err != nil || !ok {
					t.Errorf("%s has no %s", s.pkg, name)
				}
			}
		}
	}
	if len(suites) < 40 || quick < 3 {
		t.Errorf("%d packages, %d quick ones", len(suites), quick)
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		o    options
		want int // packages, -1: an error
	}{
		{options{ways: way.All, machines: 1}, len(suites)},
		{options{ways: way.All, machines: 2, packages: []string{"strings", "sort"}}, 2},
		{options{ways: []string{"bear"}, machines: 1}, -1},
		{options{ways: way.All, machines: 1, packages: []string{"strnigs"}}, -1},
		{options{ways: way.All}, -1},
	} {
		chosen, err := choose(c.o)
		if got := len(chosen); err != nil && c.want >= 0 || err == nil && got != c.want {
			t.Errorf("%+v: %d packages, %v", c.o, got, err)
		}
	}
}

// A suite has its package's files, not those of the packages below, and what it names.
func TestArchive(t *testing.T) {
	b := &builder{dir: t.TempDir()}
	write := func(name, text string) {
		name = filepath.Join(b.tree(), name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"p/p.go", "p/p_test.go", "p/testdata/a", "p/testdata/b/c", "p/q/q.go", "p/q/testdata/d",
		"r/r.go", "r/testdata/e", "s/f"} {
		write("src/"+name, name)
	}
	write("linked", "linked")
	if err := os.Symlink(filepath.Join(b.tree(), "linked"), filepath.Join(b.tree(), "src/p/link.go")); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(b.dir, "p.tar")
	if err := b.archive(&suite{pkg: "p", files: "src/r/testdata src/s/f"}, name); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make(map[string]string)
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[strings.TrimPrefix("/"+h.Name, b.tree()+"/src/")] = string(text)
	}
	want := map[string]string{"/tmp/": "", "p/link.go": "linked"}
	for _, name := range []string{"p/p.go", "p/p_test.go", "p/testdata/a", "p/testdata/b/c", "r/testdata/e", "s/f"} {
		want[name] = name
	}
	if !maps.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if err := b.archive(&suite{pkg: "p", files: "src/absent"}, name); err == nil {
		t.Error("a file that is not there is no error")
	}
}

// The stock file is edited in the one place that is looked for, and refused if it is not there.
func TestEdit(t *testing.T) {
	for _, c := range []struct {
		text, want, wrong string
	}{
		{"package p\n\n" + hook + "\treturn\n}\n", hook + call + "\treturn\n", ""},
		{"package p\n", "", "found 0 times"},
		{hook + hook, "", "found 2 times"},
	} {
		dir := t.TempDir()
		from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
		if err := os.WriteFile(from, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		err := edit(from, to)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%q: %v", c.text, err)
		}
		if b, _ := os.ReadFile(to); err == nil && !strings.Contains(string(b), c.want) {
			t.Errorf("%q became %q", c.text, b)
		}
	}
}
