package shell

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// An output is the writing end of the line, shared by the editor, commands and whoever
// prints beside them. It knows what is on the screen below the last whole line.
//
// Locks are taken in this order: output.mu, then x/term's own, under which it writes to
// the wire directly. While a line is edited all writes go through x/term.
type output struct {
	mu    sync.Mutex
	wire  io.Writer
	plain bool
	line  *editor // edits a line
	open  bool    // the last line has no end yet
	// frame is text that is written over by what comes next, and then shown again below
	// that: a view. It ends in the line behind its last newline.
	frame []byte
}

// Clearing the screen from the cursor on. (ECMA-48, 8.3.39)
const eraseBelow = "\x1b[J"

func (o *output) setPlain(plain bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.show(nil)
	o.plain = plain
}

// write writes what a command prints.
func (o *output) write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.line != nil {
		return o.lines(p)
	}
	return o.put(p)
}

// background writes lines that have nothing to do with what is on the screen.
func (o *output) background(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lines(p)
}

// lines writes p as whole lines. o.mu is held.
func (o *output) lines(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	text := make([]byte, 0, len(p)+8)
	if o.open {
		text = append(text, '\n')
	}
	text = append(text, p...)
	if p[len(p)-1] != '\n' {
		text = append(text, '\n')
	}
	if o.line == nil {
		if _, err := o.put(text); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	// x/term clears the edited line down to the cursor, but not what is below it.
	if _, err := o.line.Write(append([]byte(eraseBelow), text...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// put writes p, above the frame if there is one. o.mu is held.
func (o *output) put(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	var text []byte
	if o.frame != nil {
		text = append(text, o.eraseFrame()...)
	}
	text = append(text, o.encode(p)...)
	o.open = p[len(p)-1] != '\n'
	if o.frame != nil {
		if o.open {
			text = append(text, "\r\n"...)
			o.open = false
		}
		text = append(text, o.encode(o.frame)...)
	}
	if _, err := o.wire.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// encode makes bytes for the wire of text. Plain text has no escape sequences, whoever
// wrote them.
func (o *output) encode(p []byte) []byte {
	if o.plain {
		return bytes.ReplaceAll(p, []byte(keyEscape), []byte("^["))
	}
	return bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))
}

// eraseFrame returns what removes the frame from the screen.
func (o *output) eraseFrame() string {
	up := ""
	if n := bytes.Count(o.frame, []byte("\n")); n > 0 {
		up = fmt.Sprintf("\x1b[%dA", n)
	}
	return "\r" + up + eraseBelow
}

// setFrame shows a frame in place of the one before; nil shows none. It must fit on the
// screen.
func (o *output) setFrame(frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.plain && o.line == nil {
		o.show(frame)
	}
}

// show is setFrame with o.mu held.
func (o *output) show(frame []byte) {
	var text []byte
	switch {
	case o.frame != nil:
		text = append(text, o.eraseFrame()...)
	case frame != nil && o.open:
		text = append(text, "\r\n"...)
		o.open = false
	}
	o.frame = frame
	text = append(text, o.encode(frame)...)
	if len(text) > 0 {
		o.wire.Write(text)
	}
}

// control writes a control sequence that shows nothing.
func (o *output) control(sequence string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.plain && o.line == nil {
		io.WriteString(o.wire, sequence)
	}
}

// finish ends a line that a command left open. o.mu is held.
func (o *output) finish() {
	o.show(nil)
	if o.open {
		o.put([]byte("\n"))
	}
}

// Bracketed paste is on only while a line is edited, so that it isn't left on when the
// machine ends. (xterm, Control Sequences, "Bracketed Paste Mode")
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// edit gives the screen to the editor of a line.
func (o *output) edit(e *editor) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finish()
	io.WriteString(o.wire, pasteOn)
	o.line = e
}

// prompt shows the prompt for a line that is not edited.
func (o *output) prompt() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finish()
	o.put([]byte(prompt))
}

// edited takes the screen back: the line has been read.
func (o *output) edited() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.line != nil {
		o.line = nil
		io.WriteString(o.wire, pasteOff)
		return
	}
	o.finish()
}
