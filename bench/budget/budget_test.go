package budget

import (
	"fmt"
	"strings"
	"testing"
)

// full is what a run prints if every case costs value.
func full(run Run, value float64) string {
	var b strings.Builder
	for _, g := range Groups {
		for _, c := range g.Cases {
			if c.Run == run {
				fmt.Fprintf(&b, "bench %s %.1f %s\r\n", c.Name, value, c.Unit)
			}
		}
	}
	return b.String()
}

func TestParse(t *testing.T) {
	whole := full(One, 7)
	for _, c := range []struct{ name, output, want string }{
		{"whole", whole, ""},
		{"other lines", "starting\n" + whole + "done\n", ""},
		{"one is missing", strings.Replace(whole, "bench step 7.0 insn\r\n", "", 1), "case step is missing"},
		{"nothing", "", "is missing"},
		{"twice", whole + "bench opt 7 insn\n", "twice"},
		{"unknown", whole + "bench nosuch 7 insn\n", "no such case"},
		{"of another run", whole + "bench opt_smp2 7 insn\n", "no such case"},
		{"unit", strings.Replace(whole, "bench opt 7.0 insn", "bench opt 7.0 x", 1), "unit"},
		{"no number", strings.Replace(whole, "bench opt 7.0 insn", "bench opt many insn", 1), "bench opt many"},
		{"cut", whole + "bench opt", "bench opt"},
	} {
		results, err := Parse(c.output, One)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		case c.want == "" && results["opt"] != 7:
			t.Errorf("%s: opt %v", c.name, results["opt"])
		}
	}
}

func TestExceeded(t *testing.T) {
	for _, c := range []struct {
		results Results
		want    string
	}{
		{Results{"boost": 150, "opt": 75}, ""},
		{Results{"boost": 150.5}, "boost: 150.5 insn, at most 150.0"},
		{Results{"register_1000": 50001}, "register_1000: 50001.0 insn, at most 50000.0"},
		{Results{"boost": 100, "boost_10000": 105}, ""},
		{Results{"boost": 100, "boost_10000": 106}, "boost_10000: 106.0 insn, at most 105.0"},
		{Results{"boost_10000": 1000}, ""}, // not known of what
		{Results{"time_opt": 1e9}, ""},     // not bounded
	} {
		if got := strings.Join(c.results.Exceeded(), "; "); got != c.want {
			t.Errorf("%v: %q, want %q", c.results, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	got := Results{"boost": 138, "boost_10000": 138, "count": 8.5, "register_1000": 20754.3}.Table()
	want := `| | Tamaprobe | at most | Linux |
|---|---|---|---|
| **By breakpoint** | | | |
| pre handler | 138 | 150 | 301 |
| 10,000 probes registered | 138 | 145 | 1,200 |
| **Optimized: by jump** | | | |
| counting only | 8.5 | 10 |  |
`
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "| register a batch of 1,000 | 20,754 | 50,000 | 5,000,000 |\n") {
		t.Errorf("%s", got)
	}
}

// Names are unique, and what a budget is a multiple of is there.
func TestGroups(t *testing.T) {
	seen := make(map[string]bool)
	for _, g := range Groups {
		for _, c := range g.Cases {
			if seen[c.Name] || c.Name == "" || c.What == "" || c.Unit == "" {
				t.Errorf("case %+v", c)
			}
			seen[c.Name] = true
			if c.Of != "" && !seen[c.Of] {
				t.Errorf("case %s is a multiple of %s, which does not come before it", c.Name, c.Of)
			}
		}
	}
}
