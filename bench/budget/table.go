package budget

import (
	"fmt"
	"strconv"
	"strings"
)

// Table is a Markdown table of the results, with Linux beside them.
func (r Results) Table() string {
	var b strings.Builder
	b.WriteString("| | Tamaprobe | at most | Linux |\n|---|---|---|---|\n")
	for _, g := range Groups {
		fmt.Fprintf(&b, "| **%s** | | | |\n", g.Heading)
		for _, c := range g.Cases {
			value, ok := r[c.Name]
			if !ok {
				continue
			}
			limit, linux := "", ""
			if l, ok := r.Limit(c); ok {
				limit = Figure(l)
			}
			if c.Linux != 0 {
				linux = Figure(c.Linux)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.What, Figure(value), limit, linux)
		}
	}
	return b.String()
}

// Figure prints a number for people: with commas, and one decimal only if it is small.
func Figure(v float64) string {
	if v < 20 && v != float64(int(v)) {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
