//go:build metal

package harness

import (
	"strings"
	"testing"

	"tamaprobe/kprobes"
	"tamaprobe/symtab"
)

const pkg = "tamaprobe/stdtest/harness"

func TestBelongsTo(t *testing.T) {
	for _, c := range []struct {
		function, pkg string
		want          bool
	}{
		{"strings.Index", "strings", true},
		{"strings.(*Builder).String", "strings", true},
		{"strings_test.TestIndex.func1", "strings", true},
		{"strings.init", "strings", true},
		{"strings/x.F", "strings", false},
		{"stringslike.F", "strings", false},
		{"bytes.Index", "strings", false},
		{"encoding/json.Marshal", "encoding/json", true},
		{"encoding/json_test.TestX", "encoding/json", true},
		{"json.Marshal", "encoding/json", false},
	} {
		if got := belongsTo(c.function, c.pkg); got != c.want {
			t.Errorf("belongsTo(%s, %s) = %v", c.function, c.pkg, got)
		}
	}
}

//go:noinline
func called(n int) int {
	if n < 0 {
		panic("negative")
	}
	return n + 1
}

//go:noinline
func survives(n int) {
	defer func() { recover() }()
	called(n)
}

// calledProbes is a set with probes on called.
func calledProbes(t *testing.T) *set {
	t.Helper()
	var b batch
	for _, fn := range symtab.Lookup(pkg + ".called") {
		b.addEntry(fn)
		b.addReturn(fn)
	}
	s := &set{functions: 1}
	if err := s.register(b); err != nil {
		t.Fatal(err)
	}
	if len(b.entries) != 1 || len(b.returns) != 1 {
		t.Fatalf("%d kprobes, %d kretprobes", len(b.entries), len(b.returns))
	}
	return s
}

func TestSums(t *testing.T) {
	s := calledProbes(t)
	for i := range 100 {
		survives(i - 10)
	}
	sums, err := s.finish()
	want := Sums{Functions: 1, Kprobes: 1, Kretprobes: 1, Hits: 100, Calls: 100, Returned: 90, Abandoned: 10}
	if sums != want || err != nil {
		t.Errorf("%v, %v", sums, err)
	}
}

// What does not add up is named.
func TestWrong(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(s *set)
		want string
	}{
		{"a handler that was not called", func(s *set) {
			survives(1)
			s.batches[0].entries[0].handled.Store(0)
		}, pkg + ".called: 1 hits, but 0 handled and 0 missed"},
		{"a return handler that was called too often", func(s *set) {
			survives(1)
			s.batches[0].returns[0].handled.Store(1000)
		}, pkg + ".called: 1 to 1 calls returned, the handler was called 1000 times"},
		{"no hits", func(*set) {}, "no hits"},
		{"somebody else took the probe away", func(s *set) {
			survives(1)
			kprobes.Unregister(&s.batches[0].entries[0].Kprobe)
		}, "not registered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := calledProbes(t)
			c.do(s)
			if _, err := s.finish(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Breakpoints are on the functions of the package and on no others.
func TestEveryBreakpoint(t *testing.T) {
	s, err := everyBreakpoint(pkg)
	defer kprobes.SetOptimization(true)
	if err != nil {
		t.Fatal(err)
	}
	survives(1)
	sums, err := s.finish()
	if err != nil {
		t.Fatal(err)
	}
	if sums.Kprobes < 20 || sums.Kprobes > 200 || sums.Kretprobes != 0 || sums.Hits < 2 {
		t.Errorf("%v", sums)
	}
}
