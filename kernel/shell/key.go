package shell

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Keys are the strings that x/term takes for them. Others are made into these.
const (
	keyInterrupt = "\x03" // ^C
	keyEnter     = "\r"
	keyTab       = "\t"
	keyEscape    = "\x1b"
	keyBackspace = "\x7f"
	keyClearLine = "\x15" // ^U
	keyWord      = "\x17" // ^W
	keyHome      = "\x1b[H"
	keyEnd       = "\x1b[F"
	keyDelete    = "\x1b[3~"
	keyWordLeft  = "\x1b[1;3D"
	keyWordRight = "\x1b[1;3C"
)

// sequences are the control sequences that mean a key, without their introduction.
var sequences = map[string]string{
	"A": "\x1b[A", "B": "\x1b[B", "C": "\x1b[C", "D": "\x1b[D",
	"H": keyHome, "1~": keyHome, "7~": keyHome,
	"F": keyEnd, "4~": keyEnd, "8~": keyEnd,
	"3~":   keyDelete,
	"1;3D": keyWordLeft, "1;5D": keyWordLeft,
	"1;3C": keyWordRight, "1;5C": keyWordRight,
}

// controls are the control characters that x/term takes as they are: moving and
// erasing, history, and clearing the screen.
const controls = "\x01\x02\x05\x06\x08\x09\x0b\x0c\x0e\x10\x14\x15\x17\x7f"

// A key is one press of a key, one character of a paste, or an answer of the terminal.
type key struct {
	text       string // "" in an answer
	pasted     bool
	rows, cols int // the place of the cursor, in an answer
}

// A decoder makes keys of bytes. What means nothing is passed over: half sequences,
// broken characters, control characters that nothing is bound to.
type decoder struct {
	state  decoderState
	seq    []byte // of a character or control sequence, without its introduction
	pasted bool   // inside a bracketed paste
	cr     bool   // the last byte ended a line: a line feed belongs to it
	taken  bool   // ESC has been a key already
}

type decoderState uint8

const (
	stateGround  decoderState = iota
	stateRune                 // within a character of several bytes
	stateEscape               // behind ESC
	stateControl              // behind ESC [
	stateShift3               // behind ESC O
)

// maxSequence bounds control sequences. Real ones are shorter.
const maxSequence = 32

// feed takes a byte and returns the key that it completes.
func (d *decoder) feed(b byte) (key, bool) {
	if b == keyInterrupt[0] {
		// Whatever came before, this gives a fresh start, also in a paste whose end was
		// lost.
		*d = decoder{}
		return key{text: keyInterrupt}, true
	}
	cr := d.cr
	d.cr = false
	if b < ' ' {
		d.state, d.seq = stateGround, d.seq[:0]
		switch b {
		case '\r':
			d.cr = true
			return d.press(keyEnter)
		case '\n':
			if cr {
				return key{}, false
			}
			return d.press(keyEnter)
		case keyEscape[0]:
			d.state, d.taken = stateEscape, false
			return key{}, false
		case keyTab[0]:
			if d.pasted {
				return d.press(" ")
			}
		case 4: // ^D, which for x/term ends the input when the line is empty
			if !d.pasted {
				return d.press(keyDelete)
			}
		}
		return d.control(b)
	}
	switch d.state {
	case stateEscape:
		return d.escape(b)
	case stateControl:
		return d.sequence(b)
	case stateShift3:
		d.state = stateGround
		return d.bound(string(b))
	}
	return d.character(b)
}

// press is a key that stands for itself.
func (d *decoder) press(text string) (key, bool) { return key{text: text, pasted: d.pasted}, true }

// control is a control character, or DEL. One that nothing is bound to is like ESC by
// itself: it can stop a view. NUL is noise.
func (d *decoder) control(b byte) (key, bool) {
	switch {
	case d.pasted || b == 0:
		return key{}, false
	case strings.IndexByte(controls, b) < 0:
		return d.press(keyEscape)
	}
	return d.press(string(b))
}

// escape is the byte behind ESC.
func (d *decoder) escape(b byte) (key, bool) {
	d.state = stateGround
	switch b {
	case '[':
		d.state, d.seq = stateControl, d.seq[:0]
		return key{}, false
	case 'O':
		d.state = stateShift3
		return key{}, false
	}
	if !d.pasted && !d.taken {
		// Alt with a key.
		switch b {
		case 'b':
			return d.press(keyWordLeft)
		case 'f':
			return d.press(keyWordRight)
		case keyBackspace[0]:
			return d.press(keyWord)
		}
	}
	return d.character(b)
}

// sequence is a byte of a control sequence (ECMA-48, 5.4).
func (d *decoder) sequence(b byte) (key, bool) {
	if b < '@' || b == keyBackspace[0] || b >= utf8.RuneSelf {
		if d.seq = append(d.seq, b); len(d.seq) > maxSequence {
			d.state, d.seq = stateGround, d.seq[:0]
		}
		return key{}, false
	}
	d.state = stateGround
	d.seq = append(d.seq, b)
	seq := string(d.seq)
	d.seq = d.seq[:0]
	switch {
	case seq == "200~":
		d.pasted = true
	case seq == "201~":
		d.pasted = false
	case b == 'R':
		if rows, cols, ok := parseReport(seq); ok {
			return key{rows: rows, cols: cols}, true
		}
	default:
		return d.bound(seq)
	}
	return key{}, false
}

// bound is the key of a control sequence. One that nothing is bound to is like ESC.
func (d *decoder) bound(seq string) (key, bool) {
	if d.pasted || d.taken {
		return key{}, false
	}
	if text, ok := sequences[seq]; ok {
		return d.press(text)
	}
	return d.press(keyEscape)
}

// character is a byte of a character in UTF-8.
func (d *decoder) character(b byte) (key, bool) {
	if b < utf8.RuneSelf {
		d.state, d.seq = stateGround, d.seq[:0]
		if b == keyBackspace[0] {
			return d.control(b)
		}
		return d.press(string(b))
	}
	if utf8.RuneStart(b) {
		d.seq = d.seq[:0]
	}
	d.state = stateRune
	if d.seq = append(d.seq, b); !utf8.FullRune(d.seq) {
		return key{}, false
	}
	r, n := utf8.DecodeRune(d.seq)
	whole := n == len(d.seq)
	d.state, d.seq = stateGround, d.seq[:0]
	if r == utf8.RuneError || !whole || !unicode.IsPrint(r) {
		return key{}, false
	}
	return d.press(string(r))
}

// take makes the ESC that was just fed a key. If a sequence follows after all, that is
// none.
func (d *decoder) take() (key, bool) {
	if d.state != stateEscape || d.pasted || d.taken {
		return key{}, false
	}
	d.taken = true
	return key{text: keyEscape}, true
}

// keyLen returns the length of the first of the keys in b, which must not be empty.
func keyLen(b []byte) int {
	if b[0] == keyEscape[0] {
		for i := 2; i < len(b); i++ {
			if b[i] >= '@' {
				return i + 1
			}
		}
		return len(b)
	}
	_, n := utf8.DecodeRune(b)
	return n
}
