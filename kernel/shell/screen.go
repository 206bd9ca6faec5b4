package shell

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A size is that of a terminal.
type size struct{ rows, cols int }

var defaultSize = size{24, 80}

// Sizes beyond these are mistakes.
const (
	minRows, maxRows = 2, 500
	minCols, maxCols = 20, 1000
)

func (z size) valid() bool {
	return minRows <= z.rows && z.rows <= maxRows && minCols <= z.cols && z.cols <= maxCols
}

// askTime is how long an answer of the terminal is waited for. One that comes later counts
// as well.
const askTime = 200 * time.Millisecond

// askSequence moves the cursor as far as it goes, has the terminal report where that
// is, and moves it back. (ECMA-48, 8.3.14 and 8.3.35)
const askSequence = "\x1b7\x1b[999;999H\x1b[6n\x1b8"

// askSize asks the terminal for its size, and waits a short time for the answer.
func (s *Shell) askSize(ctx context.Context) {
	if s.Plain() {
		return
	}
	answer := make(chan struct{})
	s.mu.Lock()
	s.answer = answer
	s.mu.Unlock()
	s.out.control(askSequence)
	timer := time.NewTimer(askTime)
	defer timer.Stop()
	select {
	case <-answer:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// parseReport parses a cursor position report, without its introduction.
func parseReport(seq string) (rows, cols int, ok bool) {
	r, c, _ := strings.Cut(strings.TrimSuffix(seq, "R"), ";")
	rows, rowsErr := strconv.Atoi(r)
	cols, colsErr := strconv.Atoi(c)
	return rows, cols, rowsErr == nil && colsErr == nil
}

// reported takes the terminal's answer. Nobody asked for others: F3 looks like one.
func (s *Shell) reported(rows, cols int) {
	s.mu.Lock()
	answer := s.answer
	s.answer = nil
	s.mu.Unlock()
	if answer == nil {
		return
	}
	s.SetSize(rows, cols)
	close(answer)
}

// SetSize sets the size of the terminal.
func (s *Shell) SetSize(rows, cols int) error {
	z := size{rows, cols}
	if !z.valid() {
		return fmt.Errorf("%d rows, %d columns: the size must be %d to %d rows and %d to %d columns", rows, cols, minRows, maxRows, minCols, maxCols)
	}
	s.mu.Lock()
	s.size = z
	s.mu.Unlock()
	return s.editor.SetSize(cols, rows)
}

func (s *Shell) screen() size {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// stty shows or sets what is at the other end of the line.
func (s *Shell) stty(c *Context, _ string) error {
	args := c.Args()
	if len(args) == 0 {
		s.askSize(c.Context)
		z := s.screen()
		kind := "terminal"
		if s.Plain() {
			kind = "plain"
		}
		c.Printf("%s rows %d cols %d\n", kind, z.rows, z.cols)
		return nil
	}
	z, plain := s.screen(), s.Plain()
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch word {
		case "plain", "terminal":
			plain = word == "plain"
		case "rows", "cols":
			if len(args) == 0 {
				return ErrUsage
			}
			n, err := strconv.Atoi(args[0])
			if err != nil {
				return fmt.Errorf("%s: not a number (%w)", args[0], errors.Unwrap(err))
			}
			args = args[1:]
			if word == "rows" {
				z.rows = n
			} else {
				z.cols = n
			}
		default:
			return ErrUsage
		}
	}
	if err := s.SetSize(z.rows, z.cols); err != nil {
		return err
	}
	s.SetPlain(plain)
	return nil
}

// skipSequence returns the length of the control sequence that s starts with, 0 if it
// starts with none.
func skipSequence(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	for i := 2; i < len(s); i++ {
		if '@' <= s[i] && s[i] <= '~' {
			return i + 1
		}
	}
	return len(s)
}

// advance returns the length of the first thing in a line, a character or a control sequence,
// and the column behind it if it starts in column col.
func advance(line string, col int) (n, next int) {
	if n := skipSequence(line); n > 0 {
		return n, col
	}
	r, n := utf8.DecodeRuneInString(line)
	switch {
	case r == '\t':
		return n, col/8*8 + 8
	case r == '\r':
		return n, 0
	case r < ' ':
		return n, col
	}
	return n, col + 1
}

// width returns the column behind a line that starts in column col.
func width(line string, col int) int {
	for len(line) > 0 {
		var n int
		n, col = advance(line, col)
		line = line[n:]
	}
	return col
}

// clip returns as much of a line as fits into cols columns.
func clip(line string, cols int) string {
	const ellipsis = "..."
	if width(line, 0) <= cols {
		return line
	}
	styled := false
	n, col := 0, 0
	for {
		m, next := advance(line[n:], col)
		if next > cols-len(ellipsis) {
			break
		}
		styled = styled || next == col && line[n] == keyEscape[0]
		n, col = n+m, next
	}
	if styled {
		return line[:n] + "\x1b[0m" + ellipsis
	}
	return line[:n] + ellipsis
}

// fitFrame cuts a text to what fits on a screen, with the cursor below it.
func fitFrame(text string, z size) []byte {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if room := z.rows - 1; len(lines) > room {
		hidden := len(lines) - room + 1
		lines = append(lines[:room-1:room-1], fmt.Sprintf("... and %d more lines", hidden))
	}
	var b []byte
	for _, line := range lines {
		// A line as wide as the screen would leave the cursor's row to the terminal.
		b = append(b, clip(line, z.cols-1)...)
		b = append(b, '\n')
	}
	return b
}
