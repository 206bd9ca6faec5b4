package amd64

import "unsafe"

// Entry points of exceptions, in entry_amd64.s. A Go reference to one of them
// would be to an ABI wrapper; entries holds the addresses of the code itself.

// entries are the entry points of vectors 0-31. The processor arrives there
// with interrupts disabled, on the stack of the interrupted code or, for the
// three vectors with one, on the stack of its interrupt stack table entry. The
// stack holds SS, RSP, RFLAGS, CS, RIP and for some vectors an error code.
var entries [NumExceptions]uintptr

// trapHandler is called by the entry code.
var trapHandler func(*Regs)

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

// TrapPath returns the addresses of the code that runs for every breakpoint and
// debug exception, of which there is no telling from the calls in other code:
// entry points, and functions that are called by address. Goroutine context, when
// traps are installed.
func TrapPath() []uintptr {
	return []uintptr{
		entries[VectorDebug], entries[VectorBreakpoint],
		**(**uintptr)(unsafe.Pointer(&trapHandler)),
		tryLoad64Code, tryLoadFailedCode,
	}
}
