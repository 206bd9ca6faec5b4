package amd64

import (
	"tamaprobe/arch/amd64/inst"
)

// A Function is what must be known of a function to replace more than one of its
// instructions.
type Function struct {
	Entry, End  uintptr // End includes the padding
	Deferreturn uintptr // where it resumes after a deferred call recovered, 0 for nowhere
	Assembly    bool    // it is written in assembly
}

// Arrivals are the addresses where execution can arrive other than by the instruction
// before: a jump in the place of several instructions must not cover one.
type Arrivals struct {
	lo, hi uintptr
	marks  []uint64 // a bit for every byte of text

	// computed are functions, by entry, with jumps whose targets are not known.
	computed map[uintptr]bool
}

// A Range is memory from Lo up to Hi.
type Range struct{ Lo, Hi uintptr }

// FindArrivals looks through all functions of the image, and the data that may hold
// addresses of code: those of switches' jump tables are there. Goroutine context, when
// traps are installed.
func FindArrivals(functions []Function, data []Range) *Arrivals {
	lo, hi := TextRange()
	a := &Arrivals{lo: lo, hi: hi, marks: make([]uint64, (hi-lo)/64+1), computed: make(map[uintptr]bool)}
	for _, fn := range functions {
		a.mark(fn.Entry)
		a.mark(fn.Deferreturn)
		a.function(fn)
	}
	for _, r := range data {
		for p := (r.Lo + 7) &^ 7; p+8 <= r.Hi; p += 8 {
			a.mark(uintptr(*at[uint64](p)))
		}
	}
	return a
}

// Mark adds an address that is known otherwise.
func (a *Arrivals) Mark(addr uintptr) { a.mark(addr) }

func (a *Arrivals) mark(addr uintptr) {
	if a.lo <= addr && addr < a.hi {
		off := addr - a.lo
		a.marks[off/64] |= 1 << (off % 64)
	}
}

// At reports whether execution can arrive at addr.
func (a *Arrivals) At(addr uintptr) bool {
	off := addr - a.lo
	return a.marks[off/64]>>(off%64)&1 != 0
}

func (a *Arrivals) function(fn Function) {
	for pc := fn.Entry; pc < fn.End; {
		i, err := inst.Decode(OriginalText(pc))
		if err != nil {
			return
		}
		next := pc + uintptr(i.Len)
		if i.Relative() {
			a.mark(i.Target(pc))
		}
		switch i.Flow {
		case inst.FlowCall, inst.FlowCallInd:
			a.mark(next)
		case inst.FlowJmpInd:
			// The compiler's are those of switches, through tables.
			if fn.Assembly {
				a.computed[fn.Entry] = true
			}
		}
		if i.RIPRelative {
			a.mark(next + uintptr(int(i.Disp)))
		}
		pc = next
	}
}
