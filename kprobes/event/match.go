package event

import (
	"bytes"
	"slices"
)

// Match reports whether a record passes the definition's filter; without one all do. It may be
// called at a hit. A comparison with something that could not be read is false.
func (p *Program) Match(h *Hit, rec []byte) bool {
	return p.filter == nil || p.matches(p.filter, h, rec)
}

// matches evaluates a test. It recurses only as deep as parentheses and negations are nested.
func (p *Program) matches(t *test, h *Hit, rec []byte) bool {
	for {
		switch t.logic {
		case logicAnd:
			if !p.matches(t.left, h, rec) {
				return false
			}
		case logicOr:
			if p.matches(t.left, h, rec) {
				return true
			}
		case logicNot:
			return !p.matches(t.left, h, rec)
		default:
			return p.compare(t, h, rec)
		}
		t = t.right
	}
}

// compare evaluates a comparison.
func (p *Program) compare(t *test, h *Hit, rec []byte) bool {
	var b []byte
	v := uint64(0)
	switch {
	case t.node == nil:
		v = h.common(t.common)
	case t.node.show == showConst:
		return t.matchConst()
	default:
		if b = slotBytes(rec, &p.frame, 0, t.node.slot); b == nil {
			return false
		}
		v = littleEndian(b)
	}
	switch t.class.kind {
	case classComm:
		_, found := slices.BinarySearch(t.symbols, v)
		return found == (t.operator != "!=")
	case classText:
		text, cut, ok := located(rec, b)
		return ok && t.matchText(text, cut)
	case classInterface:
		return p.matchInterface(t, rec, b)
	case classFloat:
		order, ok := floatOrder(v, t.class.size)
		return ok && t.compare(order, false)
	case classBool:
		return t.compare(v&0xff, false)
	default:
		if t.class.signed {
			v = signExtend(v, t.class.size)
		}
		return t.compare(v, t.class.signed)
	}
}

// common returns what every event has.
func (h *Hit) common(name string) uint64 {
	switch name {
	case "common_pid":
		return h.Goid
	case "common_cpu":
		return uint64(h.CPU)
	case "comm":
		return h.StartPC
	default:
		return h.Duration
	}
}

// compare compares a number with the test's.
func (t *test) compare(v uint64, signed bool) bool {
	less := v < t.number
	if signed {
		less = int64(v) < int64(t.number)
	}
	switch t.operator {
	case "==":
		return v == t.number
	case "!=":
		return v != t.number
	case "<":
		return less
	case "<=":
		return less || v == t.number
	case ">":
		return !less && v != t.number
	case ">=":
		return !less
	default:
		return v&t.number != 0
	}
}

// matchText compares a string with the test's. One that was cut is equal to none.
func (t *test) matchText(text []byte, cut bool) bool {
	switch t.operator {
	case "==":
		return !cut && bytes.Equal(text, t.text)
	case "!=":
		return cut || !bytes.Equal(text, t.text)
	default:
		return Glob(t.text, text)
	}
}

// matchConst compares an immediate string with the test's.
func (t *test) matchConst() bool {
	text := t.node.text
	switch t.operator {
	case "==":
		return text == string(t.text)
	case "!=":
		return text != string(t.text)
	default:
		return Glob(t.text, text)
	}
}

// matchInterface compares an interface with nil, or its text with the test's.
func (p *Program) matchInterface(t *test, rec, b []byte) bool {
	typ := littleEndian(b[:8])
	if t.isNil {
		return (typ == 0) == (t.operator == "==")
	}
	if !p.hasText(typ) {
		return false
	}
	text, cut, ok := located(rec, b[16:])
	return ok && t.matchText(text, cut)
}
