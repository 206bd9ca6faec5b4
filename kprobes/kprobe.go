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
// into the heap, and have about 24 KiB of stack.
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

	site *site // while it is registered

	// counts are by processor, so that none waits for another's cache line.
	counts []count
}

// A count is one processor's. Its fields are written by that processor alone, in
// the trap path, each by a single instruction.
type count struct {
	handled, missed uint64
	_               [48]byte
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
