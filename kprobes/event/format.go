package event

import (
	"math"
	"strconv"
)

const faultText = "(fault)"

// Append prints a record as ftrace does, ` name=value name=value`. It may be called with
// any bytes.
func (p *Program) Append(dst, rec []byte, t Target) []byte {
	pr := printer{p, rec, t}
	for i := range p.recorded {
		dst = append(dst, ' ')
		dst = append(dst, p.args[i].name...)
		dst = append(dst, '=')
		dst = pr.node(dst, &p.args[i], &p.frame, 0)
	}
	return dst
}

// A printer prints one record.
type printer struct {
	p   *Program
	rec []byte
	t   Target
}

// slotBytes returns the bytes of a slot of the frame at base, nil if they could not be read or
// the record is too short.
func slotBytes(rec []byte, f *frame, base, i int) []byte {
	if base < 0 || base+f.size > len(rec) || i >= len(f.slots) {
		return nil
	}
	b := rec[base : base+f.size]
	if b[i>>3]&(1<<(i&7)) != 0 {
		return nil
	}
	s := &f.slots[i]
	return b[s.offset : s.offset+s.size]
}

// located returns the variable data that a location refers to. It reports false if they
// could not be read.
func located(rec, location []byte) (data []byte, cut, ok bool) {
	start, length := int(littleEndian(location[:2])), int(littleEndian(location[2:4]))
	n := length & locationMask
	if length&flagFault != 0 || start+n > len(rec) {
		return nil, false, false
	}
	return rec[start : start+n], length&flagCut != 0, true
}

// node prints a part of the frame at base.
func (pr *printer) node(dst []byte, n *node, f *frame, base int) []byte {
	switch n.show {
	case showConst:
		return strconv.AppendQuote(dst, n.text)
	case showOpaque:
		return append(dst, n.typ.Name...)
	case showStruct:
		return pr.list(dst, n, f, base, '{', ' ', '}')
	case showArray:
		return pr.list(dst, n, f, base, '[', ' ', ']')
	case showList:
		return pr.list(dst, n, f, base, '{', ',', '}')
	case showComplex:
		return pr.complex(dst, n, f, base)
	}
	b := slotBytes(pr.rec, f, base, n.slot)
	if b == nil {
		return append(dst, faultText...)
	}
	switch n.show {
	case showString:
		text, cut, ok := located(pr.rec, b)
		return appendText(dst, text, cut, ok)
	case showFlat:
		dst = append(dst, '{')
		for i := range n.typ.Array {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = pr.scalar(dst, shows[n.typ.Kind], n.typ, b[i*n.typ.Size:][:n.typ.Size])
		}
		return append(dst, '}')
	case showSlice:
		return pr.slice(dst, n, &f.slots[n.slot], b)
	case showInterface:
		return pr.interfaceValue(dst, b)
	default:
		return pr.scalar(dst, n.show, n.typ, b)
	}
}

// list prints the parts of a value.
func (pr *printer) list(dst []byte, n *node, f *frame, base int, open, separator, end byte) []byte {
	dst = append(dst, open)
	for i := range n.kids {
		if i > 0 {
			dst = append(dst, separator)
		}
		if kid := &n.kids[i]; kid.name != "" {
			dst = append(append(dst, kid.name...), ':')
		}
		dst = pr.node(dst, &n.kids[i], f, base)
	}
	if n.more {
		dst = append(dst, " ..."...)
	}
	return append(dst, end)
}

// complex prints the parts of a complex number as Go does.
func (pr *printer) complex(dst []byte, n *node, f *frame, base int) []byte {
	dst = append(dst, '(')
	dst = pr.node(dst, &n.kids[0], f, base)
	start := len(dst)
	dst = pr.node(append(dst, '+'), &n.kids[1], f, base)
	if dst[start+1] == '-' || dst[start+1] == '+' {
		dst = append(dst[:start], dst[start+1:]...)
	}
	return append(dst, "i)"...)
}

// appendText prints a string, in quotes; dots say that it was cut.
func appendText(dst, text []byte, cut, ok bool) []byte {
	if !ok {
		return append(dst, faultText...)
	}
	dst = strconv.AppendQuote(dst, string(text))
	if cut {
		dst = append(dst, "..."...)
	}
	return dst
}

// slice prints the elements that were recorded, and the length if there are more.
func (pr *printer) slice(dst []byte, n *node, s *slot, b []byte) []byte {
	start, count := int(littleEndian(b[:2])), int(littleEndian(b[2:4])&locationMask)
	length := littleEndian(b[locationSize:])
	if s.elem == nil {
		count = 0
	}
	dst = append(dst, '[')
	for i := range min(count, sliceLimit) {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = pr.node(dst, n.elem, s.elem, start+i*s.elem.size)
	}
	if length > uint64(count) {
		if count > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, "..."...)
		dst = append(dst, "] len="...)
		return strconv.AppendUint(dst, length, 10)
	}
	return append(dst, ']')
}

// interfaceValue prints the dynamic type and what is known of the value.
func (pr *printer) interfaceValue(dst, b []byte) []byte {
	typ, data := littleEndian(b[:8]), littleEndian(b[8:16])
	if typ == 0 {
		return append(dst, "nil"...)
	}
	name, _ := pr.t.TypeName(typ)
	dst = append(pr.typeName(dst, typ), '(')
	behind, cut, readable := located(pr.rec, b[16:])
	if pr.p.hasText(typ) && data != 0 {
		dst = appendText(dst, behind, cut, readable)
		return append(dst, ')')
	}
	if basic, ok := basicTypes[name]; ok && readable && basic.Size <= len(behind) {
		dst = pr.scalar(dst, shows[basic.Kind], basic, behind[:basic.Size])
		return append(dst, ')')
	}
	if data == 0 {
		dst = append(dst, "nil"...)
	} else {
		dst = appendHex(dst, data)
	}
	return append(dst, ')')
}

// basicTypes are the types whose values in an interface are behind the data word and can be
// printed by the type's name alone.
var basicTypes = map[string]Type{
	"bool": {Kind: TypeBool, Size: 1},
	"int":  {Kind: TypeSigned, Size: 8}, "int8": {Kind: TypeSigned, Size: 1}, "int16": {Kind: TypeSigned, Size: 2},
	"int32": {Kind: TypeSigned, Size: 4}, "int64": {Kind: TypeSigned, Size: 8},
	"uint": {Kind: TypeUnsigned, Size: 8}, "uint8": {Kind: TypeUnsigned, Size: 1}, "uint16": {Kind: TypeUnsigned, Size: 2},
	"uint32": {Kind: TypeUnsigned, Size: 4}, "uint64": {Kind: TypeUnsigned, Size: 8},
	"uintptr": {Kind: TypeHex, Size: 8},
	"float32": {Kind: TypeFloat, Size: 4}, "float64": {Kind: TypeFloat, Size: 8},
}

// scalar prints a value of up to 8 bytes.
func (pr *printer) scalar(dst []byte, s show, typ Type, b []byte) []byte {
	v := littleEndian(b)
	switch s {
	case showUnsigned:
		return strconv.AppendUint(dst, v, 10)
	case showSigned:
		return strconv.AppendInt(dst, int64(signExtend(v, len(b))), 10)
	case showChar:
		return strconv.AppendQuoteRune(dst, rune(v))
	case showBool:
		return strconv.AppendBool(dst, v != 0)
	case showFloat:
		if len(b) == 4 {
			return strconv.AppendFloat(dst, float64(math.Float32frombits(uint32(v))), 'g', -1, 32)
		}
		return strconv.AppendFloat(dst, math.Float64frombits(v), 'g', -1, 64)
	case showSymbol:
		return pr.symbol(dst, v, true)
	case showSymstr:
		return append(pr.symbol(append(dst, '"'), v, true), '"')
	case showComm:
		return append(pr.symbol(append(dst, '"'), v, false), '"')
	case showFunc:
		if v == 0 {
			return append(dst, "nil"...)
		}
		return pr.symbol(dst, v, false)
	case showPointer, showMap:
		if v == 0 {
			return append(dst, "nil"...)
		}
		if s == showPointer {
			return appendHex(dst, v)
		}
		dst = append(append(dst, typ.Name...), '(')
		return append(appendHex(dst, v), ')')
	default:
		return appendHex(dst, v)
	}
}

// symbol prints an address as SYMBOL+OFFSET, or the symbol alone where that says all.
func (pr *printer) symbol(dst []byte, addr uint64, withOffset bool) []byte {
	name, offset, ok := pr.t.SymbolAt(addr)
	if !ok {
		return appendHex(dst, addr)
	}
	dst = append(dst, name...)
	if withOffset || offset != 0 {
		dst = appendHex(append(dst, '+'), offset)
	}
	return dst
}

// appendHex prints 0x and hexadecimal digits.
func appendHex(dst []byte, v uint64) []byte {
	return strconv.AppendUint(append(dst, "0x"...), v, 16)
}
