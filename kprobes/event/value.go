package event

import (
	"fmt"
	"slices"
)

// shows is how scalar types are printed.
var shows = map[TypeKind]show{
	TypeUnsigned: showUnsigned,
	TypeSigned:   showSigned,
	TypeHex:      showHex,
	TypeChar:     showChar,
	TypeSymbol:   showSymbol,
	TypeBool:     showBool,
	TypeFloat:    showFloat,
	TypePointer:  showPointer,
	TypeFunc:     showFunc,
	TypeMap:      showMap,
	TypeChan:     showMap,
}

// value compiles a Go value into a frame. inElem is set if the frame is that of a slice's
// element.
func (c *compiler) value(f *frame, v Value, depth int, inElem bool) (node, error) {
	n := node{name: v.Name, typ: v.Type}
	if depth > maxValueDepth {
		n.show = showOpaque
		return n, nil
	}
	switch v.Type.Kind {
	case TypeOpaque:
		n.show = showOpaque
		return n, nil
	case TypeStruct:
		n.show = showStruct
		return n, c.kids(&n, f, v.Elems, depth, inElem)
	case TypeGoArray:
		n.show = showArray
		n.more = len(v.Elems) > sliceLimit
		return n, c.kids(&n, f, v.Elems[:min(len(v.Elems), sliceLimit)], depth, inElem)
	case TypeComplex:
		n.show = showComplex
		if len(v.Parts) != 2 {
			return n, malformed(v)
		}
		part := Value{Type: Type{Kind: TypeFloat, Size: v.Type.Size / 2}}
		parts := []Value{part, part}
		for i := range parts {
			parts[i].Parts = v.Parts[i : i+1]
		}
		return n, c.kids(&n, f, parts, depth, inElem)
	case TypeGoString, TypeSlice, TypeInterface:
		return c.twoWords(n, f, v, depth, inElem)
	}
	show, ok := shows[v.Type.Kind]
	if !ok || len(v.Parts) != 1 || !isWordSize(v.Type.Size) {
		return n, malformed(v)
	}
	n.show = show
	ops, err := c.part(v.Parts[0], v.Type.Size, inElem)
	if err != nil {
		return n, err
	}
	if v.Type.Kind == TypeFunc {
		ops = append(ops, op{code: opFunc, size: 8})
	}
	n.slot = f.add(slot{size: v.Type.Size, value: ops})
	return n, nil
}

// malformed is the error of a value that is not made as its type says.
func malformed(v Value) error {
	return fmt.Errorf("a value of type %q can not be recorded", v.Type)
}

func isWordSize(n int) bool { return n == 1 || n == 2 || n == 4 || n == 8 }

// kids compiles the parts of a value.
func (c *compiler) kids(n *node, f *frame, values []Value, depth int, inElem bool) error {
	for i := range values {
		kid, err := c.value(f, values[i], depth+1, inElem)
		if err != nil {
			return err
		}
		n.kids = append(n.kids, kid)
		if len(f.slots) > maxSlots {
			return f.layOut()
		}
	}
	return nil
}

// part compiles what a leaf of a number of bytes is made of.
func (c *compiler) part(f Fetch, size int, inElem bool) ([]op, error) {
	ops, err := c.ops(&f, inElem)
	if err == nil && f.inMemory() {
		ops[len(ops)-1].size = uint8(size)
	}
	return ops, err
}

// twoWords compiles a string, a slice or an interface.
func (c *compiler) twoWords(n node, f *frame, v Value, depth int, inElem bool) (node, error) {
	if len(v.Parts) != 2 {
		return n, malformed(v)
	}
	var s slot
	var err error
	if s.value, err = c.part(v.Parts[0], 8, inElem); err != nil {
		return n, err
	}
	if s.second, err = c.part(v.Parts[1], 8, inElem); err != nil {
		return n, err
	}
	switch v.Type.Kind {
	case TypeGoString:
		n.show, s.store, s.size = showString, storeGoString, locationSize
	case TypeInterface:
		n.show, s.store, s.size = showInterface, storeInterface, interfaceSize
		s.empty = v.Empty
		if c.p.strings == nil {
			c.p.strings = slices.Sorted(slices.Values(c.t.StringTypes()))
		}
	default:
		n.show, s.store, s.size = showSlice, storeSlice, sliceSize
		if v.Elem == nil {
			break
		}
		if v.Elem.Stride < 0 {
			return n, malformed(v)
		}
		s.stride, s.elem = uint64(v.Elem.Stride), &frame{}
		elem, err := c.value(s.elem, v.Elem.Value, depth+1, true)
		if err != nil {
			return n, err
		}
		if err := s.elem.layOut(); err != nil {
			return n, err
		}
		n.elem = &elem
	}
	n.slot = f.add(s)
	return n, nil
}

// word compiles a value of one word, extended to 64 bits.
func (c *compiler) word(v Value) ([]op, error) {
	if _, ok := shows[v.Type.Kind]; !ok || len(v.Parts) != 1 || !isWordSize(v.Type.Size) {
		return nil, fmt.Errorf("only integers and pointers can be given one, this is a %s", v.Type)
	}
	ops, err := c.part(v.Parts[0], v.Type.Size, false)
	if err != nil || v.Type.Size == 8 {
		return ops, err
	}
	extend := opUnsigned
	if v.Type.Kind == TypeSigned {
		extend = opSigned
	}
	return append(ops, op{code: extend, size: uint8(v.Type.Size)}), nil
}
