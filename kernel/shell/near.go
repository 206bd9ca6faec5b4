package shell

import (
	"cmp"
	"slices"
	"strings"
)

// suggest asks whether one of the names nearest to a word was meant, or gives the other
// advice if none is near.
func suggest(word string, names []string, otherwise string) string {
	const most = 3
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	folded := strings.ToLower(word)
	for _, name := range names {
		d := distance(folded, strings.ToLower(name))
		if len(word) > 1 && strings.HasPrefix(strings.ToLower(name), folded) {
			d = min(d, 1)
		}
		// A third of the word may be wrong.
		if d <= len(word)/3 || d == 1 && len(word) > 1 {
			near = append(near, candidate{name, d})
		}
	}
	if len(near) == 0 {
		return otherwise
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	near = near[:min(len(near), most)]
	var quoted []string
	for _, c := range near {
		quoted = append(quoted, c.name)
	}
	return "did you mean " + strings.Join(quoted, " or ") + "?"
}

// distance returns how many characters must be inserted, deleted, changed or exchanged
// with their neighbour to make b of a. Of long words it only says that it is large.
func distance(a, b string) int {
	const longest = 64
	s, t := []rune(a), []rune(b)
	if len(s) > longest || len(t) > longest {
		return longest
	}
	// The rows for the first i-2, i-1 and i characters of a.
	before, last, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			change := last[j-1]
			if s[i-1] != t[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(t)]
}
