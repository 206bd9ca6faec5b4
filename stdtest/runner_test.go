package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamaprobe/stdtest/way"
)

// scripts stand in for scripts/metal.sh and scripts/qemu.sh: a test binary is a file with its
// package's name, and running it prints what a machine would. The tests of package bad fail with probes.
var scripts = map[string]string{
	"metal.sh": `#!/bin/sh
echo "$7" >"$6"
`,
	"qemu.sh": `#!/bin/sh
echo "$(cat "$1") $APPEND" >>"$(dirname "$0")/runs"
case "$(cat "$1") $APPEND" in
*=bare*) echo '--- PASS: TestA (0.00s)' ;;
bad*) echo '--- FAIL: TestA (0.00s)'; exit 1 ;;
*) echo '--- PASS: TestA (0.00s)'
   echo 'harness: 1 functions: 1 kprobes (1 optimized), 10 hits, 0 missed; 1 kretprobes, 5 calls: 5 returned' ;;
esac
`}

// newTestRunner returns a runner for the scripts, and what it prints.
func newTestRunner(t *testing.T, ctx context.Context, root string) (*runner, *bytes.Buffer) {
	t.Helper()
	b := &builder{root: root, dir: filepath.Join(root, "made")}
	for _, dir := range []string{"scripts", "made/log", "made/goroot/src/good", "made/goroot/src/bad", "made/goroot/src/better"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(root, "scripts", name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	r := &runner{builder: b, ctx: ctx, w: &out}
	if err := r.load(); err != nil {
		t.Fatal(err)
	}
	return r, &out
}

// runs are how many machines ran so far.
func runs(root string) int {
	b, _ := os.ReadFile(filepath.Join(root, "scripts/runs")) // none yet: it is not there
	return bytes.Count(b, []byte("\n"))
}

// Results are in the order of the suites however many machines run; what passed is not run again.
func TestAll(t *testing.T) {
	chosen := []*suite{{pkg: "good"}, {pkg: "bad"}, {pkg: "better"}}
	root := t.TempDir()
	for i, want := range []int{9, 9 + 2} { // the second time those that failed
		r, out := newTestRunner(t, t.Context(), root)
		all, err := r.testAll(chosen, way.All, 2)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, res := range all {
			got = append(got, res.Package+" "+res.Way)
			if ok := res.Package != "bad" || res.Way == way.Bare; res.ok() != ok || res.remembered != (ok && i > 0) {
				t.Errorf("%s, remembered %v", res, res.remembered)
			}
			if !strings.Contains(out.String(), res.String()+"\n") {
				t.Errorf("%s is not printed", res)
			}
		}
		const order = "good bare,good jump,good int3,bad bare,bad jump,bad int3,better bare,better jump,better int3"
		if s := strings.Join(got, ","); s != order {
			t.Errorf("%s\nwant %s", s, order)
		}
		if n := runs(root); n != want {
			t.Errorf("%d machines ran so far, want %d", n, want)
		}
	}
}

// Other files or other arguments are another run.
func TestNotTheSame(t *testing.T) {
	root := t.TempDir()
	s := &suite{pkg: "good"}
	for i, change := range []func(){
		func() {},
		func() { s.isShort = true },
		func() { os.WriteFile(filepath.Join(root, "made/goroot/src/good/new"), nil, 0o666) },
	} {
		r, _ := newTestRunner(t, t.Context(), root)
		change()
		if _, err := r.testAll([]*suite{s}, []string{way.Int3}, 1); err != nil {
			t.Fatal(err)
		}
		if n := runs(root); n != i+1 {
			t.Errorf("%d machines ran, want %d", n, i+1)
		}
	}
}

// Whoever interrupts it gets no results.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	root := t.TempDir()
	r, _ := newTestRunner(t, ctx, root)
	i, err := r.build(&suite{pkg: "good"})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if res, err := r.test(&suite{pkg: "good"}, way.Bare, i); err == nil {
		t.Errorf("%s", res)
	}
	if all, err := r.testAll([]*suite{{pkg: "good"}, {pkg: "better"}}, way.All, 2); err == nil {
		t.Errorf("%v", all)
	}
	if len(r.passed) != 0 {
		t.Error("it is remembered")
	}
}
