package ring

import (
	"encoding/binary"
	"sync/atomic"
)

// A ring is the records of one processor.
type ring struct {
	mem []byte // its length is a power of two

	// Positions: offsets in mem, modulo its length. No record is there if tail is not
	// less than head.
	head atomic.Uint64 // moved by the writer
	tail atomic.Uint64 // moved by the writer and by consumers, by compare-and-swap
	// While there is no record, tail is the writer's: that may move it beyond head.

	// Counters since New. cleared are the records that Clear took away.
	written, overwritten, dropped, read, cleared atomic.Uint64

	// sequenceRead is the sequence number of the record that was taken away last.
	sequenceRead atomic.Uint64

	// What Clear has the counters start from.
	base Stats

	// The writer's own.
	next     uint64 // where the next record begins: head, or beyond
	padding  uint64 // of the reservation
	reserved int    // its payload
	open     bool   // there is one

	_ [64]byte // keeps the next ring's words out of this one's cache line
}

// Reserve makes room for a record with a payload of n bytes in the ring of a processor
// and writes its header. It returns the payload, to be filled in, which holds old bytes;
// then Commit or Discard has to follow. It returns nil if there is no room, which counts
// as dropped: the buffer is full and not in overwrite mode, or n is more than MaxPayload.
// A processor that the Buffer has not gets nil, uncounted.
//
// Reserve, Commit and Discard run in handler context: on the processor itself, one record
// after the other. A reservation that is still open, because its handler was abandoned,
// counts as dropped.
func (b *Buffer) Reserve(cpu int, h *Header, n int) []byte {
	if uint(cpu) >= uint(len(b.rings)) {
		return nil
	}
	r := &b.rings[cpu]
	if r.open {
		r.open = false
		r.dropped.Add(1)
	}
	if n < 0 || n > len(r.mem)-headerSize || !r.makeRoom(recordSize(n), b.keep.Load()) {
		r.dropped.Add(1)
		return nil
	}
	if r.padding != 0 {
		binary.LittleEndian.PutUint32(r.mem[r.offset(r.next):], isPadding)
	}
	record := r.mem[r.offset(r.next+r.padding):]
	putHeader(record, h, r.reservations()+1)
	r.reserved, r.open = n, true
	return record[headerSize : headerSize+n : headerSize+n]
}

// Commit ends a reservation: readers see the record, with the first n bytes of the
// payload, or all if n is more than was reserved. Without a reservation it does nothing.
func (b *Buffer) Commit(cpu, n int) {
	if uint(cpu) >= uint(len(b.rings)) {
		return
	}
	r := &b.rings[cpu]
	if !r.open {
		return
	}
	r.open = false
	n = max(0, min(n, r.reserved))
	start := r.next + r.padding
	binary.LittleEndian.PutUint32(r.mem[r.offset(start)+offsetSize:], uint32(n))
	r.next = start + recordSize(n)
	// Written first, so that it is never less than what was taken away.
	r.written.Add(1)
	r.head.Store(r.next)
}

// Discard ends a reservation without a record. It is not counted; what had to be
// overwritten to make room is. Without a reservation it does nothing.
func (b *Buffer) Discard(cpu int) {
	if uint(cpu) >= uint(len(b.rings)) {
		return
	}
	b.rings[cpu].open = false
}

// reservations returns how many there were that count: written or dropped.
func (r *ring) reservations() uint64 { return r.written.Load() + r.dropped.Load() }

// makeRoom sees to it that nothing is in the way of a record of size bytes and its
// padding, which it sets. It reports whether that was possible.
func (r *ring) makeRoom(size uint64, keep bool) bool {
	length := uint64(len(r.mem))
	r.padding = 0
	if rest := length - r.offset(r.next); size > rest {
		r.padding = rest
	}
	tail := r.tail.Load()
	for tail < r.next && r.next+r.padding+size-tail > length {
		if keep {
			return false
		}
		if to := tail + r.extent(tail); r.tail.CompareAndSwap(tail, to) {
			r.overwritten.Add(1)
			tail = to
		} else {
			tail = r.tail.Load() // a consumer was faster
		}
	}
	if r.padding+size > length {
		// There is no record. One that needs the memory that padding would take starts at
		// the beginning without any.
		r.next += r.padding
		r.padding = 0
		r.tail.Store(r.next)
	}
	return true
}

// extent returns the size of the record at a position, with its padding, for the writer.
func (r *ring) extent(position uint64) uint64 {
	offset := r.offset(position)
	size := payloadSize(r.mem[offset:])
	if size != isPadding {
		return recordSize(int(size))
	}
	return uint64(len(r.mem)) - offset + recordSize(int(payloadSize(r.mem)))
}

// offset returns where in mem a position is.
func (r *ring) offset(position uint64) uint64 {
	return position & uint64(len(r.mem)-1)
}
