package amd64

import (
	"unsafe"

	"tamaprobe/goruntime"
)

// Handlers that fail. A handler of the trap path that faults, or that the runtime
// is about to end the program for, can be abandoned: its stack frames are dropped,
// and the trap path goes on as if the function that the entry code called had
// called another one.

// What is kept free at the end of the trap stack, so that a handler that overruns the
// rest can be abandoned: trapStackReserve for a nested exception and what that
// calls, of which the last part is for one that fails once more.
const (
	trapStackReserve = 10 << 10
	trapStackLast    = 2 << 10
)

// setTrapGuard sets where Go code finds the end of the trap stack.
//
//go:nosplit
func (c *cpu) setTrapGuard(reserve uintptr) {
	guard := c.trapLo + stackGuard + reserve
	*at[uintptr](c.trapG + gStackguard0) = guard
	*at[uintptr](c.trapG + gStackguard1) = guard
}

// UseReserve lets the handler of a nested exception, which r is, use the reserve of
// the trap stack, or ends that. Trap context.
//
//go:nosplit
func UseReserve(r *Regs, use bool) {
	c := cpuOf(r)
	if use {
		c.setTrapGuard(trapStackLast)
	} else {
		c.setTrapGuard(trapStackReserve)
	}
}

// Inside reports whether r is an exception in code on the trap stack below top. Trap
// context.
//
//go:nosplit
func Inside(r *Regs, top uintptr) bool {
	return uintptr(r.SP) < top && cpuOf(r).trapLo < uintptr(r.SP)
}

// Abandon drops what handles the exception outer, in which r is an exception, when
// r's handler returns: resume is then called with outer, and what it
// returns is returned to the entry code. Trap context.
//
//go:nosplit
func Abandon(r, outer *Regs, resume func(*Regs) bool) {
	top := uintptr(unsafe.Pointer(outer))
	cpuOf(r).abandon(r, top)
	// CALLGO's stack: spill slot of two words, then the return address.
	r.SP = uint64(top - 24)
	r.PC = uint64(**(**uintptr)(unsafe.Pointer(&resume)))
	r.DX = uint64(*(*uintptr)(unsafe.Pointer(&resume)))
	r.AX = uint64(top)
}

// abandon makes r, an exception in code on the trap stack below top, leave that code:
// whatever it has saved is restored.
//
//go:nosplit
func (c *cpu) abandon(r *Regs, top uintptr) {
	if area := c.outermostSaved(top); area != 0 {
		restoreSaved(area)
	}
	r.R14 = uint64(c.trapG)
	r.G = c.trapG
	r.Flags &^= FlagIF | FlagTF | FlagDF
}

// HookThrow makes what the runtime does before it ends the program because of the
// code that runs be an undefined instruction, if that code runs on the trap stack:
// see Thrown. Goroutine context, when traps are installed.
func HookThrow() {
	if goruntime.HookThrow != nil {
		goruntime.HookThrow(throwing)
	}
}

// Thrown reports whether r is the undefined instruction of HookThrow. To let the
// program end, Unthrow and return. Trap context.
//
//go:nosplit
func Thrown(r *Regs) bool { return uintptr(r.PC) == throwCode }

// ThrowReason returns why the program is going to end, if Thrown. The string is
// valid until r's handler returns. Trap context.
func ThrowReason(r *Regs) string { return unsafe.String(at[byte](uintptr(r.AX)), int(r.BX)) }

// Unthrow lets the code go on that Thrown recognized. Trap context.
//
//go:nosplit
func Unthrow(r *Regs) { r.PC += 2 }
