package govars

import (
	"debug/dwarf"
	"errors"
	"reflect"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"

	"tamaprobe/kprobes/event"
)

const wordSize = 8

// maxTypeName is how long the name of a struct without a name, which is its definition,
// may be.
const maxTypeName = 40

// typeAt reads the type at an offset.
func (im *Image) typeAt(offset dwarf.Offset) (godwarf.Type, error) {
	return godwarf.ReadType(im.info, 0, offset, im.types)
}

// typeOf reads the type of an entry, a variable's or a parameter's.
func (im *Image) typeOf(e godwarf.Entry) (godwarf.Type, error) {
	offset, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
	if !ok {
		return nil, errors.New("the debugging information gives no type")
	}
	return im.typeAt(offset)
}

// underlying returns a type without the names that type declarations, and type
// parameters, give it. Maps, channels and interfaces are type definitions of the
// runtime's types; they stay.
func underlying(t godwarf.Type) godwarf.Type {
	for {
		switch u := t.(type) {
		case *godwarf.TypedefType:
			t = u.Type
		case *godwarf.ParametricType:
			t = u.Type
		case *godwarf.QualType:
			t = u.Type
		default:
			return t
		}
	}
}

// typeName returns a type's name as Go has it.
func typeName(t godwarf.Type) string {
	if p, ok := t.(*godwarf.ParametricType); ok {
		t = underlying(p)
	}
	switch name := t.Common().Name; {
	case strings.HasPrefix(name, "struct {") && len(name) > maxTypeName:
		return "struct {...}"
	case name != "":
		return name
	case isUnsafePointer(t):
		return "unsafe.Pointer"
	}
	return t.String()
}

func isUnsafePointer(t godwarf.Type) bool {
	p, ok := underlying(t).(*godwarf.PtrType)
	return ok && (p.ReflectKind == reflect.UnsafePointer || p.Name == "unsafe.Pointer")
}

// pointee returns what a pointer points to.
func pointee(t godwarf.Type) (godwarf.Type, bool) {
	p, ok := underlying(t).(*godwarf.PtrType)
	if !ok || isUnsafePointer(t) {
		return nil, false
	}
	if _, void := p.Type.(*godwarf.VoidType); void {
		return nil, false
	}
	return p.Type, true
}

// structOf returns the struct that a type is, nil if it is none.
func structOf(t godwarf.Type) *godwarf.StructType {
	s, _ := underlying(t).(*godwarf.StructType)
	return s
}

// runtimeStruct returns the runtime's struct that a map or a channel points to.
func runtimeStruct(t godwarf.Type) *godwarf.StructType {
	var pointer godwarf.Type
	switch u := underlying(t).(type) {
	case *godwarf.MapType:
		pointer = u.Type
	case *godwarf.ChanType:
		pointer = u.Type
	default:
		return nil
	}
	if to, ok := pointee(pointer); ok {
		return structOf(to)
	}
	return nil
}

// hasMethods reports whether an interface type has methods: then its type word is an
// itab, whose first field is another.
func hasMethods(t *godwarf.InterfaceType) bool {
	s := structOf(t.Type)
	return s == nil || len(s.Field) == 0 || s.Field[0].Name != "_type"
}

// alignment returns a type's alignment as the compiler has it.
func alignment(t godwarf.Type) int64 {
	switch u := underlying(t).(type) {
	case *godwarf.StructType:
		align := int64(1)
		for _, f := range u.Field {
			align = max(align, alignment(f.Type))
		}
		return align
	case *godwarf.ArrayType:
		return alignment(u.Type)
	case *godwarf.ComplexType:
		return max(1, u.Size()/2)
	case *godwarf.BoolType, *godwarf.CharType, *godwarf.UcharType, *godwarf.IntType, *godwarf.UintType, *godwarf.FloatType:
		return max(1, u.Size())
	}
	return wordSize
}

// leafType returns how a type is printed that is no struct or array. Those, and what Go has
// not, are opaque.
func leafType(t godwarf.Type) event.Type {
	r := event.Type{Kind: event.TypeOpaque, Size: int(max(0, t.Size())), Name: typeName(t)}
	switch u := underlying(t).(type) {
	case *godwarf.BoolType:
		r.Kind = event.TypeBool
	case *godwarf.IntType, *godwarf.CharType:
		r.Kind = event.TypeSigned
	case *godwarf.UintType, *godwarf.UcharType:
		r.Kind = event.TypeUnsigned
		if u.Common().ReflectKind == reflect.Uintptr {
			r.Kind = event.TypeHex
		}
	case *godwarf.FloatType:
		r.Kind = event.TypeFloat
	case *godwarf.ComplexType:
		r.Kind = event.TypeComplex
	case *godwarf.StringType:
		r.Kind = event.TypeGoString
	case *godwarf.SliceType:
		r.Kind = event.TypeSlice
	case *godwarf.InterfaceType:
		r.Kind = event.TypeInterface
	case *godwarf.MapType:
		r.Kind = event.TypeMap
	case *godwarf.ChanType:
		r.Kind = event.TypeChan
	case *godwarf.PtrType:
		r.Kind = event.TypePointer
	case *godwarf.FuncType:
		r.Kind = event.TypeFunc
	}
	return r
}
