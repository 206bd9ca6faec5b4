package kprobes

import (
	"tamaprobe/arch/amd64"
	"tamaprobe/arch/amd64/inst"
	"tamaprobe/symtab"
)

// boundaries knows where instructions start: a bit for every byte of text, filled
// in function by function as they are asked for, by decoding from the function's
// start. mu is held.
var boundaries struct {
	lo      uintptr
	starts  []uint64
	decoded map[uintptr]bool // by the function's entry
}

func initBoundaries() {
	lo, hi := amd64.TextRange()
	boundaries.lo = lo
	boundaries.starts = make([]uint64, (hi-lo)/64+1)
	boundaries.decoded = make(map[uintptr]bool)
}

// isBoundary reports whether an instruction of fn starts at addr.
func isBoundary(fn symtab.Func, addr uintptr) bool {
	if !boundaries.decoded[fn.Entry()] {
		boundaries.decoded[fn.Entry()] = true
		for pc := fn.Entry(); pc < fn.End(); {
			off := pc - boundaries.lo
			boundaries.starts[off/64] |= 1 << (off % 64)
			i, err := inst.Decode(amd64.OriginalText(pc))
			if err != nil {
				break // what follows cannot be known
			}
			pc += uintptr(i.Len)
		}
	}
	off := addr - boundaries.lo
	return boundaries.starts[off/64]>>(off%64)&1 != 0
}
