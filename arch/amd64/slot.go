package amd64

import (
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A slot is executable memory for a copy of one instruction and a jump back, at most
// 20 bytes; its last 8 bytes hold the address of the original. All of TamaGo's
// memory is executable, the Go heap included; what matters is that the copy can
// reach what the original reaches: 2 GiB in each direction.
const (
	slotSize  = 32
	slotOwned = slotSize - 8
)

// ErrNoSlot is returned when there is no memory within reach.
var ErrNoSlot = errors.New("no memory for code within 2 GiB of the text")

// slots is a list of free slots in chunks of memory that are never given back.
var slots struct {
	sync.Mutex
	free []uintptr
	// chunks are the chunks' addresses. The trap path reads them without the
	// lock: a new chunk is stored before numChunks counts it.
	chunks    [maxChunks]uintptr
	numChunks atomic.Int32
	memory    [][]byte // keeps it alive
}

const (
	slotChunk = 64 << 10
	maxChunks = 1 << 10
)

// allocSlot returns a slot within reach of addr. Goroutine context.
func allocSlot(addr uintptr) (uintptr, error) {
	slots.Lock()
	defer slots.Unlock()
	if len(slots.free) == 0 {
		n := slots.numChunks.Load()
		if n == maxChunks {
			return 0, ErrNoSlot
		}
		chunk := make([]byte, slotChunk)
		slots.memory = append(slots.memory, chunk)
		base := uintptr(unsafe.Pointer(&chunk[0]))
		slots.chunks[n] = base
		slots.numChunks.Store(n + 1)
		for off := uintptr(0); off < slotChunk; off += slotSize {
			slots.free = append(slots.free, base+slotChunk-slotSize-off)
		}
	}
	n := len(slots.free) - 1
	slot := slots.free[n]
	if !reaches(addr, slot) {
		return 0, ErrNoSlot
	}
	slots.free = slots.free[:n]
	*at[uintptr](slot + slotOwned) = addr
	return slot, nil
}

// slotOwner returns the address of the instruction that the slot at pc is a copy of,
// 0 if pc is not in a slot. Any context.
//
//go:nosplit
func slotOwner(pc uintptr) uintptr {
	for i := range slots.numChunks.Load() {
		if off := pc - slots.chunks[i%maxChunks]; off < slotChunk {
			return *at[uintptr](pc - off%slotSize + slotOwned)
		}
	}
	return 0
}

// freeSlot gives a slot back. No processor may be in it. Goroutine context.
func freeSlot(slot uintptr) {
	*at[uintptr](slot + slotOwned) = 0
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
