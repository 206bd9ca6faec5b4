package amd64

import (
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A codePool gives out executable memory in pieces of one size. All of TamaGo's memory
// is executable, the Go heap included; what matters is that code there can reach what
// the original reaches: 2 GiB in each direction. The last 8 bytes of a piece hold the
// owner, by which the trap path knows what the code there stands for.
type codePool struct {
	size  uintptr // of a piece, a power of two
	chunk uintptr // how much memory is taken at a time

	mu     sync.Mutex
	free   []uintptr
	memory [][]byte // keeps it alive

	// chunks are the chunks' addresses. The trap path reads them without the
	// lock: a new chunk is stored before numChunks counts it.
	chunks    [maxChunks]uintptr
	numChunks atomic.Int32
}

const (
	ownerSize = 8
	maxChunks = 1 << 10
)

// ErrNoMemory is returned when there is no memory within reach.
var ErrNoMemory = errors.New("no memory for code within 2 GiB of the text")

// alloc returns a piece within reach of addr. Goroutine context.
func (p *codePool) alloc(addr, owner uintptr) (uintptr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		n := p.numChunks.Load()
		if n == maxChunks {
			return 0, ErrNoMemory
		}
		chunk := make([]byte, p.chunk)
		p.memory = append(p.memory, chunk)
		base := uintptr(unsafe.Pointer(&chunk[0]))
		p.chunks[n] = base
		p.numChunks.Store(n + 1)
		for off := p.size; off <= p.chunk; off += p.size {
			p.free = append(p.free, base+p.chunk-off)
		}
	}
	n := len(p.free) - 1
	piece := p.free[n]
	if !reaches(addr, piece) {
		return 0, ErrNoMemory
	}
	p.free = p.free[:n]
	*at[uintptr](piece + p.size - ownerSize) = owner
	return piece, nil
}

// release gives a piece back. No processor may be in it. Goroutine context.
func (p *codePool) release(piece uintptr) {
	*at[uintptr](piece + p.size - ownerSize) = 0
	p.mu.Lock()
	p.free = append(p.free, piece)
	p.mu.Unlock()
}

// inUse returns how many pieces are given out. Goroutine context.
func (p *codePool) inUse() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(p.numChunks.Load())*int(p.chunk/p.size) - len(p.free)
}

// CodeInUse returns how many slots and detours there are: none is left when all probes have
// gone, but for the trampoline of return probes. Goroutine context.
func CodeInUse() int { return slots.inUse() + detours.inUse() + largeDetours.inUse() }

// find returns the piece that pc is in, and its owner, 0 if there is none. Any context.
//
//go:nosplit
func (p *codePool) find(pc uintptr) (piece, owner uintptr) {
	for i := range p.numChunks.Load() {
		if off := pc - p.chunks[i%maxChunks]; off < p.chunk {
			piece = pc - off&(p.size-1)
			return piece, *at[uintptr](piece + p.size - ownerSize)
		}
	}
	return 0, 0
}

// reaches reports whether a 32-bit distance leads from code near a to b, with
// room for the lengths of instructions.
func reaches(a, b uintptr) bool {
	const limit = 1<<31 - 1<<12
	d := int64(a) - int64(b)
	return -limit < d && d < limit
}

// slots are for copies of one instruction, or a stack check, and a jump back. Their
// owner is the original's address.
var slots = codePool{size: slotSize, chunk: 64 << 10}

const slotSize = 32
