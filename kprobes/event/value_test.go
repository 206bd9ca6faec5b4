package event

import (
	"errors"
	"slices"
	"testing"
)

// variableTarget resolves every Go variable to one value.
type variableTarget struct {
	*fakeTarget
	value Value
}

func (t variableTarget) Variable(*Definition, string) (Value, error) { return t.value, nil }

func TestMalformedValues(t *testing.T) {
	bad := reg("nosuch")
	word := func(kind TypeKind, size int, parts ...Fetch) Value {
		return Value{Type: Type{Kind: kind, Size: size}, Parts: parts}
	}
	within := func(v Value) Value { return Value{Type: Type{Kind: TypeStruct}, Elems: []Value{v}} }
	sliceOf := func(elem *Elem) Value {
		v := word(TypeSlice, 24, reg("ax"), reg("bx"))
		v.Elem = elem
		return v
	}
	wide := Value{Type: Type{Kind: TypeStruct}, Elems: slices.Repeat([]Value{word(TypeSigned, 8, reg("ax"))}, maxSlots+1)}
	values := map[string]Value{
		"nothing":                    {},
		"no part":                    word(TypeSigned, 8),
		"two parts":                  word(TypeSigned, 8, reg("ax"), reg("bx")),
		"three bytes":                word(TypeSigned, 3, reg("ax")),
		"no register":                word(TypeSigned, 8, bad),
		"SSE register 16":            word(TypeFloat, 8, Fetch{Op: FetchFloat, N: 16}),
		"SSE register -1":            word(TypeFloat, 8, Fetch{Op: FetchFloat, N: -1}),
		"no symbol":                  word(TypeSigned, 8, Fetch{Op: FetchSymbol, Name: "nosuch"}),
		"argument 0":                 word(TypeSigned, 8, Fetch{Op: FetchArg}),
		"a dereference of nothing":   word(TypeSigned, 8, Fetch{Op: FetchDeref}),
		"a comm":                     word(TypeSigned, 8, Fetch{Op: FetchComm}),
		"a complex of one part":      word(TypeComplex, 16, reg("ax")),
		"a string of one part":       word(TypeGoString, 16, reg("ax")),
		"a string without address":   word(TypeGoString, 16, bad, reg("ax")),
		"a string without length":    word(TypeGoString, 16, reg("ax"), bad),
		"a slice with stride -1":     sliceOf(&Elem{Stride: -1, Value: word(TypeSigned, 8, rel(0))}),
		"a slice of nothing known":   sliceOf(&Elem{Stride: 8}),
		"a slice of wide structs":    sliceOf(&Elem{Stride: 8, Value: wide}),
		"a wide struct":              wide,
		"a struct of nothing":        within(Value{}),
		"an interface without parts": word(TypeInterface, 16),
	}
	for name, v := range values {
		target := variableTarget{newTarget(), v}
		for _, line := range []string{"p main.handle x", "p main.handle +0(x)", "p main.handle x:u8"} {
			d, err := Parse(line, target)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = Compile(d, target); !errors.As(err, new(*Error)) {
				// The text of a string is at its first part, whatever the second is.
				if name != "a string of one part" && name != "a string without length" && v.Type.Kind != TypeSlice {
					t.Errorf("%s: %q: error %v", name, line, err)
				}
			}
		}
	}
}

func TestDeepValue(t *testing.T) {
	v := scalar(TypeSigned, 8, "int", reg("ax"))
	for range maxValueDepth + 1 {
		v = Value{Type: Type{Kind: TypeStruct, Name: "main.T"}, Elems: []Value{named("F", v)}}
	}
	target := variableTarget{newTarget(), v}
	p := compiled(t, target, "p main.handle x")
	rec := make([]byte, 64)
	rec = rec[:p.Run(newHit(target.fakeTarget), rec)]
	if got, want := string(p.Append(nil, rec, target)), " x={F:{F:{F:{F:{F:{F:{F:{F:{F:int}}}}}}}}}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSliceWithoutElements(t *testing.T) {
	v := slice(Value{}, 0)
	v.Elem = nil
	target := variableTarget{newTarget(), v}
	p := compiled(t, target, "p main.handle x")
	for length, want := range map[uint64]string{0: " x=[]", 5: " x=[...] len=5"} {
		h := newHit(target.fakeTarget)
		setRegs(h, map[string]uint64{"bx": length})
		rec := make([]byte, 64)
		rec = rec[:p.Run(h, rec)]
		if got := string(p.Append(nil, rec, target)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestLengthFaults(t *testing.T) {
	for name, v := range map[string]Value{
		"string": text(reg("ax"), Fetch{Op: FetchMem, Addr: 1}), "array": slice(scalar(TypeSigned, 8, "int", rel(0)), 8),
	} {
		if name == "array" {
			v.Parts[1] = Fetch{Op: FetchMem, Addr: 1}
		}
		target := variableTarget{newTarget(), v}
		p := compiled(t, target, "p main.handle x")
		rec := make([]byte, 64)
		rec = rec[:p.Run(newHit(target.fakeTarget), rec)]
		if got := string(p.Append(nil, rec, target)); got != " x=(fault)" {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestFullBuffer(t *testing.T) {
	target := newTarget()
	target.put(dataAt, "hello\x00")
	target.put(heapAt, uint64(dataAt), uint64(5), uint64(80), uint64(dataAt), uint64(5), uint64(80))
	p := compiled(t, target, "p main.handle +0(%cx):string req.Method pairs")
	h := newHit(target)
	setRegs(h, map[string]uint64{"ax": heapAt, "bx": 2, "cx": dataAt})
	want := map[int]string{
		0: ` arg1=""... req.Method=""... pairs=[...] len=2`,
		3: ` arg1="hel"... req.Method=""... pairs=[...] len=2`,
		// req.Method is the first bytes of the pointer that ax leads to.
		14: ` arg1="hello" req.Method="\x00\x00" pairs=[{Name:""... Port:80} ...] len=2`,
	}
	for room, want := range want {
		rec := make([]byte, p.Size()+room)
		rec = rec[:p.Run(h, rec)]
		if got := string(p.Append(nil, rec, target)); got != want {
			t.Errorf("with room for %d bytes\n got %s\nwant %s", room, got, want)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	target := newTarget()
	target.put(dataAt, "hello\x00")
	p := compiled(b, target, "p main.handle n %ax $comm if n > 3")
	h, buf := newHit(target), make([]byte, 1024)
	for b.Loop() {
		p.Match(h, buf[:p.Run(h, buf)])
	}
}
