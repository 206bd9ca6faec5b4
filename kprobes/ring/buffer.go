// Package ring holds trace records in memory of a fixed size: one ring for every
// processor, written without locks at a hit, read by goroutines at the same time.
//
// A Buffer is in one of two modes. In overwrite mode, the default, a record that has no
// room takes the place of the oldest ones, as in a flight recorder; else the new record
// is dropped. Each loss is counted, and a record that is read says how many were lost
// just before it.
//
// # How writer and readers share a ring
//
// A ring has two positions, which only grow: tail, where the oldest record begins, and
// head, behind the newest one. The processor that owns the ring writes behind head, and
// then moves head. Before it writes over a record it moves tail behind that, by a
// compare-and-swap, because consumers move tail as well. So a reader copies first and
// looks at tail afterwards: what lies at or behind tail then was not touched while it was
// copied, and what lies before it is thrown away. A consumer's own compare-and-swap of
// tail is that look and takes the record away in one step.
//
// The copy itself races with the writer, on purpose: memory of bytes, with no pointers in
// it, of which nothing is believed before tail has been looked at. It is in a function
// that the race detector is told to ignore (copy.go); all else is clean for it.
//
// The package knows no probes and not what is in a record behind its header.
package ring

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A Buffer is a ring of records for every processor.
type Buffer struct {
	rings []ring
	keep  atomic.Bool

	// clearing is held by Clear, and by those who need its baselines.
	clearing sync.Mutex
}

// The least and largest size of a ring.
const (
	minSize = 128
	maxSize = 1 << 30
)

// New returns an empty Buffer in overwrite mode with bytesPerCPU bytes for each of cpus
// processors, rounded up to a power of two, at least 128 and at most 1 GiB. All memory
// that writers need is allocated here.
func New(cpus, bytesPerCPU int) *Buffer {
	bytesPerCPU = max(minSize, min(bytesPerCPU, maxSize))
	b := &Buffer{rings: make([]ring, max(cpus, 1))}
	for i := range b.rings {
		b.rings[i].mem = make([]byte, 1<<bits.Len(uint(bytesPerCPU-1)))
	}
	return b
}

// CPUs returns the number of rings.
func (b *Buffer) CPUs() int { return len(b.rings) }

// Size returns the size of a ring in bytes.
func (b *Buffer) Size() int { return len(b.rings[0].mem) }

// MaxPayload returns the size of the largest payload: that of a record as large as its
// ring.
func (b *Buffer) MaxPayload() int { return b.Size() - headerSize }

// SetOverwrite says what happens to a record that has no room: it overwrites the oldest
// ones (true), or is dropped.
func (b *Buffer) SetOverwrite(overwrite bool) { b.keep.Store(!overwrite) }

// Overwrite reports whether the Buffer is in overwrite mode.
func (b *Buffer) Overwrite() bool { return !b.keep.Load() }
