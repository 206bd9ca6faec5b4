package event

import (
	"fmt"
	"strconv"
	"strings"
)

// String returns a line that Parse reads as the same definition.
func (d *Definition) String() string {
	var b strings.Builder
	b.WriteByte(byte(d.Kind))
	if d.MaxActive > 0 {
		fmt.Fprint(&b, d.MaxActive)
	}
	switch {
	case d.Kind == KindRemove && d.Group == "":
		b.WriteString(":" + d.Event)
	case d.Kind == KindRemove || d.Group != DefaultGroup:
		b.WriteString(":" + d.Group + "/" + d.Event)
	case d.Event != "":
		b.WriteString(":" + d.Event)
	}
	if d.Kind == KindRemove {
		return b.String()
	}
	if d.Inlined {
		b.WriteString(" " + inlineOption)
	}
	b.WriteString(" " + d.Place.String())
	for i := range d.Args {
		arg := &d.Args[i]
		if arg.Hidden {
			break // the filter names it
		}
		b.WriteByte(' ')
		if arg.Name != defaultArgName(&arg.Fetch, i) {
			b.WriteString(arg.Name + "=")
		}
		b.WriteString(arg.Fetch.String())
		if typ := arg.Type.String(); typ != "" {
			b.WriteString(":" + typ)
		}
	}
	if d.Filter != nil {
		b.WriteString(" " + filterWord + " " + d.Filter.String())
	}
	return b.String()
}

// String returns the place as it is written in a definition.
func (at Place) String() string {
	switch {
	case at.File != "":
		return quoteName(at.File) + ":" + strconv.Itoa(at.Line)
	case at.Glob && strings.ContainsRune(at.Symbol, '-'):
		// What precedes the - may be a function, and the rest would be an offset.
		return strconv.Quote(at.Symbol)
	case at.Symbol == "":
		return fmt.Sprintf("%#x", at.Addr)
	case at.Offset != 0:
		return fmt.Sprintf("%s+%#x", quoteName(at.Symbol), at.Offset)
	default:
		return quoteName(at.Symbol)
	}
}

// quoteName puts a name in quotes if it could be read as something else without.
func quoteName(s string) string {
	const plain = "_./()*[]?,{}-"
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !isDigit(c)) && (i == 0 && c == '-' || !strings.ContainsRune(plain, rune(c))) {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// String returns the fetch as it is written in a definition.
func (f Fetch) String() string {
	switch f.Op {
	case FetchReg:
		return "%" + f.Name
	case FetchFloat:
		return fmt.Sprintf("float register %d", f.N)
	case FetchMem:
		return fmt.Sprintf("@%#x", f.Addr)
	case FetchSymbol:
		if f.N != 0 {
			return fmt.Sprintf("@%s%+d", quoteName(f.Name), f.N)
		}
		return "@" + quoteName(f.Name)
	case FetchStack:
		return "$stack"
	case FetchStackN:
		return fmt.Sprintf("$stack%d", f.N)
	case FetchRetval:
		return "$retval"
	case FetchArg:
		return fmt.Sprintf("$arg%d", f.N)
	case FetchResult:
		return fmt.Sprintf("$ret%d", f.N)
	case FetchComm:
		return "$comm"
	case FetchGoid:
		return "$goid"
	case FetchCaller:
		return "$caller"
	case FetchDur:
		return "$dur"
	case FetchImm:
		return fmt.Sprintf(`\%d`, f.N)
	case FetchString:
		return `\` + strconv.Quote(f.Name)
	case FetchDeref:
		user := ""
		if f.User {
			user = "u"
		}
		if f.Of == nil {
			return ""
		}
		// The sign is written before the u.
		sign, digits := "+", strconv.FormatInt(f.N, 10)
		if f.N < 0 {
			sign, digits = "-", digits[1:]
		}
		return sign + user + digits + "(" + f.Of.String() + ")"
	default:
		return f.Name
	}
}

// String returns the type as it is written in a definition, "" if none was given; of a Go
// type its name.
func (t Type) String() string {
	s := t.Name
	switch t.Kind {
	case TypeUnsigned:
		s = "u" + strconv.Itoa(t.Size*8)
	case TypeSigned:
		s = "s" + strconv.Itoa(t.Size*8)
	case TypeHex:
		s = "x" + strconv.Itoa(t.Size*8)
	case TypeChar:
		s = "char"
	case TypeString:
		s = "string"
	case TypeUstring:
		s = "ustring"
	case TypeSymbol:
		s = "symbol"
	case TypeSymstr:
		s = "symstr"
	case TypeBitfield:
		s = fmt.Sprintf("b%d@%d/%d", t.Width, t.Shift, t.Size*8)
	}
	if t.Array > 0 {
		s += "[" + strconv.Itoa(t.Array) + "]"
	}
	return s
}
