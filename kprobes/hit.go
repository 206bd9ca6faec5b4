package kprobes

import (
	"unsafe"

	"tamaprobe/arch/amd64"
)

// The way of a hit: the entry code calls breakpoint, and after a single step debug.
//
// The reentrancy guard is cpu.Guard: while it is set, a hit on the same processor
// misses. What runs before it is set and after it is dropped must not be probed
// itself: that is found by following the calls in the machine code from the entry
// on, see blacklist.go. None of it checks the stack (nosplit): a handler may have used up
// the trap stack. None uses SSE registers, which hold the interrupted code's values.

// A cpu is the state of a processor between a hit and its end. Detours use its first
// part. It must not hold pointers that the garbage collector knows: storing one could
// need a write barrier, which the trap path must not run. What it refers to stays
// reachable through the table until no processor is in the trap path.
type cpu struct {
	// Guard is the probeList being hit. Current is where in the list the probe
	// stands whose handler runs.
	amd64.HitState
	phase    phase
	stepping bool // the instruction is being single-stepped
	failing  failing
	flags    uint64
	guard    amd64.Guard // what Point.Enter returned

	unrecorded uint64 // failures of handlers
}

var _ [amd64.HitStateSize - unsafe.Sizeof(cpu{})]byte // it fits

// list is what is being hit, if Guard is set.
//
//go:nosplit
func (c *cpu) list() *probeList { return ref[probeList](c.Guard).get() }

// current is where in the list the probe stands whose handler runs.
//
//go:nosplit
func (c *cpu) current() **Kprobe { return ref[*Kprobe](c.Current).get() }

// A phase says which handlers run.
type phase uint8

const (
	phasePre phase = iota
	phasePost
	phaseFault  // of an exception of the probed instruction
	phaseReturn // only in records of failures
)

func (p phase) String() string { return [...]string{"pre", "post", "fault", "return"}[p] }

// cpus are the processors' states, by number.
var cpus [amd64.MaxCPU]ref[cpu]

// cpuOf returns the state of r's processor.
//
//go:nosplit
func cpuOf(r *amd64.Regs) *cpu { return cpus[r.CPU%amd64.MaxCPU].get() }

// breakpoint is called for every INT3, with r.PC its address. Trap context,
// unguarded.
//
// Every instruction counts here: preHandlers is spelled out. For the same reason it keeps little in variables: the handlers preserve no
// registers.
//
//go:nosplit
func breakpoint(r *amd64.Regs, state uintptr) bool {
	l := lookup(uintptr(r.PC))
	if l == nil {
		return amd64.Poking(r)
	}
	c := ref[cpu](state).get()
	if l.entry {
		guard, counts := l.site.point.Enter(r)
		if !counts {
			l.site.point.Restart(r, guard)
			return true
		}
		if c.Guard != 0 {
			return c.miss(l, r, guard)
		}
		c.guard = guard
	} else if c.Guard != 0 {
		return c.miss(l, r, 0)
	}
	if pc := l.called; pc != 0 {
		r.PC = uint64(pc)
		return true
	}
	c.begin(l, r)
	for at := l.first(); ; at = next(c.current()) {
		p := *at
		if p == nil {
			break
		}
		c.Current = uintptr(refTo(at))
		if p.off != 0 {
			continue
		}
		c.count(p).handled++
		if p.pre(p, r) && c.leaves(r) {
			return true
		}
	}
	l = c.list()
	if pc := l.resume; pc != 0 {
		r.PC = uint64(pc)
		c.Guard = 0
		return true
	}
	if l.step {
		c.stepCopy(l, r)
		return true
	}
	return c.execute(l, r)
}

// miss counts a hit inside a handler.
//
//go:nosplit
func (c *cpu) miss(l *probeList, r *amd64.Regs, guard amd64.Guard) bool {
	c.missed(l.first())
	if !l.site.point.Resume(r, guard) {
		amd64.Deliver(r)
	}
	return true
}

// begin sets the reentrancy guard, and remembers what resumeHit needs.
//
//go:nosplit
func (c *cpu) begin(l *probeList, r *amd64.Regs) {
	c.Guard = uintptr(refTo(l))
	c.handle(r)
}

// handle remembers what it takes to abandon a handler for r.
//
//go:nosplit
func (c *cpu) handle(r *amd64.Regs) {
	c.Regs = uintptr(refTo(r))
	c.Locks = *ref[int32](c.LocksAt).get()
}

// point is the instruction that is hit. Guarded.
//
//go:nosplit
func (c *cpu) point() *amd64.Point { return &c.list().site.point }

// preHandlers calls the pre handlers from at on, and lets the instruction be executed.
// Guarded; drops the guard unless the instruction is stepped.
//
//go:nosplit
func (c *cpu) preHandlers(r *amd64.Regs, at **Kprobe) bool {
	for ; ; at = next(c.current()) {
		p := *at
		if p == nil {
			return c.execute(c.list(), r)
		}
		c.Current = uintptr(refTo(at))
		if p.off != 0 {
			continue
		}
		c.count(p).handled++
		if p.pre(p, r) && c.leaves(r) {
			return true
		}
	}
}

// leaves ends the hit if execution goes on elsewhere, after a handler said so, and
// reports that. With the probed instruction it cannot, that would be hit again.
// Guarded; drops the guard.
//
//go:nosplit
func (c *cpu) leaves(r *amd64.Regs) bool {
	if uintptr(r.PC) == c.point().Addr() {
		return false
	}
	c.missed(next(c.current())) // the others do not see this hit
	c.Guard = 0
	return true
}

// execute lets the instruction be executed. Guarded; drops the guard unless it is
// stepped.
//
//go:nosplit
func (c *cpu) execute(l *probeList, r *amd64.Regs) bool {
	if l.post {
		return c.step(l, r)
	}
	if !l.site.point.Resume(r, c.guard) {
		return c.instructionFault(r)
	}
	c.Guard = 0
	return true
}

// step lets the instruction be executed with post handlers waiting for its end.
// Guarded.
//
//go:nosplit
func (c *cpu) step(l *probeList, r *amd64.Regs) bool {
	if l.step {
		c.stepCopy(l, r)
		return true
	}
	c.flags = r.Flags
	done, ok := l.site.point.Step(r, c.guard)
	switch {
	case !ok:
		return c.instructionFault(r)
	case done:
		return c.postHandlers(r, l.first())
	}
	c.stepping = true
	return true
}

// stepCopy is step for a plain instruction.
//
//go:nosplit
func (c *cpu) stepCopy(l *probeList, r *amd64.Regs) {
	c.flags = r.Flags
	c.stepping = true
	l.site.point.StepCopy(r)
}

// debug is called for every debug exception. Trap context; guarded if it is the
// end of a single step.
//
//go:nosplit
func debug(r *amd64.Regs, state uintptr) bool {
	c := ref[cpu](state).get()
	if !c.stepping {
		return false
	}
	l := c.list()
	if !l.site.point.Stepped(r, c.flags) {
		return true
	}
	c.stepping = false
	c.handle(r)
	return c.postHandlers(r, l.first())
}

// postHandlers calls the post handlers from at on. Guarded; drops the guard.
//
//go:nosplit
func (c *cpu) postHandlers(r *amd64.Regs, at **Kprobe) bool {
	c.phase = phasePost
	for ; ; at = next(c.current()) {
		p := *at
		if p == nil {
			break
		}
		c.Current = uintptr(refTo(at))
		if p.post != nil && p.off == 0 {
			p.post(p, r, 0)
		}
	}
	c.phase = phasePre
	if l := c.list(); !l.step {
		l.site.point.Next(r, c.guard)
	}
	c.Guard = 0
	return true
}

// missed counts a missed hit for the probes from at on.
//
//go:nosplit
func (c *cpu) missed(at **Kprobe) {
	for ; *at != nil; at = next(at) {
		if p := *at; p.off == 0 {
			c.count(p).missed++
		}
	}
}
