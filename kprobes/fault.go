package kprobes

import (
	"tamaprobe/arch/amd64"
)

// Exceptions that handlers and probed instructions cause.

// faultVectors are the exceptions that instructions can cause.
var faultVectors = []amd64.Vector{
	amd64.VectorDivideError, amd64.VectorOverflow, amd64.VectorBoundRange, amd64.VectorInvalidOpcode,
	amd64.VectorDeviceNotAvailable, amd64.VectorSegmentNotPresent, amd64.VectorStackFault,
	amd64.VectorGeneralProtection, amd64.VectorPageFault, amd64.VectorX87, amd64.VectorAlignmentCheck,
	amd64.VectorSIMD, amd64.VectorControlProtection,
}

// fault is called for all of them. Trap context.
//
//go:nosplit
func fault(r *amd64.Regs) bool {
	c := cpuOf(r)
	if c.list != 0 && !c.stepping && amd64.Inside(r, c.regs.get()) {
		return c.handlerFault(r)
	}
	if amd64.Thrown(r) {
		amd64.Unthrow(r) // let the runtime end the program
		return true
	}
	if !amd64.InCopy(r) {
		return false
	}
	if c.stepping {
		c.stepping = false
		r.Flags = r.Flags&^(amd64.FlagIF|amd64.FlagTF) | c.flags&(amd64.FlagIF|amd64.FlagTF)
		c.begin(c.list.get(), r)
		return c.instructionFault(r)
	}
	l := lookup(uintptr(r.PC))
	if l == nil || c.list != 0 {
		return false // unregistered meanwhile, or the trap path itself
	}
	c.begin(l, r)
	return c.instructionFault(r)
}

// instructionFault deals with an exception of the probed instruction: r is that, as
// if it had happened in its place. Guarded; drops the guard.
//
//go:nosplit
func (c *cpu) instructionFault(r *amd64.Regs) bool {
	l := c.list.get()
	if l.faults {
		return c.faultHandlers(r, l.first())
	}
	c.list = 0
	amd64.Deliver(r)
	return true
}

// faultHandlers calls the fault handlers from at on, until one deals with the exception.
// Guarded; drops the guard.
//
//go:nosplit
func (c *cpu) faultHandlers(r *amd64.Regs, at **Kprobe) bool {
	c.phase = phaseFault
	for *at != nil {
		p := *at
		c.current = refTo(at)
		at = next(at)
		if p.FaultHandler == nil || p.off != 0 || !faultSaved(p, r) {
			continue
		}
		if uintptr(r.PC) == c.point().Addr() && !again(c.point(), r) {
			at = c.list.get().first()
			continue
		}
		c.phase = phasePre
		c.list = 0
		return true
	}
	c.phase = phasePre
	c.list = 0
	amd64.Deliver(r)
	return true
}

// again lets an instruction that caused an exception be executed once more, without
// another hit.
//
//go:nosplit
func again(p *amd64.Point, r *amd64.Regs) (ok bool) {
	guard, counts := p.Enter(r)
	if !counts {
		p.Restart(r, guard)
		return true
	}
	return p.Resume(r, guard)
}

// failing says how far an exception in a handler has been dealt with: what does that may
// itself fail.
type failing uint8

const (
	failingNot    failing = iota
	failingFix            // the fault handler runs
	failingRecord         // the failure is being recorded
)

// handlerFault deals with an exception in a handler. Guarded.
//
//go:nosplit
func (c *cpu) handlerFault(r *amd64.Regs) bool {
	p := *c.current.get()
	amd64.UseReserve(r, true)
	copied := amd64.InCopy(r)
	if c.failing == failingNot && c.phase != phaseFault && p.FaultHandler != nil && !amd64.Thrown(r) {
		c.failing = failingFix
		if fixed(p, r, copied) {
			c.failing = failingNot
			amd64.UseReserve(r, false)
			return true
		}
	}
	p.off = 1
	if c.failing != failingRecord {
		c.failing = failingRecord
		recordFailureSaved(c, p, r)
	} else {
		c.unrecorded++
	}
	*c.locksAt.get() = c.locks
	amd64.Abandon(r, c.regs.get(), resumeHit)
	return true
}

// fixed reports whether p's fault handler dealt with an exception in its other
// handlers; copied, in the copy of an instruction that a handler called.
//
//go:nosplit
func fixed(p *Kprobe, r *amd64.Regs, copied bool) bool {
	addr := uintptr(r.PC)
	if !faultSaved(p, r) {
		return false
	}
	if l := lookup(addr); copied && uintptr(r.PC) == addr && l != nil {
		again(&l.site.point, r)
	}
	return true
}

// resumeHit goes on with the hit r after a handler has been abandoned. It is called in
// place of what the entry code called. Guarded; drops the guard.
//
//go:nosplit
func resumeHit(r *amd64.Regs) bool {
	c := cpuOf(r)
	c.failing = failingNot
	amd64.UseReserve(r, false)
	switch at := next(c.current.get()); c.phase {
	case phasePost:
		return c.postHandlers(r, at)
	case phaseFault:
		return c.faultHandlers(r, at)
	default:
		return c.preHandlers(r, at)
	}
}
