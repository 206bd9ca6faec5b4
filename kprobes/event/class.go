package event

// A classKind is what a filter may do with a field.
type classKind uint8

const (
	classUnknown   classKind = iota // a Go variable that is not resolved yet
	classNone                       // structs, slices and the like: nothing
	classInteger                    // all comparisons
	classBool                       // == and != with true and false
	classFloat                      // comparisons with decimal numbers
	classPointer                    // as unsigned integers, and nil
	classText                       // == != ~
	classComm                       // the same, of a symbol's name
	classInterface                  // nil, and == != ~ of the text of errors
)

// A class is the kind of a field with what comparisons need to know.
type class struct {
	kind     classKind
	size     int // in bytes
	signed   bool
	duration bool // nanoseconds: 10ms is a value
}

// classOfType classifies an argument of one of the language's types.
func classOfType(f *Fetch, typ Type) class {
	switch {
	case typ.Array > 0:
		return class{kind: classNone}
	case f.Op == FetchComm:
		return class{kind: classComm}
	case f.Op == FetchString, typ.Kind == TypeString, typ.Kind == TypeUstring:
		return class{kind: classText}
	case typ.Kind == TypeSigned:
		return class{kind: classInteger, size: typ.Size, signed: true}
	default:
		return class{kind: classInteger, size: typ.Size, duration: f.Op == FetchDur}
	}
}

// class classifies a compiled argument.
func (n *node) class() class {
	switch n.show {
	case showUnsigned, showHex, showChar, showSymbol, showSymstr:
		return class{kind: classInteger, size: n.typ.Size}
	case showSigned:
		return class{kind: classInteger, size: n.typ.Size, signed: true}
	case showBool:
		return class{kind: classBool, size: 1}
	case showFloat:
		return class{kind: classFloat, size: n.typ.Size}
	case showPointer, showMap, showFunc:
		return class{kind: classPointer, size: 8}
	case showString, showConst:
		return class{kind: classText}
	case showComm:
		return class{kind: classComm}
	case showInterface:
		return class{kind: classInterface}
	default:
		return class{kind: classNone}
	}
}
