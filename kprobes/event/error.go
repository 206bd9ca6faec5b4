package event

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
)

// An Error is what is wrong with a definition. It wraps an errno: ENOENT for names that do not
// exist, E2BIG for what exceeds a limit, EINVAL for the rest.
type Error struct {
	Line    string // the definition as it was written
	Column  int    // in bytes, counted from 1; one behind the line's end if something is missing
	Message string
	Errno   syscall.Errno
}

// Error returns the message and the column, in one line.
func (e *Error) Error() string { return fmt.Sprintf("%s (column %d)", e.Message, e.Column) }

// Unwrap returns the errno.
func (e *Error) Unwrap() error { return e.Errno }

// Caret returns the three lines that show where in the definition the error is.
func (e *Error) Caret() string {
	const head = "  Command: "
	// The padding has a blank for every character before the column, but keeps tabs, which
	// are as wide as the terminal makes them.
	padding := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, e.Line[:min(max(e.Column-1, 0), len(e.Line))])
	return "error: " + e.Message + "\n" +
		head + strings.Map(printable, e.Line) + "\n" +
		strings.Repeat(" ", len(head)) + padding + "^"
}

// printable keeps a line that holds control characters one line of the same width.
func printable(r rune) rune {
	if r != '\t' && unicode.IsControl(r) {
		return '?'
	}
	return r
}

// errorLogSize is how many errors the log keeps, as many as Linux does.
const errorLogSize = 8

// An ErrorLog keeps the last eight errors. The zero value is empty and ready for use by
// several goroutines.
type ErrorLog struct {
	mu      sync.Mutex
	entries []logEntry
}

type logEntry struct {
	at  time.Duration
	err *Error
}

// Add logs err if it is an *Error, with the time since boot.
func (l *ErrorLog) Add(at time.Duration, err error) {
	var e *Error
	if !errors.As(err, &e) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) == errorLogSize {
		l.entries = append(l.entries[:0], l.entries[1:]...)
	}
	l.entries = append(l.entries, logEntry{at, e})
}

// Clear forgets all errors.
func (l *ErrorLog) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// String prints the errors, the oldest first, in the form of tracefs's error_log.
func (l *ErrorLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, e := range l.entries {
		fmt.Fprintf(&b, "[%12.6f] trace_kprobe: %s\n", e.at.Seconds(), e.err.Caret())
	}
	return b.String()
}
