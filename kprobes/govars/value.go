package govars

import (
	"github.com/go-delve/delve/pkg/dwarf/godwarf"

	"tamaprobe/kprobes/event"
)

// How much of a struct or an array is recorded, and of a slice's elements.
const (
	maxDepth         = 3
	maxLeaves        = 16
	maxElementDepth  = 1
	maxElementLeaves = 4
)

// An operand is a value that an expression is about.
type operand struct {
	typ godwarf.Type
	loc location

	// The value is no variable but what another expression computes: len(x). typ is nil.
	computed *event.Value
}

// A builder makes a Value of an operand.
type builder struct {
	depth     int // how deep structs and arrays may be nested
	leaves    int // how many more leaves there may be
	element   bool
	available bool // something is
}

// newValue says how to fetch a value.
func newValue(o operand) (event.Value, error) {
	if o.computed != nil {
		return *o.computed, nil
	}
	b := builder{depth: maxDepth, leaves: maxLeaves}
	v := b.build(o.typ, o.loc, 0)
	if !b.available && o.typ.Size() > 0 {
		return event.Value{}, errUnavailable
	}
	return v, nil
}

// build makes a Value of the type at a location, at a depth of nesting.
func (b *builder) build(t godwarf.Type, l location, depth int) event.Value {
	r := event.Value{Type: leafType(t)}
	switch u := underlying(t).(type) {
	case *godwarf.StructType:
		if depth == b.depth && len(u.Field) > 0 {
			return b.opaque(r.Type)
		}
		r.Type.Kind = event.TypeStruct
		for _, f := range u.Field {
			if f.Name == "_" {
				continue
			}
			if b.leaves == 0 {
				r.Elems = append(r.Elems, event.Value{Type: event.Type{Kind: event.TypeOpaque, Name: "..."}})
				break
			}
			field := b.build(f.Type, l.part(f.ByteOffset), depth+1)
			field.Name = f.Name
			r.Elems = append(r.Elems, field)
		}
		return r
	case *godwarf.ArrayType:
		if depth == b.depth && u.Count > 0 {
			return b.opaque(r.Type)
		}
		r.Type.Kind = event.TypeGoArray
		for i := range u.Count {
			if b.leaves == 0 {
				r.Elems = append(r.Elems, event.Value{Type: event.Type{Kind: event.TypeOpaque, Name: "..."}})
				break
			}
			r.Elems = append(r.Elems, b.build(u.Type, l.part(i*u.Type.Size()), depth+1))
		}
		return r
	case *godwarf.StringType:
		return b.leaf(r, l, 0, wordSize, wordSize)
	case *godwarf.SliceType:
		r.Elem = b.elementOf(u.ElemType)
		return b.leaf(r, l, 0, wordSize, wordSize)
	case *godwarf.InterfaceType:
		r.Empty = !hasMethods(u)
		return b.leaf(r, l, 0, wordSize, wordSize)
	case *godwarf.ComplexType:
		half := u.Size() / 2
		return b.leaf(r, l, 0, half, half)
	}
	if r.Type.Kind == event.TypeOpaque {
		return b.opaque(r.Type)
	}
	return b.leaf(r, l, 0, t.Size())
}

// leaf fills in the fetches of a leaf, whose parts lie one behind the other.
func (b *builder) leaf(r event.Value, l location, offset int64, sizes ...int64) event.Value {
	b.leaves = max(0, b.leaves-1)
	for _, size := range sizes {
		f, ok := l.fetch(offset, size)
		if !ok {
			return event.Value{Type: event.Type{Kind: event.TypeOpaque, Name: "unavailable"}}
		}
		r.Parts = append(r.Parts, f)
		offset += size
	}
	b.available = true
	return r
}

// opaque is a value that is not looked into.
func (b *builder) opaque(t event.Type) event.Value {
	b.leaves = max(0, b.leaves-1)
	b.available = true
	return event.Value{Type: event.Type{Kind: event.TypeOpaque, Size: t.Size, Name: t.Name}}
}

// elementOf describes a slice's elements, nil if they are too large to be shown.
func (b *builder) elementOf(t godwarf.Type) *event.Elem {
	if b.element || t.Size() <= 0 {
		return nil
	}
	e := builder{depth: maxElementDepth, leaves: maxElementLeaves + 1, element: true}
	v := e.build(t, behind(event.Fetch{Op: event.FetchImm}), 0)
	if e.leaves == 0 || v.Type.Kind == event.TypeOpaque {
		return nil
	}
	return &event.Elem{Stride: int(t.Size()), Value: v}
}
