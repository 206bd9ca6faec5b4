package shell

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// A fakeTerminal is the other end of a line: what is typed, and what a person sees.
type fakeTerminal struct {
	input   chan []byte
	pending []byte
	fail    chan error // errors that Read returns
	answers bool       // it reports the cursor when asked

	mu     sync.Mutex
	raw    []byte
	screen screenshot
}

func newFakeTerminal(rows, cols int) *fakeTerminal {
	return &fakeTerminal{
		input:  make(chan []byte, 1024),
		fail:   make(chan error, 1024),
		screen: screenshot{height: rows, width: cols, lines: make([][]rune, 1)},
	}
}

var errHungUp = errors.New("hung up")

func (f *fakeTerminal) Read(b []byte) (int, error) {
	if len(f.pending) == 0 {
		select {
		case p, ok := <-f.input:
			if !ok {
				return 0, errHungUp
			}
			f.pending = p
		case err := <-f.fail:
			return 0, err
		}
	}
	n := copy(b, f.pending)
	f.pending = f.pending[n:]
	return n, nil
}

func (f *fakeTerminal) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.raw = append(f.raw, b...)
	for _, report := range f.screen.write(b) {
		if f.answers {
			f.input <- []byte(report)
		}
	}
	return len(b), nil
}

// A screenshot is a small terminal emulator. It keeps what scrolled off.
type screenshot struct {
	height, width int
	lines         [][]rune // with those that scrolled off
	cooked        bool     // a line feed returns the carriage: not a terminal
	top           int      // the first on the screen
	row, col      int      // of the cursor; row counts lines
	saved         [2]int
	partial       []byte
	unknown       []string // sequences that it does not know
}

func (s *screenshot) write(b []byte) (reports []string) {
	s.partial = append(s.partial, b...)
	for len(s.partial) > 0 {
		b := s.partial
		switch {
		case b[0] == '\x1b':
			n := 2
			if len(b) < 2 {
				return
			}
			if b[1] == '[' {
				for n = 2; n < len(b) && (b[n] < '@' || b[n] > '~'); n++ {
				}
				if n++; n > len(b) {
					return
				}
			}
			if r := s.control(string(b[1:n])); r != "" {
				reports = append(reports, r)
			}
			s.partial = b[n:]
		case b[0] == '\r':
			s.col = 0
			s.partial = b[1:]
		case b[0] == '\t':
			s.col = min(s.col/8*8+8, s.width-1)
			s.partial = b[1:]
		case b[0] == '\n':
			if s.cooked {
				s.col = 0
			}
			s.down()
			s.partial = b[1:]
		default:
			if !utf8.FullRune(b) {
				return
			}
			r, n := utf8.DecodeRune(b)
			s.partial = b[n:]
			if r < ' ' || r == 0x7f {
				s.unknown = append(s.unknown, fmt.Sprintf("%q", r))
				continue
			}
			if s.col == s.width { // the cursor waits behind the last column
				s.col = 0
				s.down()
			}
			line := s.lines[s.row]
			for len(line) <= s.col {
				line = append(line, ' ')
			}
			line[s.col] = r
			s.lines[s.row] = line
			s.col++
		}
	}
	return
}

func (s *screenshot) down() {
	if s.row++; s.row == len(s.lines) {
		s.lines = append(s.lines, nil)
	}
	s.top = max(s.top, s.row-s.height+1)
}

func (s *screenshot) control(seq string) (report string) {
	n := 1
	if v, err := strconv.Atoi(strings.Trim(seq[1:], "ABCDJK")); err == nil {
		n = v
	}
	switch final := seq[len(seq)-1]; {
	case seq == "7":
		s.saved = [2]int{s.row, s.col}
	case seq == "8":
		s.row, s.col = s.saved[0], s.saved[1]
	case seq == "[?2004h", seq == "[?2004l", final == 'm':
	case seq == "[6n":
		return fmt.Sprintf("\x1b[%d;%dR", s.row-s.top+1, min(s.col, s.width-1)+1)
	case seq == "[999;999H":
		for len(s.lines) < s.top+s.height {
			s.lines = append(s.lines, nil)
		}
		s.row, s.col = s.top+s.height-1, s.width-1
	case final == 'H', seq == "[2J":
		if seq == "[2J" {
			s.top = len(s.lines)
			for range s.height {
				s.lines = append(s.lines, nil)
			}
		}
		s.row, s.col = s.top, 0
	case final == 'A':
		s.row = max(s.row-n, s.top)
	case final == 'B':
		s.row = min(s.row+n, len(s.lines)-1)
	case final == 'C':
		s.col = min(s.col+n, s.width-1)
	case final == 'D':
		s.col = max(min(s.col, s.width-1)-n, 0)
	case seq == "[K":
		s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
	case seq == "[J":
		s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
		for i := s.row + 1; i < len(s.lines); i++ {
			s.lines[i] = nil
		}
	default:
		s.unknown = append(s.unknown, seq)
	}
	return ""
}

// text is everything that a person saw in the end, without blanks at the ends of lines.
func (f *fakeTerminal) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	for _, line := range f.screen.lines {
		b.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// bytes is everything that was sent.
func (f *fakeTerminal) bytes() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.raw)
}

// A session is a shell with a terminal, in a bubble of synctest.
type session struct {
	*fakeTerminal
	t     testing.TB
	shell *Shell
}

// run serves a shell in a bubble, and calls f beside it.
func run(t *testing.T, o Options, f func(s *session)) {
	t.Helper()
	runSize(t, o, 24, 80, f)
}

func runSize(t *testing.T, o Options, rows, cols int, f func(s *session)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		term := newFakeTerminal(rows, cols)
		term.answers = true
		term.screen.cooked = o.Plain
		s := &session{term, t, New(term, o)}
		s.shell.Add(testCommands(s)...)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan bool)
		go func() {
			s.shell.Serve(ctx)
			close(done)
		}()
		synctest.Wait()
		f(s)
		synctest.Wait()
		cancel()
		close(term.input)
		<-done
		time.Sleep(time.Second) // for who is retrying
		if len(term.screen.unknown) > 0 {
			t.Errorf("sent to the terminal: %q", term.screen.unknown)
		}
	})
}

func TestFitFrame(t *testing.T) {
	red, plainEnd := "\x1b[31m", "\x1b[0m"
	for _, c := range []struct {
		text string
		want string
	}{
		{"", "\n"},
		{"a", "a\n"},
		{"a\n\nb\n", "a\n\nb\n"},
		{"1234567890123456789", "1234567890123456789\n"},
		{"12345678901234567890", "1234567890123456...\n"},
		{"éééééééééééééééééééé", "éééééééééééééééé...\n"},
		{"\t\tabcd", "\t\t...\n"},
		{"\t\t\tabcd", "\t\t...\n"},
		{red + "1234567890123456789" + plainEnd, red + "1234567890123456789" + plainEnd + "\n"},
		{red + "12345678901234567890" + plainEnd, red + "1234567890123456" + plainEnd + "...\n"},
		{"\x1b[31", "\x1b[31\n"},
		{"\x1b", "\x1b\n"},
		{"\xff\xff", "\xff\xff\n"},
		{"1\n2\n3\n4\n", "1\n2\n3\n4\n"},
		{"1\n2\n3\n4\n5", "1\n2\n3\n... and 2 more lines\n"},
	} {
		if got := string(fitFrame(c.text, size{5, 20})); got != strings.ReplaceAll(c.want, "... and 2 more lines", clip("... and 2 more lines", 19)) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// send types text, and waits until nothing more happens.
func (s *session) send(text string) {
	s.input <- []byte(text)
	synctest.Wait()
}

// want compares the end of what a person sees. Lines are joined by newlines.
func (s *session) want(lines ...string) {
	s.t.Helper()
	want := strings.Join(lines, "\n")
	text := s.text()
	if text != want && !strings.HasSuffix(text, "\n"+want) {
		s.t.Errorf("shows\n%s\nwant at the end\n%s", text, want)
	}
}
