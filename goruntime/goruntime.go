// Package goruntime is what Tamaprobe needs from the Go runtime beyond package
// runtime/goos: the contract that a Go toolchain for bare metal has to fill in.
//
// The variables are set before Tamaprobe is used. With the stock toolchain and
// Tamaprobe's overlay, package boot/board does so; another runtime does it in
// its own board package. Nothing here may block or allocate unless it says so.
package goruntime

var (
	// SignalG returns the current M's gsignal as an address. It is a g whose
	// stack (32 KiB) nothing else uses, and which the runtime treats as the
	// system's: systemstack stays on it, allocation on it is refused. An M
	// must stay on one processor for good. Called with interrupts enabled
	// or disabled; must not yield.
	SignalG func() (g uintptr)

	// SystemG returns the current M's g0.
	SystemG func() (g uintptr)

	// Locks returns the address of the current M's count of locks, an int32:
	// code that is abandoned may have left it too high.
	Locks func() uintptr

	// HookThrow sets a function that the runtime calls with the reason before
	// it ends the program because of what the current code did: a fatal error,
	// a panic on a system stack, an overrun of gsignal's stack, an allocation
	// or blocking there, or use of a sync.Pool. The hook must not grow the stack. nil if the runtime
	// has no such hook: a handler that does one of these then ends the machine.
	HookThrow func(hook func(reason string))

	// HookReturns tells the runtime that return addresses on stacks may be
	// replaced by trampoline. Wherever it reads one, it is to ask real for the one
	// that was at that distance from the high end of g's stack. unwound is called
	// when calls further than distance from there never return, because a
	// goroutine ends whose Returns is not 0, or a panic has been recovered above
	// them. nil if the runtime can't: there are then no return probes.
	HookReturns func(trampoline uintptr, real func(g, distance uintptr) uintptr, unwound func(g, distance uintptr))

	// Returns returns where g has a word for return probes, 0 in a new goroutine.
	// Called in trap context.
	Returns func(g uintptr) *uintptr

	// Callers fills pcs with return addresses on the stack of g, from pc and
	// sp on, in the form of runtime.Callers, and returns how many there are. It
	// must not allocate. Called in trap context.
	Callers func(pc, sp, g uintptr, pcs []uintptr) int

	// Goid returns the id of the goroutine that g is or works for: for a g0
	// or gsignal the M's current goroutine, 0 if there is none.
	Goid func(g uintptr) uint64

	// StartPC returns the entry of the function that this goroutine began with, 0
	// if there is none.
	StartPC func(g uintptr) uintptr

	// Sigpanic prepares g, interrupted at pc with stack pointer sp, to panic
	// as after a Unix signal: it returns where and with which stack pointer
	// to continue. newpc is 0 if g cannot panic there: it runs the runtime's
	// own code, or holds one of its locks.
	Sigpanic func(g uintptr, sig uint32, code, addr, pc, sp uintptr) (newpc, newsp uintptr)

	// Exit ends the machine with an exit code. Any context.
	Exit func(code int32)

	// Traceback prints, with print, the stack of g from pc and sp on.
	Traceback func(pc, sp, g uintptr)
)

// Unix signal numbers and codes, for Sigpanic.
const (
	SIGFPE  = 8
	SIGSEGV = 11

	FPE_INTDIV  = 1
	SEGV_MAPERR = 1
)

// The start of the runtime's type g, which is known to the compiler and the
// linker and therefore does not change (runtime2.go, "offset known to liblink").
const (
	GStackLo     = 0
	GStackHi     = 8
	GStackguard0 = 16
	GStackguard1 = 24
)
