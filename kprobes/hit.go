package kprobes

import (
	"tamaprobe/arch/amd64"
)

// The way of a hit: package trap calls breakpoint, and after a single step debug.
//
// The reentrancy guard is cpu.site: while it is set, a hit on the same processor
// misses. What runs before it is set and after it is dropped must not be probed
// itself. That is what breakpoint and debug call directly, found by following the
// calls in their machine code (see blacklist.go). What they do under the guard
// they call through the function values below, which is where that search stops.
var (
	runHandlers     = (*cpu).runHandlers
	runPostHandlers = (*cpu).runPostHandlers
)

// A cpu is the state of a processor between a hit and its end. It must not hold
// pointers that the garbage collector knows: storing one could need a write
// barrier, which the trap path must not run. What it refers to stays reachable
// through the table until no processor is in the trap path.
type cpu struct {
	site     ref[site] // the probes being hit: the reentrancy guard
	list     ref[probeList]
	stepping bool // the instruction is being single-stepped
	flags    uint64
	guard    amd64.Guard
	_        [88]byte // a cache line of its own, and the next one
}

var cpus [amd64.MaxCPU]cpu

// breakpoint is called for every INT3. Trap context, unguarded.
func breakpoint(r *amd64.Regs) bool {
	r.PC-- // of the INT3
	s := lookup(uintptr(r.PC))
	if s == nil {
		if amd64.Poking(r) {
			return true // gone, or going to be: execute what is there now
		}
		// It may have been registered since the first look.
		if s = lookup(uintptr(r.PC)); s == nil {
			r.PC++
			return false
		}
	}
	guard, counts := s.point.Enter(r)
	if !counts {
		s.point.Resume(r, guard)
		return true
	}
	c := &cpus[r.CPU%amd64.MaxCPU]
	if c.site != 0 {
		for _, p := range s.active.Load().probes {
			p.count(r.CPU).missed++
		}
		s.point.Resume(r, guard)
		return true
	}
	c.site = refTo(s)
	c.guard = guard
	if runHandlers(c, r) {
		s.point.Resume(r, guard)
	}
	if !c.stepping {
		c.site = 0
	}
	return true
}

// runHandlers calls the pre handlers, and if there are post handlers lets the
// instruction be executed. It reports whether the instruction is still to be
// executed, with no one waiting for its end. Guarded.
func (c *cpu) runHandlers(r *amd64.Regs) (resume bool) {
	s := c.site.get()
	list := s.active.Load()
	for i, p := range list.probes {
		p.count(r.CPU).handled++
		if p.PreHandler != nil && preHandler(p, r) {
			// The others do not see this hit.
			for _, p := range list.probes[i+1:] {
				p.count(r.CPU).missed++
			}
			return false
		}
	}
	if !list.post {
		return true
	}
	c.list = refTo(list)
	c.flags = r.Flags
	if s.point.Step(r, c.guard) {
		c.runPostHandlers(r)
	} else {
		c.stepping = true
	}
	return false
}

// debug is called for every debug exception. Trap context; guarded if it is the
// end of a single step.
func debug(r *amd64.Regs) bool {
	c := &cpus[r.CPU%amd64.MaxCPU]
	if !c.stepping {
		return false
	}
	if c.site.get().point.Stepped(r, c.flags) {
		c.stepping = false
		runPostHandlers(c, r)
		c.site = 0
	}
	return true
}

// runPostHandlers calls the post handlers. Guarded.
func (c *cpu) runPostHandlers(r *amd64.Regs) {
	for _, p := range c.list.get().probes {
		if p.PostHandler != nil {
			postHandler(p, r)
		}
	}
	c.site.get().point.Next(r, c.guard)
}
