package kprobes

import (
	"sync/atomic"

	"tamaprobe/arch/amd64"
)

// The way of a call that is followed to its return. A goroutine's instances form a
// list, the innermost call's first, whose head is in its g. It is changed only in the trap
// path of the processor that runs the goroutine, or when that has ended.

// enterCall is the pre handler of kretprobes. Guarded.
//
//go:nosplit
func enterCall(p *Kprobe, r *amd64.Regs) bool {
	rp := kretprobeOf(p)
	c := cpuOf(r)
	if c.instance != 0 {
		c.giveBack()
	}
	slot, distance, ok := amd64.ReturnSlot(r)
	if !ok {
		c.count(p).lost++
		return false
	}
	ri := rp.take()
	if ri == nil {
		c.count(p).lost++
		return false
	}
	head := returnsOf(r.G)
	if *head != 0 && head.get().distance >= distance {
		c.dropDead(head, distance, *slot == trampolineAddr)
	}
	ri.ret = *slot
	ri.distance = distance
	if rp.EntryHandler != nil {
		c.instance = refTo(ri)
		skip := rp.EntryHandler(ri, r)
		c.instance = 0
		if skip {
			rp.put(ri)
			c.count(p).skipped++
			return false
		}
	}
	ri.outer = *head
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
		if ri.distance < distance || ri.distance == distance && same {
			return
		}
		*head = ri.outer
		c.count(&ri.rp.Kprobe).abandoned++
		ri.rp.put(ri)
	}
}

// giveBack takes care of the instance of a handler that was abandoned.
//
//go:nosplit
func (c *cpu) giveBack() {
	if c.instance != 0 {
		ri := c.instance.get()
		c.instance = 0
		ri.rp.put(ri)
	}
}

var returnedFunc = returned

// returned is called by the trampoline, as often as it returns true, and then again
// after a handler was abandoned. Guarded.
//
//go:nosplit
func returned(r *amd64.Regs) bool {
	c := cpuOf(r)
	if c.instance != 0 {
		c.giveBack()
		if uintptr(r.PC) != trampolineAddr {
			return false
		}
	}
	head := returnsOf(r.G)
	distance := amd64.StackHi(r) - (uintptr(r.SP) - 8)
	if *head == 0 || head.get().distance != distance {
		c.dropDead(head, distance, true)
		if *head == 0 || head.get().distance != distance {
			amd64.Fatal(r) // nobody replaced this return address
		}
	}
	ri := head.get()
	*head = ri.outer
	rp := ri.rp
	r.PC = uint64(ri.ret)
	c.count(&rp.Kprobe).returned++
	if rp.handle != nil && !rp.gone && !rp.disabled && rp.off == 0 {
		c.instance = refTo(ri)
		c.Guard = uintptr(refTo(rp.list))
		c.Current = uintptr(refTo(rp.list.first()))
		c.phase = phaseReturn
		rp.handle(ri, r)
		c.phase = phasePre
		c.instance = 0
	}
	rp.put(ri)
	return uintptr(r.PC) == trampolineAddr
}

// realReturn is called by the runtime when it reads the trampoline's address in a return
// slot of g's stack.
func realReturn(g, distance uintptr) uintptr {
	for at := *returnsOf(g); at != 0; at = at.get().outer {
		if ri := at.get(); ri.distance == distance && ri.ret != trampolineAddr {
			return ri.ret
		}
	}
	return trampolineAddr // which the runtime will complain about
}

// noReturn is called by the runtime when a goroutine ends with calls that have not
// returned.
func noReturn(g uintptr) {
	head := returnsOf(g)
	for *head != 0 {
		ri := head.get()
		*head = ri.outer
		ri.rp.ended.Add(1)
		ri.rp.put(ri)
	}
}

// A freeList is the instances of a kretprobe that are not in use: the index of the first,
// plus 1, in the low half; in the high half a number that changes with every change, so
// that a processor notices that another one was faster.
type freeList struct{ atomic.Uint64 }

func (l *freeList) init() { l.Store(0) }

// take takes an instance, nil if there is none. Any context.
//
//go:nosplit
func (rp *Kretprobe) take() *KretprobeInstance {
	for {
		old := rp.free.Load()
		if uint32(old) == 0 {
			return nil
		}
		ri := rp.instance(uint32(old) - 1)
		if rp.free.CompareAndSwap(old, (old>>32+1)<<32|uint64(ri.next)) {
			ri.busy = true
			return ri
		}
	}
}

// put gives an instance back. Any context.
//
//go:nosplit
func (rp *Kretprobe) put(ri *KretprobeInstance) {
	ri.busy = false
	for {
		old := rp.free.Load()
		ri.next = uint32(old)
		if rp.free.CompareAndSwap(old, (old>>32+1)<<32|uint64(ri.index+1)) {
			return
		}
	}
}
