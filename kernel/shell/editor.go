package shell

import (
	"fmt"
	"io"
	"runtime/debug"
	"unicode/utf8"

	"golang.org/x/term"
)

// An editor edits lines on a terminal, by x/term. What x/term cannot do the keys that it
// reads do: it never sees half a sequence, nor anything behind the end of a line, and ^C
// comes as two keys.
type editor struct {
	*term.Terminal
	shell       *Shell
	interrupted bool // ^C ended the line
	tab         struct {
		line string // as it was when the last tab changed nothing
		pos  int
	}
}

// interruptMark is a character that nobody can type. It ends a line as ^C.
const interruptMark = '\ue003'

// An editorLine is what x/term reads from and writes to.
type editorLine struct {
	keys *keyboard
	io.Writer
}

// Read returns keys, up to the end of a line.
func (l editorLine) Read(b []byte) (int, error) {
	end := []byte(string(interruptMark) + keyEnter)
	if len(b) < 2*len(end) {
		return 0, io.ErrShortBuffer
	}
	n, err := l.keys.keys(b[:len(b)-len(end)])
	if n > 0 && b[n-1] == keyInterrupt[0] {
		n += copy(b[n-1:], end) - 1
	}
	return n, err
}

func newEditor(s *Shell, wire io.Writer) *editor {
	e := &editor{shell: s}
	e.Terminal = term.NewTerminal(editorLine{s.keys, wire}, prompt)
	e.History = &s.history
	e.AutoCompleteCallback = e.key
	return e
}

// readLine reads a line from the terminal.
func (e *editor) readLine() (string, error) {
	e.tab.line = ""
	e.shell.history.suspended = true
	defer func() { e.shell.history.suspended = false }()
	e.shell.out.edit(e)
	line, err := e.ReadLine()
	e.shell.out.edited()
	if e.interrupted {
		e.interrupted = false
		line = ""
	}
	return line, err
}

// key is asked about every character, before it is put into the line. x/term holds its
// lock for whoever panics here, so nothing must.
func (e *editor) key(line string, pos int, char rune) (newLine string, newPos int, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			e.shell.complain(fmt.Sprintf("completion: panic: %v\n%s", p, debug.Stack()))
			ok = false
		}
	}()
	switch char {
	case interruptMark:
		e.interrupted = true
		line += "^C"
		return line, len(line), true
	case '\t':
		return e.complete(line, pos)
	}
	return "", 0, false
}

// complete completes the word at the cursor. If that changes nothing, the next tab lists
// what the word may become.
func (e *editor) complete(line string, pos int) (string, int, bool) {
	c := e.shell.complete(line[:pos])
	if c.insert != "" {
		e.tab.line = ""
		if line[pos:] != "" && line[pos] == ' ' && c.insert[len(c.insert)-1] == ' ' {
			c.insert = c.insert[:len(c.insert)-1]
		}
		return line[:pos] + c.insert + line[pos:], pos + len(c.insert), true
	}
	if len(c.candidates) > 1 && e.tab.line == line && e.tab.pos == pos {
		e.shell.Write([]byte(e.shell.candidates(c.candidates)))
	}
	e.tab.line, e.tab.pos = line, pos
	return line, pos, true
}

// readPlain reads a line without a terminal.
func (s *Shell) readPlain() (string, error) {
	s.out.prompt()
	defer s.out.edited()
	var line []rune
	var buf [64]byte
	for {
		n, err := s.keys.keys(buf[:])
		if err != nil {
			return "", err
		}
		for b := buf[:n]; len(b) > 0; {
			text := string(b[:keyLen(b)])
			b = b[len(text):]
			switch text {
			case keyEnter:
				return string(line), nil
			case keyInterrupt:
				s.out.write([]byte("^C"))
				return "", nil
			case keyClearLine:
				line = line[:0]
			case keyBackspace, "\b":
				line = line[:max(len(line)-1, 0)]
			case keyTab:
				text = " "
				fallthrough
			default:
				if r, _ := utf8.DecodeRuneInString(text); r >= ' ' && len(line) < maxLine {
					line = append(line, r)
				}
			}
		}
	}
}
