package shell

import "slices"

// A history is the lines that were executed, the oldest first.
type history struct {
	lines     []string
	suspended bool // x/term adds what it read, also what ^C ended
}

// maxHistory is how many lines are kept.
const maxHistory = 500

// Add adds a line, unless it is empty or the last one again.
func (h *history) Add(line string) {
	if h.suspended || line == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	if len(h.lines) == maxHistory {
		h.lines = slices.Delete(h.lines, 0, 1)
	}
	h.lines = append(h.lines, line)
}

// Len returns the number of lines.
func (h *history) Len() int { return len(h.lines) }

// At returns a line, 0 being the last one.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
