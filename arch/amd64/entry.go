package amd64

import (
	"unsafe"

	"tamaprobe/arch/amd64/inst"
)

// Entry points of exceptions, in entry_amd64.s. A Go reference to one of them
// would be to an ABI wrapper; entries holds the addresses of the code itself.

// entries are the entry points of vectors 0-31. The processor arrives there
// with interrupts disabled, on the stack of the interrupted code or, for the
// three vectors with one, on the stack of its interrupt stack table entry. The
// stack holds SS, RSP, RFLAGS, CS, RIP and for some vectors an error code.
var entries [NumExceptions]uintptr

// trapHandler is called by the entry code.
var trapHandler func(*Regs)

// breakpointHandler and debugHandler are called first for their exceptions.
var (
	breakpointHandler = func(*Regs, uintptr) bool { return false }
	debugHandler      = func(*Regs, uintptr) bool { return false }
)

// SetProbeHandlers sets the functions that the entry code calls first for
// breakpoints and debug exceptions. For a breakpoint r.PC is the address of the INT3,
// not the one behind it. Their second argument is the address of what HitStateOf returns.
// They return whether they dealt with it; if not, Install's handler is called. They and
// what they call must not use SSE registers, except in CallSaved. Goroutine context.
func SetProbeHandlers(breakpoint, debug func(r *Regs, state uintptr) bool) {
	breakpointHandler, debugHandler = breakpoint, debug
	SyncCores()
}

// Deliver treats r as the exception that r.Vector says, as if it had just been
// taken. Trap context.
//
//go:nosplit
func Deliver(r *Regs) { trapHandler(r) }

// fatalHandler is called for what cannot be returned from, on the report stack
// with g0.
//
//lint:ignore U1000 assembly uses it
var fatalHandler func(*Regs)

// SetFatalHandler sets the function that is called for a double fault and a
// machine check, and that Fatal calls. It must not return.
func SetFatalHandler(f func(*Regs)) { fatalHandler = f }

// Fatal abandons the interrupted code and calls the fatal handler on the
// processor's report stack, as the M's g0, where Go code may allocate. The
// registers stay where they are. Trap context; does not return.
func Fatal(r *Regs)

// previousNMI is the handler of non-maskable interrupts that was there before:
// TamaGo's, which it needs to serve interrupts.
//
//lint:ignore U1000 assembly uses it
var previousNMI uintptr

// ReportNMI says what a non-maskable interrupt does: a fatal report, or what
// TamaGo does with it.
func ReportNMI(report bool) {
	reportNMI = 0
	if report {
		reportNMI = 1
	}
}

//lint:ignore U1000 assembly uses it
var reportNMI uint32

// apicID returns the current processor's initial APIC ID.
//
//go:nosplit
func apicID() uint8 {
	_, b, _, _ := cpuid(1, 0)
	return uint8(b >> 24)
}

// loadTables loads GS base, GDT, TSS and IDT, and enables machine checks.
//
//go:noescape
func loadTables(c *cpu, gdt *[gdtEntries]uint64, idt *[256]gate)

func currentIDT() (base, limit uintptr)
func cpuid(eax, ecx uint32) (a, b, c, d uint32)

// UnguardedCode returns the addresses of code that runs for every breakpoint and
// debug exception, or in a context where no exception may come, and of which there is
// no telling from the calls in other code: entry points, and functions that are
// called by address. Goroutine context, when traps are installed.
func UnguardedCode() (roots []Root) {
	const nmi = "runs on the stack for non-maskable interrupts, which may interrupt the trap path"
	roots = []Root{
		{entries[VectorDebug], "the entry of debug exceptions", true},
		{entries[VectorBreakpoint], "the entry of breakpoints", true},
		{entries[VectorNMI], nmi, true},
		{codeOf(&breakpointHandler), "handles breakpoints before the reentrancy guard is set", true},
		{codeOf(&debugHandler), "handles debug exceptions when the reentrancy guard is dropped", true},
		{tryLoad64Code, "emulation of an instruction reads memory with it", true},
		{tryLoadFailedCode, "emulation of an instruction reads memory with it", true},
		{compareFlagsCode, "emulates the stack check at function entries", true},
		// TamaGo's entry points of all vectors are one function, jumps to the
		// code proper.
		{previousNMI, nmi, false},
	}
	if i, err := inst.Decode(OriginalText(previousNMI)); err == nil && i.Flow == inst.FlowJmp {
		roots = append(roots, Root{i.Target(previousNMI), nmi, true})
	}
	return roots
}

// A Root is the address of code, with the reason why it must not be probed.
type Root struct {
	Addr   uintptr
	Reason string
	Calls  bool // nor must what its function calls
}

func codeOf[F any](f *F) uintptr { return **(**uintptr)(unsafe.Pointer(f)) }
