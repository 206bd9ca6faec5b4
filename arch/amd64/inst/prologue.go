package inst

import "bytes"

// A Prologue is the stack check that the Go linker puts at the entry of a
// function that may grow the stack (cmd/internal/obj/x86/obj6.go, stacksplit):
//
//	[MOVQ FS:-8, R14]               functions of the stable ABI load g
//	[LEAQ -Frame(SP), R12]          frames larger than StackSmall
//	[MOVQ SP, R12; SUBQ Frame, R12; JCS more]    ... than StackBig
//	CMPQ SP or R12, 16(R14)
//	JBE more
//
// At more, the function calls morestack and starts over at its entry.
type Prologue struct {
	Kind    PrologueKind
	LoadsG  bool   // starts with MOVQ FS:-8, R14
	Frame   uint64 // what is subtracted from SP
	Compare uint8  // offset of CMPQ
	Jump    uint8  // offset of JBE
	End     uint8  // offset of what follows JBE
}

// A PrologueKind says what is compared with the stack guard.
type PrologueKind uint8

const (
	PrologueNone  PrologueKind = iota // no stack check
	PrologueSmall                     // SP
	PrologueLarge                     // SP - Frame
	PrologueHuge                      // SP - Frame, which may wrap around
)

var (
	loadG      = []byte{0x64, 0x4c, 0x8b, 0x34, 0x25, 0xf8, 0xff, 0xff, 0xff} // MOVQ FS:-8, R14
	leaqR12    = []byte{0x4c, 0x8d, 0x64, 0x24}                               // LEAQ disp8(SP), R12
	leaqR12L   = []byte{0x4c, 0x8d, 0xa4, 0x24}                               // LEAQ disp32(SP), R12
	movqSPR12  = []byte{0x49, 0x89, 0xe4}                                     // MOVQ SP, R12
	subqR12    = []byte{0x49, 0x81, 0xec}                                     // SUBQ $imm32, R12
	cmpqSP     = []byte{0x49, 0x3b, 0x66, 0x10}                               // CMPQ SP, 16(R14)
	cmpqR12    = []byte{0x4d, 0x3b, 0x66, 0x10}                               // CMPQ R12, 16(R14)
	conditionB = uint8(2)                                                     // JCS
	// conditionBE is the condition of JLS, also written JBE.
	conditionBE = uint8(6)
)

// ComparesFrame reports whether code starts with CMPQ R12, 16(R14), the comparison of a
// stack check of a larger frame.
func ComparesFrame(code []byte) bool { return bytes.HasPrefix(code, cmpqR12) }

// ParsePrologue recognizes the stack check at the start of a function's code.
func ParsePrologue(code []byte) Prologue {
	var p Prologue
	rest := code
	skip := func(pattern []byte) bool {
		var ok bool
		rest, ok = bytes.CutPrefix(rest, pattern)
		return ok
	}
	next := func() Inst {
		i, err := Decode(rest)
		if err == nil {
			rest = rest[i.Len:]
		}
		return i
	}
	p.LoadsG = skip(loadG)
	compare := cmpqR12
	switch {
	case bytes.HasPrefix(rest, leaqR12), bytes.HasPrefix(rest, leaqR12L):
		p.Kind = PrologueLarge
		p.Frame = -uint64(int64(next().Disp))
	case skip(movqSPR12):
		p.Kind = PrologueHuge
		if !bytes.HasPrefix(rest, subqR12) {
			return Prologue{}
		}
		p.Frame = uint64(next().Imm)
		if j := next(); j.Flow != FlowJcc || j.Condition() != conditionB {
			return Prologue{}
		}
	default:
		p.Kind = PrologueSmall
		compare = cmpqSP
	}
	p.Compare = uint8(len(code) - len(rest))
	if !skip(compare) {
		return Prologue{}
	}
	p.Jump = uint8(len(code) - len(rest))
	if j := next(); j.Flow != FlowJcc || j.Condition() != conditionBE {
		return Prologue{}
	}
	p.End = uint8(len(code) - len(rest))
	return p
}
