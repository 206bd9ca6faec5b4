package budget

import (
	"bufio"
	"fmt"
	"strings"
)

// Results are what cases cost, by name.
type Results map[string]float64

// Parse reads what the bench printed in one run: lines
//
//	bench CASE VALUE UNIT
//
// Other lines are not for it. Every case of the run has to be there once, and no other.
func Parse(output string, run Run) (Results, error) {
	known := make(map[string]Case)
	for _, g := range Groups {
		for _, c := range g.Cases {
			if c.Run == run {
				known[c.Name] = c
			}
		}
	}
	results := make(Results)
	for s := bufio.NewScanner(strings.NewReader(output)); s.Scan(); {
		var name, unit string
		var value float64
		line := strings.TrimSpace(s.Text())
		if !strings.HasPrefix(line, "bench ") {
			continue
		}
		if _, err := fmt.Sscanf(line, "bench %s %g %s", &name, &value, &unit); err != nil {
			return nil, fmt.Errorf("%q: %v", line, err)
		}
		c, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("%q: the run has no such case", line)
		}
		if _, twice := results[name]; twice {
			return nil, fmt.Errorf("%q: the case is there twice", line)
		}
		if unit != c.Unit {
			return nil, fmt.Errorf("%q: the unit is not %s", line, c.Unit)
		}
		results[name] = value
	}
	for name := range known {
		if _, ok := results[name]; !ok {
			return nil, fmt.Errorf("case %s is missing", name)
		}
	}
	return results, nil
}

// Limit returns the most that a case may cost; ok is false if that is not bounded.
func (r Results) Limit(c Case) (limit float64, ok bool) {
	switch {
	case c.Max == 0:
		return 0, false
	case c.Of == "":
		return c.Max, true
	}
	of, ok := r[c.Of]
	return c.Max * of, ok
}

// Exceeded says of every case that costs more than it may how much that is. Cases without a
// result are passed over.
func (r Results) Exceeded() (lines []string) {
	for _, g := range Groups {
		for _, c := range g.Cases {
			value, ok := r[c.Name]
			if limit, bounded := r.Limit(c); ok && bounded && value > limit {
				lines = append(lines, fmt.Sprintf("%s: %.1f %s, at most %.1f", c.Name, value, c.Unit, limit))
			}
		}
	}
	return lines
}
