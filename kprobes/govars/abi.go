package govars

import (
	"math"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"

	"tamaprobe/kprobes/event"
)

// The registers in which Go passes integers and pointers, in their order, and how many SSE
// registers there are for floating-point numbers (cmd/compile/abi-internal.md, amd64).
var abiRegisters = [...]string{"ax", "bx", "cx", "di", "si", "r8", "r9", "r10", "r11"}

const abiFloats = 15

// An assigner assigns parameters, or results, to registers and the stack by Go's ABI.
type assigner struct {
	integers, floats int   // registers used
	stack            int64 // bytes used
}

// assign returns where a value is whose stack part begins at a distance from the
// stack pointer.
func (a *assigner) assign(t godwarf.Type, stack int64) location {
	if t.Size() > 0 {
		before := *a
		var l location
		if a.registers(t, 0, &l) {
			return l
		}
		*a = before
	}
	a.stack = alignUp(a.stack, alignment(t))
	l := onStack(stack + a.stack)
	a.stack += max(0, t.Size())
	return l
}

// registers assigns all of a value to registers. It reports whether they suffice.
func (a *assigner) registers(t godwarf.Type, offset int64, l *location) bool {
	switch u := underlying(t).(type) {
	case *godwarf.StructType:
		for _, f := range u.Field {
			if f.Type.Size() != 0 && !a.registers(f.Type, offset+f.ByteOffset, l) {
				return false
			}
		}
		return true
	case *godwarf.ArrayType:
		switch u.Count {
		case 0:
			return true
		case 1:
			return a.registers(u.Type, offset, l)
		}
		return false
	case *godwarf.FloatType:
		return a.float(offset, u.Size(), l)
	case *godwarf.ComplexType:
		half := u.Size() / 2
		return a.float(offset, half, l) && a.float(offset+half, half, l)
	case *godwarf.StringType, *godwarf.InterfaceType:
		return a.integer(offset, wordSize, l) && a.integer(offset+wordSize, wordSize, l)
	case *godwarf.SliceType:
		return a.integer(offset, wordSize, l) && a.integer(offset+wordSize, wordSize, l) &&
			a.integer(offset+2*wordSize, wordSize, l)
	}
	return t.Size() <= wordSize && a.integer(offset, t.Size(), l)
}

func (a *assigner) integer(offset, size int64, l *location) bool {
	if a.integers == len(abiRegisters) {
		return false
	}
	*l = append(*l, piece{offset: offset, size: size,
		register: event.Fetch{Op: event.FetchReg, Name: abiRegisters[a.integers]}})
	a.integers++
	return true
}

func (a *assigner) float(offset, size int64, l *location) bool {
	if a.floats == abiFloats {
		return false
	}
	*l = append(*l, piece{offset: offset, size: size,
		register: event.Fetch{Op: event.FetchFloat, N: int64(a.floats)}})
	a.floats++
	return true
}

// An assignment is where a function's parameters are when it is entered, and its results
// when it has returned, seen from the stack pointer then. The stack pointer's word at the
// entry is the return address.
type assignment struct {
	params, results []location
}

// An abi says how a function is called. Of a generic function whose code several
// instances share, a hidden parameter, the dictionary, precedes that of this number.
type abi struct {
	dictionary int
	stack      bool // all is on the stack: ABI0, which assembly uses
}

const noDictionary = math.MaxInt

// assign assigns parameters and results. On the stack the results follow the parameters.
func (b abi) assign(params, results []parameter) assignment {
	var r assignment
	a := b.assigner(0)
	for i, p := range params {
		if i == b.dictionary {
			a.assign(&godwarf.PtrType{CommonType: godwarf.CommonType{ByteSize: wordSize}}, 0)
		}
		r.params = append(r.params, a.assign(p.typ, wordSize))
	}
	a = b.assigner(alignUp(a.stack, wordSize))
	for _, p := range results {
		r.results = append(r.results, a.assign(p.typ, 0))
	}
	return r
}

func (b abi) assigner(stack int64) assigner {
	if b.stack {
		return assigner{len(abiRegisters), abiFloats, stack}
	}
	return assigner{stack: stack}
}

func alignUp(n, align int64) int64 { return (n + align - 1) / align * align }
