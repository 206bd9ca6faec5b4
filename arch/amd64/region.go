package amd64

import (
	"fmt"

	"tamaprobe/arch/amd64/inst"
)

// A region is the instructions that a jump at a probed instruction replaces.
type region struct {
	addr, end uintptr
	insns     []placed
}

// A placed instruction is one with its address.
type placed struct {
	addr uintptr
	inst.Inst
}

// A RegionError says why a jump cannot replace an instruction.
type RegionError struct{ Reason string }

func (e *RegionError) Error() string { return e.Reason }

func cannot(format string, args ...any) error { return &RegionError{fmt.Sprintf(format, args...)} }

// newRegion finds the instructions that a jump at addr has to replace, and whether
// it can.
func newRegion(fn Function, addr uintptr, arrivals *Arrivals) (*region, error) {
	r := &region{addr: addr}
	if arrivals.computed[fn.Entry] {
		return nil, cannot("an assembly function with a jump to computed addresses")
	}
	pc := addr
	for pc < addr+jumpSize {
		i, err := inst.Decode(OriginalText(pc))
		if err != nil {
			return nil, cannot("%v", err)
		}
		next := pc + uintptr(i.Len)
		if next > fn.End {
			return nil, cannot("the function ends %d bytes behind", fn.End-addr)
		}
		for b := max(pc, addr+1); b < next; b++ {
			if arrivals.At(b) {
				return nil, cannot("execution arrives at %#x in another way, %d bytes behind", b, b-addr)
			}
		}
		switch {
		case i.Flow == inst.FlowRefused && i.Refusal() != "" && i.FallsThrough():
			return nil, cannot("%s", i.Refusal())
		case (i.Flow == inst.FlowCall || i.Flow == inst.FlowCallInd) && next < addr+jumpSize:
			return nil, cannot("a call returns %d bytes behind", next-addr)
		}
		r.insns = append(r.insns, placed{pc, i})
		pc = next
		if !i.FallsThrough() {
			// What follows, if not an arrival, is never executed: padding.
			for pc < addr+jumpSize {
				if pc >= fn.End {
					return nil, cannot("the function ends %d bytes behind", fn.End-addr)
				}
				if originalByte(pc) != breakpoint {
					return nil, cannot("no padding behind the end of the code")
				}
				pc++
			}
		}
	}
	if last := r.insns[len(r.insns)-1]; last.Flow == inst.FlowSti && OriginalText(pc)[0] == 0xf4 {
		return nil, cannot("HLT must follow STI directly")
	}
	r.end = pc
	return r, nil
}
