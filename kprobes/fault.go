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
	if c.Guard != 0 && !c.stepping && amd64.Inside(r, c.top()) {
		return c.handlerFault(r)
	}
	if amd64.Thrown(r) {
		amd64.Unthrow(r) // let the runtime end the program
		return true
	}
	d, copied := amd64.InCopy(r)
	if !copied {
		return false
	}
	if c.stepping {
		c.stepping = false
		r.Flags = r.Flags&^(amd64.FlagIF|amd64.FlagTF) | c.flags&(amd64.FlagIF|amd64.FlagTF)
		c.handle(r)
		return c.instructionFault(r)
	}
	l := lookup(uintptr(r.PC))
	switch {
	case c.Guard != 0:
		return false // the trap path itself
	case l != nil:
		c.begin(l, r)
		c.instructionFault(r)
	default: // unregistered meanwhile, or further inside what a jump replaced
		amd64.Deliver(r)
	}
	if d != nil {
		d.Moved(r)
	}
	return true
}

// instructionFault deals with an exception of the probed instruction: r is that, as
// if it had happened in its place. Guarded; drops the guard.
//
//go:nosplit
func (c *cpu) instructionFault(r *amd64.Regs) bool {
	l := c.list()
	if l.faults {
		return c.faultHandlers(r, l.first())
	}
	c.Guard = 0
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
		c.Current = uintptr(refTo(at))
		at = next(at)
		if p.FaultHandler == nil || p.off != 0 || !faultSaved(p, r) {
			continue
		}
		if uintptr(r.PC) == c.point().Addr() && !again(c.point(), r) {
			at = c.list().first()
			continue
		}
		c.phase = phasePre
		c.Guard = 0
		return true
	}
	c.phase = phasePre
	c.Guard = 0
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
	p := *c.current()
	amd64.UseReserve(r, true)
	_, copied := amd64.InCopy(r)
	l := c.list()
	locks := ref[int32](c.LocksAt).get()
	if c.failing == failingNot && c.inDetour() && !l.locks {
		c.Locks = *locks // the handler takes none, but what follows may
	}
	if c.failing == failingNot && c.phase != phaseFault && p.FaultHandler != nil && !amd64.Thrown(r) {
		c.failing = failingFix
		if fixed(p, r, copied) {
			c.failing = failingNot
			amd64.UseReserve(r, false)
			return true
		}
	}
	p.off = 1
	if rp := p.kretprobe(); rp != nil {
		rp.returns.Off[offFailed] = 1
	}
	if c.failing != failingRecord {
		c.failing = failingRecord
		recordFailureSaved(c, p, r)
	} else {
		c.unrecorded++
	}
	*locks = c.Locks
	if !l.isTrampoline() {
		c.dropEntry()
	}
	if c.inDetour() {
		c.failing = failingNot
		c.phase = phasePre
		amd64.UseReserve(r, false)
		l.detour.AbandonDetour(r, c.Top, l.index(c.current()))
	} else {
		amd64.Abandon(r, ref[amd64.Regs](c.Regs).get(), resumeHit)
	}
	return true
}

// top is the end of the part of the trap stack that handlers use. Guarded.
//
//go:nosplit
func (c *cpu) top() uintptr {
	if c.inDetour() {
		return c.Top
	}
	return c.Regs // they lie on it
}

// inDetour reports whether a detour called the handler. Guarded.
//
//go:nosplit
func (c *cpu) inDetour() bool { return amd64.InDetour(ref[amd64.Regs](c.Regs).get()) }

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
	switch at := next(c.current()); c.phase {
	case phasePost:
		return c.postHandlers(r, at)
	case phaseFault:
		return c.faultHandlers(r, at)
	default:
		return c.preHandlers(r, at)
	}
}
