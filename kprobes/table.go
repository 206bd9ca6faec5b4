package kprobes

import (
	"sync/atomic"

	"tamaprobe/arch/amd64"
)

// table finds the site at an address, in the same few steps however many there
// are: an array over the text, in two levels. Processors read it without a lock
// while it is changed under mu.
var table struct {
	lo    uintptr
	leafs []atomic.Pointer[leaf]
}

const leafBits = 8

// A leaf holds the sites in 256 bytes of text.
type leaf [1 << leafBits]atomic.Pointer[site]

func initTable() {
	lo, hi := amd64.TextRange()
	table.lo = lo
	table.leafs = make([]atomic.Pointer[leaf], (hi-lo)>>leafBits+1)
}

// lookup returns the site at addr, nil if there is none. Any context.
func lookup(addr uintptr) *site {
	off := addr - table.lo
	if i := off >> leafBits; i < uintptr(len(table.leafs)) {
		if l := table.leafs[i].Load(); l != nil {
			return l[off&(1<<leafBits-1)].Load()
		}
	}
	return nil
}

// enter makes lookup find s, at its address in the text; nil removes what is
// there. mu is held.
func enter(addr uintptr, s *site) {
	off := addr - table.lo
	p := &table.leafs[off>>leafBits]
	l := p.Load()
	if l == nil {
		l = new(leaf)
		p.Store(l)
	}
	l[off&(1<<leafBits-1)].Store(s)
}
