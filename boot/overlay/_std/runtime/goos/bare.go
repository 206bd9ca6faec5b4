package goos

import _ "unsafe" // for go:linkname

// StartInfo is the physical address of the PVH start info, 0 if the image was
// not booted by PVH.
//
//go:linkname StartInfo
var StartInfo uintptr

// What the board's entry code leaves for the runtime, at physical addresses in
// the low memory that TamaGo does not use.
const (
	// StartInfoMailbox holds the PVH start info's address. It lies in the
	// page of the application processors' boot stack, far below its top.
	StartInfoMailbox = 0x8000

	// PageZeroCopy is where the contents of page 0 are: the boot loader may
	// have put data there, and TamaGo does not map the page.
	PageZeroCopy = 0xf000
)

// LowMemory returns where to read what a boot loader put at addr.
//
//go:nosplit
func LowMemory(addr uintptr) uintptr {
	if addr < 4096 {
		return addr + PageZeroCopy
	}
	return addr
}

var (
	// Online is called on every processor that Task started, on its system
	// stack, before it runs goroutines. No allocation.
	Online func()

	// Kick is used instead of Wake when set. It must not block or yield:
	// the runtime calls it on system stacks. (TamaGo's Wake may yield.)
	Kick func(procid uint64)

	// WallClock is the Unix time in nanoseconds at Nanotime 0.
	WallClock int64
)

// Signal g, goroutine identity, panics and tracebacks for code that handles
// exceptions. Defined by the runtime.

// SignalG returns the current m's gsignal: a g with a stack of its own (32 KiB)
// that nothing uses in the absence of signals.
//
//go:linkname SignalG
func SignalG() uintptr

// SystemG returns the current m's g0.
//
//go:linkname SystemG
func SystemG() uintptr

// Goid returns the id of the goroutine that gp is or works for: of gp itself,
// or, for a g0 or gsignal, of the m's current goroutine. 0 when there is none.
// It may be called on any stack.
//
//go:linkname Goid
func Goid(gp uintptr) uint64

// StartPC returns the entry of the function that this goroutine began with, 0 when
// there is none.
//
//go:linkname StartPC
func StartPC(gp uintptr) uintptr

// Sigpanic prepares gp, interrupted at pc with stack pointer sp, for a run-time
// panic as after the Unix signal sig with the given code and address. It
// returns where and with which stack pointer to continue, 0 if gp cannot panic
// now.
//
//go:linkname Sigpanic
func Sigpanic(gp uintptr, sig uint32, code, addr, pc, sp uintptr) (newpc, newsp uintptr)

// Locks returns the address of the current m's count of locks.
//
//go:linkname Locks
func Locks() uintptr

// Throw, when not nil, is called with the reason before the runtime ends the program
// because of the current code, on whatever stack that runs; for the end by an
// uncaught panic of a goroutine it is not. If it returns, the program
// ends. It must not grow the stack.
var Throw func(reason string)

// Return probes. Trampoline, when not 0, is what replaces return addresses; Return is then
// called for the one that is replaced in gp's stack at a distance from the stack's high end;
// NoReturn when the calls further than distance from there never return, because gp ends or a
// panic has been recovered above them. They must not allocate.
var (
	Trampoline uintptr
	Return     func(gp, distance uintptr) uintptr
	NoReturn   func(gp, distance uintptr)
)

// Returns returns where gp has a word for return probes: 0 in a new goroutine.
//
//go:linkname Returns
func Returns(gp uintptr) *uintptr

// Callers fills pcs with the return addresses on the stack of gp, from pc and sp on,
// in the form of runtime.Callers, and returns how many there are. It stops
// where it can't go on. It does not allocate.
//
//go:linkname Callers
func Callers(pc, sp, gp uintptr, pcs []uintptr) int

// Traceback prints the stack of gp from pc and sp on, as the runtime does for
// a fatal error.
//
//go:linkname Traceback
func Traceback(pc, sp, gp uintptr)
