// Package kprobes puts probes on the running kernel's own instructions, the way
// Linux kprobes do.
//
// A probe is registered at an address or symbol. When a processor is about to
// execute the instruction there, the probe's pre handler is called with the
// registers; then the instruction is executed; then the post handler is called, if
// there is one. Any number of probes can share an instruction; their handlers run
// in the order of registration.
//
// # Handlers
//
// Handlers run on the trap stack of the processor that hit the probe, with
// interrupts disabled, on all processors at the same time. They may read and
// change registers and memory. They must not block, allocate, or store pointers
// into the heap, and have about 20 KiB of stack.
//
// A handler that breaks these rules, or faults, is abandoned where it is: its probe
// is disabled, the failure is logged with a traceback, and the kernel and the probed
// code go on. What cannot be noticed is a pointer stored into the heap
// while the garbage collector runs. What the handler had locked stays locked.
//
// It makes no difference to a handler whether the probe was optimized (FlagOptimized):
// hit by a jump instead of a breakpoint.
//
// A probe that is hit while another one's handler runs on the same processor
// misses: the instruction is executed, the handlers are not called, and Nmissed
// counts. So handlers may call functions that are probed.
//
// # Counting
//
// Every execution of a probed instruction counts once for every enabled probe
// there: as handled or as missed. A function's entry counts once for a call, also
// when the stack has to grow there and the function starts over.
//
// The package knows no instructions: see package arch/amd64.
package kprobes

import (
	"sync/atomic"
	"unsafe"

	"tamaprobe/arch/amd64"
)

// A Kprobe is a probe at one instruction. The exported fields are set before it is
// registered, and not changed while it is.
type Kprobe struct {
	// Where: either Addr, or Symbol and Offset from it. Register sets Addr.
	Symbol string
	Offset uintptr
	Addr   uintptr

	// PreHandler is called before the instruction is executed, with r.PC its
	// address. It returns whether it has changed r.PC: execution then goes on
	// there, the instruction is not executed, and no further handler is called.
	PreHandler func(p *Kprobe, r *amd64.Regs) bool

	// PostHandler is called after the instruction was executed. flags is 0.
	PostHandler func(p *Kprobe, r *amd64.Regs, flags uint64)

	// FaultHandler is called for an exception in one of this probe's handlers,
	// with the registers where it happened, and for one that the probed
	// instruction causes, as if that had been executed in its place. It
	// returns whether it dealt with it: execution then goes on with the
	// registers as they are left.
	FaultHandler func(p *Kprobe, r *amd64.Regs, vector amd64.Vector) bool

	// Flags: FlagDisabled registers the probe without enabling it.
	Flags Flags

	site *site // while it is registered; guarded by mu

	disabled bool // guarded by mu
	faulted  bool // a handler failed; guarded by mu

	// off is 1 after a handler failed: hits ignore the probe from then on.
	off uint32

	use use // what the pre handler may do

	// pre and post are PreHandler and PostHandler as hits call them; pre is never
	// nil.
	pre  func(p *Kprobe, r *amd64.Regs) bool
	post func(p *Kprobe, r *amd64.Regs, flags uint64)

	// mirror is a jprobe's mirror function; argsSize what to copy for it.
	mirror   unsafe.Pointer
	argsSize uintptr

	// isReturn: it is a part of a Kretprobe.
	isReturn bool

	// entryCode is the address of a kretprobe's entry handler; ended counts calls
	// that the end of their goroutine abandoned.
	entryCode uintptr
	ended     atomic.Uint64

	// counts are by processor, so that none waits for another's cache line.
	counts []count
}

// Flags are a probe's state.
type Flags uint32

const (
	FlagDisabled  Flags = 1 << iota // handlers are not called, and hits not counted
	FlagFaulted                     // disabled because a handler failed; never set by the user
	FlagOptimized                   // hit by a jump, not a breakpoint; never set by the user
)

// State returns the probe's flags as they are now: the Flags field is only what it is
// registered with. Goroutine context.
func (p *Kprobe) State() (f Flags) {
	mu.Lock()
	defer mu.Unlock()
	reportFailures()
	if p.disabled {
		f |= FlagDisabled
	}
	if p.faulted {
		f |= FlagFaulted
	}
	if p.site != nil && p.site.detour != nil && !p.disabled {
		f |= FlagOptimized
	}
	return f
}

func noPreHandler(*Kprobe, *amd64.Regs) bool { return false }

// A count is one processor's. Its fields are written by that processor alone, in
// the trap path, each by a single instruction.
type count struct {
	handled, missed uint64

	// Of a kretprobe.
	returned, abandoned, skipped, lost uint64

	_ [16]byte
}

// Nhit returns how often the probed instruction was executed while the probe was
// enabled, handled or missed. Any context.
func (p *Kprobe) Nhit() uint64 {
	handled, missed := p.sum()
	return handled + missed
}

// Nmissed returns how many of these missed the handlers. Any context.
func (p *Kprobe) Nmissed() uint64 {
	_, missed := p.sum()
	return missed
}

func (p *Kprobe) sum() (handled, missed uint64) {
	for i := range p.counts {
		handled += atomic.LoadUint64(&p.counts[i].handled)
		missed += atomic.LoadUint64(&p.counts[i].missed)
	}
	return handled, missed
}
