// Package shell is a console over a serial line: a prompt with line editing, history and
// completion, a table of commands, pages, live views, and help. A line on a real terminal
// uses golang.org/x/term; one into a pipe or a file stays plain text.
//
// It knows bytes in and out, and commands by their names. It must not know what the
// commands do, nor what machine it runs on: so all of it runs on any host.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	prompt = "> "
	// maxLine is how many characters of a line x/term keeps. A line of that length may
	// have been cut, so it must be shorter.
	maxLine = 4096
)

// Options say what is at the other end of the line.
type Options struct {
	Plain  bool // no terminal: no escape sequences, no echo, no pages
	Colour bool // of a terminal only
}

// A Shell reads lines and executes them as commands. Its methods may be called from any
// goroutine, but for Add, AddTopics, Serve and Execute.
type Shell struct {
	keys    *keyboard
	out     *output
	editor  *editor
	history history

	commands []*Command
	topics   []Topic

	mu      sync.Mutex
	options Options
	size    size
	answer  chan struct{} // closed by the answer to a question for the size

	start   sync.Once
	serving bool // keys are read by a person: output may wait for one
}

// New returns a shell with the commands help, history and stty on a line. It is the
// only one that may read from rw, and what others write to rw is not accounted for.
func New(rw io.ReadWriter, options Options) *Shell {
	s := &Shell{options: options, size: defaultSize}
	s.out = &output{wire: rw, plain: options.Plain}
	s.keys = newKeyboard(rw, s)
	s.editor = newEditor(s, rw)
	s.Add(s.builtins()...)
	return s
}

// Serve reads lines and executes them until ctx ends.
func (s *Shell) Serve(ctx context.Context) {
	defer context.AfterFunc(ctx, s.keys.close)()
	s.start.Do(s.keys.start)
	s.serving = true
	defer func() { s.serving = false }()
	s.askSize(ctx)
	for ctx.Err() == nil {
		line, err := s.readLine()
		switch {
		case err == errClosed:
			return
		case err != nil:
			s.complain(err.Error())
		default:
			s.execute(ctx, line)
		}
	}
}

// Execute executes a line as if it had been typed. It must not run beside Serve.
func (s *Shell) Execute(line string) { s.execute(context.Background(), line) }

// readLine reads a line with a prompt. A line that ^C ended is empty.
func (s *Shell) readLine() (string, error) {
	read := s.editor.readLine
	if s.Plain() {
		read = s.readPlain
	}
	line, err := read()
	if err != nil {
		return "", err
	}
	if n := utf8.RuneCountInString(line); n >= maxLine {
		return "", fmt.Errorf("the line is too long, and was not executed: at most %d characters", maxLine-1)
	}
	line = strings.TrimSpace(line)
	s.history.Add(line)
	return line, nil
}

// execute executes a line. Whatever happens, the shell goes on. Empty lines and
// comments, which start with a #, are passed over.
func (s *Shell) execute(parent context.Context, line string) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return
	}
	c := s.newContext(parent, line)
	defer c.end()
	s.start.Do(s.keys.start)
	s.keys.begin(c.interrupt)
	defer func() {
		if e := recover(); e != nil {
			s.complain(fmt.Sprintf("%s: panic: %v\n%s", c.words[0], e, debug.Stack()))
		}
	}()
	cmd, err := s.find(c.words[0])
	if err == nil {
		err = cmd.Run(c, line)
	}
	switch {
	case err == nil, errors.Is(err, ErrStopped), c.Err() != nil && errors.Is(err, context.Canceled):
	case errors.Is(err, ErrUsage):
		s.complain("usage: " + cmd.usage())
	default:
		s.complain(err.Error())
	}
}

// complain prints an error, whether or not a command's output has been stopped.
func (s *Shell) complain(text string) {
	text = strings.TrimRight(text, "\n")
	s.out.background([]byte(s.Paint(Red, text) + "\n"))
}

// Write prints lines that belong to no command. An edited line, a live view or a
// command's unfinished line is not torn: they make place for it. What does not end in a
// newline gets one.
func (s *Shell) Write(p []byte) (int, error) { return s.out.background(p) }

// Plain reports whether output is plain text.
func (s *Shell) Plain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.Plain
}

// SetPlain changes to plain text or a terminal, from the next prompt on.
func (s *Shell) SetPlain(plain bool) {
	s.mu.Lock()
	s.options.Plain = plain
	s.mu.Unlock()
	s.out.setPlain(plain)
}

// SetColour says whether a terminal shows colours.
func (s *Shell) SetColour(colour bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Colour = colour
}

// A Style is a way to show text on a terminal with colours.
type Style string

// The parameters of Select Graphic Rendition (ECMA-48, 8.3.117).
const (
	Bold    Style = "1"
	Dim     Style = "2"
	Reverse Style = "7"
	Red     Style = "31"
	Green   Style = "32"
	Yellow  Style = "33"
	Blue    Style = "34"
	Magenta Style = "35"
	Cyan    Style = "36"
)

// Paint returns text in a style, if there are colours.
func (s *Shell) Paint(style Style, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.options.Plain || !s.options.Colour {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}
