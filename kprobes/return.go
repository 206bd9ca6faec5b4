package kprobes

import "tamaprobe/arch/amd64"

// The way of a call that is followed to its return. A goroutine's instances form a
// list, the innermost call's first, whose head is in its g. It is changed only in the trap
// path of the processor that runs the goroutine, or when that has ended.
//
// If a function has nothing but one kretprobe without an entry handler, its detour's machine code
// does what enterCall does (amd64.Follow). The return is always the trampoline's.

// enterCall is the pre handler of kretprobes. Guarded.
//
//go:nosplit
func enterCall(p *Kprobe, r *amd64.Regs) bool {
	rp := kretprobeOf(p)
	c := cpuOf(r)
	slot, distance, ok := amd64.ReturnSlot(r)
	if !ok {
		c.count(p).lost++
		return false
	}
	head := returnsOf(r.G)
	if *head != 0 && head.get().call.Distance >= distance {
		c.dropDead(head, distance, *slot == trampolineAddr)
	}
	ri := instanceOf(rp.returns.Take())
	if ri == nil {
		c.count(p).lost++
		return false
	}
	ri.call.Ret = *slot
	ri.call.Distance = distance
	if rp.EntryHandler != nil {
		c.Instance = uintptr(refTo(ri))
		skip := rp.EntryHandler(ri, r)
		c.Instance = 0
		if skip {
			ri.call.Put()
			c.count(p).skipped++
			return false
		}
	}
	ri.call.Outer = uintptr(*head)
	*head = refTo(ri)
	*slot = trampolineAddr
	return false
}

// dropDead gives back the instances of calls that cannot return any more: their slots are
// below the one at distance, or in its place, unless that holds the trampoline's address:
// then they are calls that ended in a jump to this function.
//
//go:nosplit
func (c *cpu) dropDead(head *ref[KretprobeInstance], distance uintptr, same bool) {
	for *head != 0 {
		ri := head.get()
		if ri.call.Distance < distance || ri.call.Distance == distance && same {
			return
		}
		*head = ref[KretprobeInstance](ri.call.Outer)
		c.count(&ri.rp.Kprobe).abandoned++
		ri.call.Put()
	}
}

// dropEntry gives back the instance of an entry handler that is abandoned.
//
//go:nosplit
func (c *cpu) dropEntry() {
	if c.Instance != 0 {
		ri := ref[KretprobeInstance](c.Instance).get()
		c.Instance = 0
		ri.call.Put()
		c.count(&ri.rp.Kprobe).skipped++
	}
}

// isTrampoline reports whether l is what is hit while a return handler runs.
//
//go:nosplit
func (l *probeList) isTrampoline() bool { return l.detour != nil && l.detour == trampoline }

var findInstanceFunc = findInstance

// findInstance is called by the trampoline if the goroutine's first instance is not the one
// that returns. Guarded.
//
//go:nosplit
func findInstance(r *amd64.Regs) {
	head := returnsOf(r.G)
	distance := amd64.StackHi(r) - (uintptr(r.SP) - 8)
	cpuOf(r).dropDead(head, distance, true)
	if *head == 0 || head.get().call.Distance != distance {
		amd64.Fatal(r) // nobody replaced this return address
	}
}

// realReturn is called by the runtime when it reads the trampoline's address in a return
// slot of g's stack.
func realReturn(g, distance uintptr) uintptr {
	for at := *returnsOf(g); at != 0; at = ref[KretprobeInstance](at.get().call.Outer) {
		if call := &at.get().call; call.Distance == distance && call.Ret != trampolineAddr {
			return call.Ret
		}
	}
	return trampolineAddr // which the runtime will complain about
}

// noReturn is called by the runtime when the calls of a goroutine further than distance from
// the high end of its stack will not return.
func noReturn(g, distance uintptr) {
	head := returnsOf(g)
	for *head != 0 {
		ri := head.get()
		if ri.call.Distance <= distance {
			return
		}
		*head = ref[KretprobeInstance](ri.call.Outer)
		ri.rp.ended.Add(1)
		ri.call.Put()
	}
}

// ReturnAddress returns the address that the function at whose entry r is returns to, also if a
// return probe has replaced it. Handler context.
func ReturnAddress(r *amd64.Regs) uintptr {
	slot, distance, ok := amd64.ReturnSlot(r)
	if !ok {
		return 0
	}
	if addr := *slot; addr != trampolineAddr || addr == 0 {
		return addr
	}
	return realReturn(r.G, distance)
}

// ReturnsTo returns the address that a function returns to, for the handler of one of its return
// probes: r.PC, unless other return probes of the same call come first. Handler context.
func ReturnsTo(r *amd64.Regs) uintptr {
	if uintptr(r.PC) != trampolineAddr {
		return uintptr(r.PC)
	}
	return realReturn(r.G, amd64.StackHi(r)-(uintptr(r.SP)-8))
}
