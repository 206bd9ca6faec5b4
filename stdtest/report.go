package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"tamaprobe/stdtest/way"
)

// String is the line that is printed when a suite has run.
func (res *result) String() string {
	var b strings.Builder
	if !res.ok() {
		fmt.Fprintf(&b, "FAIL\t%s %s %.1fs: ", res.Package, res.Way, res.Seconds)
		switch {
		case len(res.Failed) > 0:
			b.WriteString(strings.Join(res.Failed, " "))
		case res.Wrong != "":
			b.WriteString(res.Wrong)
		default:
			fmt.Fprintf(&b, "exit code %d, %q", res.Exit, res.Last)
		}
		if res.Log != "" {
			fmt.Fprintf(&b, " (%s)", res.Log)
		}
		return b.String()
	}
	fmt.Fprintf(&b, "ok\t%s %s %.1fs %d tests", res.Package, res.Way, res.Seconds, res.Passed)
	if res.Skipped > 0 {
		fmt.Fprintf(&b, " and %d that skip themselves", res.Skipped)
	}
	if res.Way != way.Bare {
		fmt.Fprintf(&b, ", %s hits", grouped(res.Hits))
	}
	if res.Missed > 0 {
		fmt.Fprintf(&b, " and %s in handlers", grouped(res.Missed))
	}
	if res.Calls > 0 {
		fmt.Fprintf(&b, ", %s followed calls", grouped(res.Calls))
	}
	if res.remembered {
		b.WriteString(" (remembered)")
	}
	return b.String()
}

// summary prints what came of all; ok is whether everything passed.
func summary(w io.Writer, all []*result) (ok bool) {
	bare := make(map[string]*result)
	var passed, tests int
	var hits, calls uint64
	for _, res := range all {
		if res.Way == way.Bare {
			bare[res.Package] = res
		}
	}
	for _, res := range all {
		if res.ok() {
			passed++
			tests += res.Passed
			hits += res.Hits
			calls += res.Calls
			continue
		}
		if b := bare[res.Package]; res.Way != way.Bare && b != nil && b.ok() {
			fmt.Fprintf(w, "%s fails only when it is probed: %s\n", res.Package, res.Way)
		}
	}
	fmt.Fprintf(w, "%d of %d runs passed: %s tests, %s hits, %s followed calls\n", passed, len(all),
		grouped(uint64(tests)), grouped(hits), grouped(calls))
	return passed == len(all)
}

// markdown is a page with the results of all packages.
func markdown(chosen []*suite, ways []string, all []*result) string {
	by := make(map[string]*result)
	for _, res := range all {
		by[res.Package+" "+res.Way] = res
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Tests of Go's standard library while they are probed\n\n"+
		"Written by `go run ./stdtest -table FILE` with %s. The ways are explained in [main.go](main.go); the tests that\n"+
		"are left out are in [suites.go](suites.go), with the reasons. Hits are those for which the handler was called. The times are QEMU's, on\n"+
		"a machine with other work.\n\n", runtime.Version())
	summary(&b, all)
	head, line := "\n| package | tests | left out |", "\n|---|--:|--:|"
	for _, w := range ways {
		head, line = head+" "+w+" |", line+"--:|"
		if w != way.Bare {
			head, line = head+" hits |", line+"--:|"
		}
		if w == way.Jump {
			head, line = head+" followed calls |", line+"--:|"
		}
	}
	b.WriteString(head + line + "\n")
	for _, s := range slices.SortedFunc(slices.Values(chosen), func(a, b *suite) int { return strings.Compare(a.pkg, b.pkg) }) {
		name := s.pkg
		if s.isShort {
			name += " (short)"
		}
		first, tests := by[s.pkg+" "+ways[0]], 0
		if first != nil {
			tests = first.Passed
		}
		fmt.Fprintf(&b, "| %s | %d | %d |", name, tests, s.leftOut())
		for _, w := range ways {
			res := by[s.pkg+" "+w]
			if res == nil {
				res = new(result) // it does not build
			}
			if res.ok() {
				fmt.Fprintf(&b, " %.0f s |", res.Seconds)
			} else {
				b.WriteString(" FAIL |")
			}
			if w != way.Bare {
				fmt.Fprintf(&b, " %s |", grouped(res.Hits))
			}
			if w == way.Jump {
				fmt.Fprintf(&b, " %s |", grouped(res.Calls))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// grouped writes a number with commas.
func grouped(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
