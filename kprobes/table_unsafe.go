package kprobes

import (
	"sync/atomic"
	"unsafe"

	"tamaprobe/arch/amd64"
)

// table finds the probes at an address, in the same few steps however many there
// are: an array over the text, in two levels. Processors read it without a lock
// while it is changed under mu. They do without checks of bounds, having checked the
// address: it is a part of every hit.
var table struct {
	lo, size uintptr
	leafs    unsafe.Pointer // to an array of pointers to leafs
	noLeaf   leaf           // stands for all those without a site
}

const leafBits = 8

// A leaf is for 256 bytes of text.
type leaf [1 << leafBits]atomic.Pointer[probeList]

func initTable() {
	lo, hi := amd64.TextRange()
	table.lo, table.size = lo, hi-lo
	leafs := make([]unsafe.Pointer, (hi-lo)>>leafBits+1)
	for i := range leafs {
		leafs[i] = unsafe.Pointer(&table.noLeaf)
	}
	table.leafs = unsafe.Pointer(&leafs[0])
}

// leafAt returns where the leaf is for the text at off.
//
//go:nosplit
func leafAt(off uintptr) *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Add(table.leafs, off>>leafBits*unsafe.Sizeof(uintptr(0))))
}

// lookup returns the probes at addr, nil if there are none. Any context.
//
//go:nosplit
func lookup(addr uintptr) *probeList {
	off := addr - table.lo
	if off >= table.size {
		return nil
	}
	l := *leafAt(off) // an atomic load on this processor
	return *(**probeList)(unsafe.Add(l, off%(1<<leafBits)*unsafe.Sizeof(uintptr(0))))
}

// enter makes lookup find l, at its address in the text; nil removes what is
// there. mu is held.
func enter(addr uintptr, l *probeList) {
	off := addr - table.lo
	p := leafAt(off)
	if *p == unsafe.Pointer(&table.noLeaf) {
		if l == nil {
			return
		}
		atomic.StorePointer(p, unsafe.Pointer(new(leaf)))
	}
	(*leaf)(*p)[off%(1<<leafBits)].Store(l)
}
