package event

import "strings"

// isGlob reports whether a name is a pattern.
func isGlob(s string) bool { return strings.ContainsAny(s, "*?[") }

// MatchName reports whether a function's name matches a pattern. A [ in it may also be the one of
// a generic function: main.Map[*] matches main.Map[go.shape.int].
func MatchName(pattern, name string) bool {
	return Glob(pattern, name) || Glob(strings.ReplaceAll(pattern, "[", `\[`), name)
}

// Glob reports whether a name matches a pattern: * stands for any characters, ? for
// one byte, [a-z] and [!a-z] for one byte in or not in a set, \ takes the meaning off the
// next one. A [ that is not closed stands for itself. It does not allocate.
func Glob[S, N ~string | ~[]byte](pattern S, name N) bool {
	p, n := 0, 0
	// Where to go on if what follows the last * does not match: it takes one more byte.
	retryP, retryN := -1, 0
	for n < len(name) || p < len(pattern) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				retryP, retryN = p, n+1
				p++
				continue
			}
			if n < len(name) {
				if width, ok := globOne(pattern, p, name[n]); ok {
					p += width
					n++
					continue
				}
			}
		}
		if retryP < 0 || retryN > len(name) {
			return false
		}
		p, n = retryP, retryN
	}
	return true
}

// globOne matches one byte with what stands at p of a pattern, and returns how long that is.
func globOne[S ~string | ~[]byte](pattern S, p int, c byte) (width int, ok bool) {
	switch pattern[p] {
	case '?':
		return 1, true
	case '[':
		if width, ok, closed := globSet(pattern, p, c); closed {
			return width, ok
		}
	case '\\':
		if p+1 < len(pattern) {
			return 2, pattern[p+1] == c
		}
	}
	return 1, pattern[p] == c
}

// globSet matches one byte with the set that begins at p.
func globSet[S ~string | ~[]byte](pattern S, p int, c byte) (width int, ok, closed bool) {
	i := p + 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	// A ] that comes first is part of the set.
	for first := i; i < len(pattern); i++ {
		if pattern[i] == ']' && i > first {
			return i + 1 - p, ok != negated, true
		}
		low, high := pattern[i], pattern[i]
		if i+2 < len(pattern) && pattern[i+1] == '-' && pattern[i+2] != ']' {
			high = pattern[i+2]
			i += 2
		}
		if low <= c && c <= high {
			ok = true
		}
	}
	return 0, false, false
}
