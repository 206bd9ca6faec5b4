package event

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// A parser reads one line. Positions in it are byte offsets from 0, columns count from 1.
type parser struct {
	line string
	pos  int
	end  int // of what is left when comment and trailing blanks are off
	t    Target
}

// fail makes the error at a position.
func (p *parser) fail(pos int, errno syscall.Errno, format string, args ...any) error {
	return &Error{p.line, min(pos, len(p.line)) + 1, fmt.Sprintf(format, args...), errno}
}

func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(r rune) bool { return r == '_' || unicode.IsLetter(r) }

// skip moves to the next word and reports whether there is one.
func (p *parser) skip() bool {
	for p.pos < p.end && isBlank(p.line[p.pos]) {
		p.pos++
	}
	return p.pos < p.end
}

// rest is what has not been read.
func (p *parser) rest() string { return p.line[p.pos:p.end] }

// word reads up to a blank that is not in quotes.
func (p *parser) word() string {
	n := outside(p.rest(), func(c byte, _ int) bool { return isBlank(c) })
	w := p.line[p.pos : p.pos+n]
	p.pos += n
	return w
}

// outside returns the index of the first byte of s outside of double quotes that stop
// accepts, or the length of s. stop is told how deep in brackets the byte is.
func outside(s string, stop func(c byte, depth int) bool) int {
	quoted, depth := false, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if quoted {
			switch c {
			case '\\':
				i++
			case '"':
				quoted = false
			}
			continue
		}
		if stop(c, depth) {
			return i
		}
		switch c {
		case '"':
			quoted = true
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
	}
	return len(s)
}

// commentStart returns where a line's comment starts: at a # that is neither in quotes nor
// the character '#'.
func commentStart(line string) int {
	last := byte(0)
	return outside(line, func(c byte, _ int) bool {
		stop := c == '#' && last != '\''
		last = c
		return stop
	})
}

// number reads an unsigned number as the kernel does: 0x means hexadecimal, a leading 0
// octal.
func number(s string) (uint64, bool) {
	digits, base := s, 10
	switch {
	case strings.HasPrefix(s, "0x"), strings.HasPrefix(s, "0X"):
		digits, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		digits, base = s[1:], 8
	}
	// ParseUint takes signs for errors, and underscores with base 0 only.
	v, err := strconv.ParseUint(digits, base, 64)
	return v, err == nil
}

// signedNumber reads a number that a - may precede.
func signedNumber(s string) (int64, bool) {
	digits, negative := strings.CutPrefix(s, "-")
	v, ok := number(digits)
	switch {
	case !ok:
		return 0, false
	case negative:
		return -int64(v), v <= 1<<63
	default:
		return int64(v), v < 1<<63
	}
}

// quotedPrefix reads a name in double quotes at the start of s, and returns what it says and
// how long it is with its quotes.
func quotedPrefix(s string) (name string, n int, ok bool) {
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil || quoted[0] != '"' {
		return "", 0, false
	}
	name, err = strconv.Unquote(quoted)
	return name, len(quoted), err == nil
}

// longestName returns the length of the longest prefix of s that is a name, and that ends
// where a name may end.
func longestName(s, ends string, known func(string) bool) int {
	for n := len(s); n > 0; n-- {
		if n < len(s) && !isBlank(s[n]) && !strings.ContainsRune(ends, rune(s[n])) {
			continue
		}
		if !isBlank(s[n-1]) && known(s[:n]) {
			return n
		}
	}
	return 0
}

// firstRune is the first character of s, 0 of an empty string.
func firstRune(s string) rune {
	if s == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
