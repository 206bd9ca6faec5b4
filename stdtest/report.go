package main

import (
	"fmt"
	"io"
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

// markdown is a table of the results.
func markdown(chosen []*suite, ways []string, all []*result) string {
	by := make(map[string]*result)
	for _, res := range all {
		by[res.Package+" "+res.Way] = res
	}
	var b strings.Builder
	b.WriteString("| package | tests |")
	for _, w := range ways {
		fmt.Fprintf(&b, " %s |", w)
		if w != way.Bare {
			b.WriteString(" hits |")
		}
	}
	b.WriteString("\n|---|---|")
	for _, w := range ways {
		b.WriteString("---|")
		if w != way.Bare {
			b.WriteString("---|")
		}
	}
	b.WriteString("\n")
	for _, s := range chosen {
		name := s.pkg
		if s.isShort {
			name += " (short)"
		}
		tests := ""
		if res := by[s.pkg+" "+ways[0]]; res != nil {
			tests = fmt.Sprint(res.Passed)
		}
		fmt.Fprintf(&b, "| %s | %s |", name, tests)
		for _, w := range ways {
			res := by[s.pkg+" "+w]
			switch {
			case res == nil:
				b.WriteString(" |")
			case res.ok():
				fmt.Fprintf(&b, " %.0f s |", res.Seconds)
			default:
				b.WriteString(" FAIL |")
			}
			if w != way.Bare && res != nil {
				fmt.Fprintf(&b, " %s |", grouped(res.Hits))
			} else if w != way.Bare {
				b.WriteString(" |")
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
