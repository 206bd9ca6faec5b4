package amd64

import "unsafe"

// CallSaved calls a function value of at most three pointer-sized arguments and at
// most one result, from the trap path, which leaves the SSE, AVX and AVX-512
// registers alone: they are saved around the call. The function finds in them
// what the interrupted code left there, but for X15, which is zero as Go expects.
//
// fn is the function value as FuncPointer returns it. Trap context.
//
//go:nosplit
func CallSaved(fn unsafe.Pointer, a, b, c uintptr) (result uintptr) {
	return callSaved(fn, a, b, c)
}

// FuncPointer returns the function value behind f, a pointer to a variable of a
// function type, as CallSaved takes it.
//
//go:nosplit
func FuncPointer[F any](f *F) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(f))
}

// A savedState is the start of CallSaved's frame. The frames on a processor's trap
// stack form a list, from cpu.saved on.
type savedState struct {
	outer uintptr // the next frame, at a higher address; 0 for none
	area  uintptr // where the registers are
}

// outermostSaved returns the area of the outermost CallSaved below top on the trap
// stack, 0 if there is none, and takes its frame and those inside it off the list.
//
//go:nosplit
func (c *cpu) outermostSaved(top uintptr) (area uintptr) {
	for c.saved != 0 && c.saved < top {
		s := at[savedState](c.saved)
		area = s.area
		c.saved = s.outer
	}
	return area
}

// The extended state that is saved: SSE, AVX and the AVX-512 components (SDM
// vol. 1, 13.1), as far as they are enabled. Not x87: Go does not use it.
const xsaveWanted = 1<<1 | 1<<2 | 1<<5 | 1<<6 | 1<<7

// xsaveArea is the room that they take: in the standard format the last ends at
// 2688 (SDM vol. 1, 13.4.3; CPUID leaf 0Dh).
//
//lint:ignore U1000 assembly has the same number
const xsaveArea = 2688

// xsaveMask is the part of it that is enabled, 0 if the processor has only
// FXSAVE.
//
//lint:ignore U1000 assembly uses it
var xsaveMask uint32

func initXsave() {
	const osxsave = 1 << 27
	if _, _, c, _ := cpuid(1, 0); c&osxsave != 0 {
		xsaveMask = xgetbv() & xsaveWanted
	}
}

func xgetbv() uint32
