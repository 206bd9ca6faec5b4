package event

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// fakeTarget knows a few names of Linux and of Go, and has some memory.
type fakeTarget struct {
	functions map[string]uint64
	data      map[string]uint64
	variables map[string]Value
	results   []Value
	types     map[uint64]string
	strings   []uint64
	memory    map[uint64]byte
}

// Addresses of the fake memory.
const (
	textAt  = 0x1000000
	dataAt  = 0x2000000
	typesAt = 0x3000000
	stackAt = 0xc000100000
	heapAt  = 0xc000200000

	errorStringType = typesAt
	wrapErrorType   = typesAt + 0x100
	intType         = typesAt + 0x200
	structType      = typesAt + 0x300
	itab            = typesAt + 0x1000
)

var registers = []string{"ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ip", "flags"}

func newTarget() *fakeTarget {
	t := &fakeTarget{
		functions: map[string]uint64{},
		data:      map[string]uint64{"jiffies": dataAt, "main.table": dataAt + 0x100, "go:main.inittasks": dataAt + 0x200},
		variables: goVariables(),
		types: map[uint64]string{
			errorStringType: "*errors.errorString", wrapErrorType: "*fmt.wrapError",
			intType: "int", structType: "main.T",
		},
		strings: []uint64{wrapErrorType, errorStringType},
		memory:  map[uint64]byte{},
	}
	t.results = []Value{t.variables["n"], t.variables["err"]}
	for i, name := range []string{
		"do_sys_open", "vfs_read", "main.main", "main.main.func1", "main.handle", "main.(*T).M", "main.(*T).M-fm",
		"sync.(*Mutex).Lock", "vendor/golang.org/x/net.Dial", "gopkg.in/yaml%2ev3.Load",
		"main.f[go.shape.struct { X int }]", "main.f[go.shape.int]", "main.F", "main.F+1", "type:.eq.main.T", "sort.Ints",
	} {
		t.functions[name] = textAt + uint64(i)*0x100
	}
	return t
}

func (t *fakeTarget) Function(name string) bool { _, ok := t.functions[name]; return ok }

func (t *fakeTarget) Symbol(name string) (uint64, bool) {
	if addr, ok := t.functions[name]; ok {
		return addr, true
	}
	addr, ok := t.data[name]
	return addr, ok
}

func (t *fakeTarget) SymbolAt(addr uint64) (string, uint64, bool) {
	for name, start := range t.functions {
		if start <= addr && addr < start+0x100 {
			return name, addr - start, true
		}
	}
	return "", 0, false
}

func (t *fakeTarget) Register(name string) (int, int, bool) {
	if i := slices.Index(registers, name); i >= 0 {
		return i, 8, true
	}
	if i := slices.Index(registers, strings.TrimPrefix(name, "e")); i >= 0 {
		return i, 4, true
	}
	return 0, 0, false
}

var errNoVariable = fmt.Errorf("no such variable: %w", syscall.ENOENT)

func (t *fakeTarget) Variable(_ *Definition, expr string) (Value, error) {
	v, ok := t.variables[expr]
	if !ok {
		return Value{}, errNoVariable
	}
	return v, nil
}

func (t *fakeTarget) Result(_ *Definition, n int) (Value, error) {
	if n >= len(t.results) {
		return Value{}, errors.New("there are 2 results")
	}
	return t.results[n], nil
}

func (t *fakeTarget) TypeName(addr uint64) (string, bool) { name, ok := t.types[addr]; return name, ok }

func (t *fakeTarget) StringTypes() []uint64 { return t.strings }

func (t *fakeTarget) Functions(yield func(string, uint64) bool) {
	for name, addr := range t.functions {
		if !yield(name, addr) {
			return
		}
	}
}

// put writes words, bytes and strings to memory.
func (t *fakeTarget) put(addr uint64, values ...any) {
	for _, v := range values {
		var b []byte
		switch v := v.(type) {
		case string:
			b = []byte(v)
		default:
			b, _ = binary.Append(nil, binary.LittleEndian, v)
		}
		for _, c := range b {
			t.memory[addr] = c
			addr++
		}
	}
}

// read is Hit.Read.
func (t *fakeTarget) read(dst []byte, addr uint64) int {
	for i := range dst {
		c, ok := t.memory[addr+uint64(i)]
		if !ok {
			return i
		}
		dst[i] = c
	}
	return len(dst)
}

// reg, at and rel are the fetches that Go values are made of: a register, memory at the
// stack pointer, and memory of a slice's element.
func reg(name string) Fetch { return Fetch{Op: FetchReg, Name: name} }

func at(offset int64) Fetch { return Fetch{Op: FetchDeref, N: offset, Of: &Fetch{Op: FetchStack}} }

func rel(offset int64) Fetch { return Fetch{Op: FetchDeref, N: offset, Of: &Fetch{Op: FetchImm}} }

func scalar(kind TypeKind, size int, name string, part Fetch) Value {
	return Value{Type: Type{Kind: kind, Size: size, Name: name}, Parts: []Fetch{part}}
}

func named(name string, v Value) Value {
	v.Name = name
	return v
}

func text(addr, length Fetch) Value {
	return Value{Type: Type{Kind: TypeGoString, Size: 16, Name: "string"}, Parts: []Fetch{addr, length}}
}

func slice(elem Value, stride int) Value {
	return Value{
		Type: Type{Kind: TypeSlice, Size: 24, Name: "[]" + elem.Type.Name}, Parts: []Fetch{reg("ax"), reg("bx")},
		Elem: &Elem{Stride: stride, Value: elem},
	}
}

func iface(empty bool) Value {
	return Value{Type: Type{Kind: TypeInterface, Size: 16, Name: "error"}, Parts: []Fetch{reg("ax"), reg("bx")}, Empty: empty}
}

func goVariables() map[string]Value {
	integer := scalar(TypeSigned, 8, "int", rel(0))
	pair := Value{Type: Type{Kind: TypeStruct, Size: 24, Name: "main.pair"}, Elems: []Value{
		named("Name", text(rel(0), rel(8))), named("Port", scalar(TypeUnsigned, 2, "uint16", rel(16))),
	}}
	long := Value{Type: Type{Kind: TypeGoArray, Name: "[10]int"}}
	for i := range 10 {
		long.Elems = append(long.Elems, scalar(TypeSigned, 8, "int", at(int64(8*i))))
	}
	huge := Value{Type: Type{Kind: TypeStruct}, Elems: slices.Repeat([]Value{scalar(TypeSigned, 8, "int", reg("ax"))}, 600)}
	return map[string]Value{
		"n":          scalar(TypeSigned, 8, "int", reg("ax")),
		"n8":         scalar(TypeSigned, 1, "int8", at(16)),
		"u16":        scalar(TypeUnsigned, 2, "uint16", reg("bx")),
		"ok":         scalar(TypeBool, 1, "bool", reg("cx")),
		"f64":        scalar(TypeFloat, 8, "float64", Fetch{Op: FetchFloat, N: 0}),
		"f32":        scalar(TypeFloat, 4, "float32", Fetch{Op: FetchFloat, N: 1}),
		"z":          {Type: Type{Kind: TypeComplex, Size: 16}, Parts: []Fetch{{Op: FetchFloat, N: 0}, {Op: FetchFloat, N: 2}}},
		"p":          scalar(TypePointer, 8, "*main.T", reg("ax")),
		"*p":         scalar(TypeSigned, 4, "int32", Fetch{Op: FetchDeref, Of: &Fetch{Op: FetchReg, Name: "ax"}}),
		"m":          scalar(TypeMap, 8, "map[string]int", reg("ax")),
		"c":          scalar(TypeChan, 8, "chan int", reg("ax")),
		"fn":         scalar(TypeFunc, 8, "func()", reg("ax")),
		"req.Method": text(reg("ax"), reg("bx")),
		"body":       slice(integer, 8),
		"len(body)":  scalar(TypeSigned, 8, "int", reg("bx")),
		"a[2]":       scalar(TypeSigned, 8, "int", at(16)),
		"pairs":      slice(pair, 24),
		"empties":    slice(Value{Type: Type{Kind: TypeStruct, Name: "struct {}"}}, 0),
		"err":        iface(false),
		"any":        iface(true),
		"long":       long,
		"huge":       huge,
		"odd":        {Type: Type{Kind: TypeGoString, Name: "string"}},
		"secret":     {Type: Type{Kind: TypeOpaque, Name: "sync.Mutex"}},
		"pair": {Type: Type{Kind: TypeStruct}, Elems: []Value{
			named("Name", text(reg("ax"), reg("bx"))), named("Port", scalar(TypeUnsigned, 2, "uint16", reg("cx"))),
		}},
	}
}

// compiled parses and compiles a line.
func compiled(t testing.TB, target Target, line string) *Program {
	t.Helper()
	d, err := Parse(line, target)
	if err != nil {
		t.Fatalf("Parse(%q): %v", line, err)
	}
	p, err := Compile(d, target)
	if err != nil {
		t.Fatalf("Compile(%q): %v", line, err)
	}
	return p
}
