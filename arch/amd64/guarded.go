package amd64

import "unsafe"

// Guarded calls a function value of at most three pointer-sized arguments and at
// most one result, from the trap path, for code that is not trusted with the
// interrupted code's state:
//
//   - The SSE, AVX and AVX-512 registers are saved around the call.
//   - Abandon ends the call early, whatever the function was doing.
//
// fn is the function value as FuncPointer returns it. ok is false if the call
// was abandoned. Trap context.
func Guarded(fn unsafe.Pointer, a, b, c uintptr) (result uintptr, ok bool) {
	return guarded(fn, a, b, c)
}

// FuncPointer returns the function value behind f, a pointer to a variable of a
// function type, as Guarded takes it.
func FuncPointer[F any](f *F) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(f))
}

// InGuarded reports whether the code that r belongs to was called by Guarded and
// has not returned. Trap context, on the processor that was interrupted.
func InGuarded(r *Regs) bool {
	c := cpuOf(r)
	return c.abort != 0 && c.trapLo < uintptr(r.SP) && uintptr(r.SP) <= c.abort
}

// Abandon makes the call of Guarded that r interrupted return with ok false when
// the trap returns. InGuarded must hold. Trap context, on the processor that was
// interrupted.
func Abandon(r *Regs) {
	c := cpuOf(r)
	r.PC = uint64(abandonedCode)
	r.SP = uint64(c.abort)
	r.Flags &^= FlagIF | FlagTF | FlagDF
	r.G = c.trapG
}

// The extended state that Guarded saves: SSE, AVX and the AVX-512 components
// (SDM vol. 1, 13.1), as far as they are enabled. Not x87: Go does not use it.
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
