package amd64

import (
	"errors"
	"sync"
	"unsafe"
)

// A slot is executable memory for a copy of one instruction and a jump back. All
// of TamaGo's memory is executable, the Go heap included; what matters is that
// the copy can reach what the original reaches: 2 GiB in each direction.
const slotSize = 32

// ErrNoSlot is returned when there is no memory within reach.
var ErrNoSlot = errors.New("no memory for code within 2 GiB of the text")

// slots is a list of free slots in chunks of memory that are never given back.
var slots struct {
	sync.Mutex
	free   []uintptr
	chunks [][]byte // keeps the memory alive
}

const slotChunk = 64 << 10

// newSlot returns a slot within reach of addr. Goroutine context.
func newSlot(addr uintptr) (uintptr, error) {
	slots.Lock()
	defer slots.Unlock()
	if len(slots.free) == 0 {
		chunk := make([]byte, slotChunk)
		slots.chunks = append(slots.chunks, chunk)
		base := uintptr(unsafe.Pointer(&chunk[0]))
		for off := uintptr(0); off < slotChunk; off += slotSize {
			slots.free = append(slots.free, base+off)
		}
	}
	n := len(slots.free) - 1
	slot := slots.free[n]
	if !reaches(addr, slot) {
		return 0, ErrNoSlot
	}
	slots.free = slots.free[:n]
	return slot, nil
}

// freeSlot gives a slot back. No processor may be in it. Goroutine context.
func freeSlot(slot uintptr) {
	slots.Lock()
	slots.free = append(slots.free, slot)
	slots.Unlock()
}

// reaches reports whether a 32-bit distance leads from code near a to b, with
// room for the lengths of instructions.
func reaches(a, b uintptr) bool {
	const limit = 1<<31 - 1<<12
	d := int64(a) - int64(b)
	return -limit < d && d < limit
}
