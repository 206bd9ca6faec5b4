package ring

import "iter"

// A cursor is one consumer's copy of the oldest record in a ring.
type cursor struct {
	staged   bool
	position uint64 // of the record, or its padding
	extent   uint64
	record   []byte
	time     int64
}

// Consume takes records away, of all processors in the order of time; those of one time
// in the order of processors. It ends when no record is left that is from before the time
// given. Records of one processor come as they were written. That of another may still be
// on its way to the buffer when a later one of the first is there: a limit in the past,
// by more than a hit takes, makes the order hold for all records.
//
// A Record and its Data are valid until the next one. There may be several consumers: a
// record goes to one of them.
func (b *Buffer) Consume(before int64) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		cursors := make([]cursor, len(b.rings))
		var record Record
		for {
			cpu := -1
			for i := range cursors {
				c := &cursors[i]
				if b.rings[i].peek(c) && c.time < before && (cpu < 0 || c.time < cursors[cpu].time) {
					cpu = i
				}
			}
			if cpu < 0 {
				return
			}
			c := &cursors[cpu]
			lost, ok := b.rings[cpu].take(c)
			if !ok {
				continue // overwritten meanwhile: look for the oldest again
			}
			record = Record{Header: header(c.record, cpu), Lost: lost, Data: c.record[headerSize:]}
			if !yield(&record) {
				return
			}
		}
	}
}

// peek sees to it that c holds the oldest record, or one that was it: take tells. It
// reports whether there is one.
func (r *ring) peek(c *cursor) bool {
	for !c.staged {
		tail := r.tail.Load()
		if tail >= r.head.Load() {
			return false
		}
		c.staged = r.stage(c, tail)
	}
	return true
}

// stage copies the record at a position into c. It fails if the record is overwritten
// meanwhile.
func (r *ring) stage(c *cursor, tail uint64) bool {
	offset := r.offset(tail)
	size, ok := r.sizeAt(offset, tail)
	if !ok {
		return false
	}
	c.extent = 0
	if size == isPadding {
		c.extent = uint64(len(r.mem)) - offset
		offset = 0
		if size, ok = r.sizeAt(offset, tail); !ok {
			return false
		}
	}
	total := headerSize + int(size)
	if cap(c.record) < total {
		c.record = make([]byte, total)
	}
	c.record = c.record[:total]
	load(c.record, r.mem[offset:])
	if r.tail.Load() != tail {
		return false
	}
	c.position = tail
	c.extent += recordSize(int(size))
	c.time = header(c.record, 0).Time
	return true
}

// sizeAt loads a payload's size. It fails if the record at tail is overwritten meanwhile,
// so the size is one that was written.
func (r *ring) sizeAt(offset, tail uint64) (size uint32, ok bool) {
	var word [4]byte
	load(word[:], r.mem[offset+offsetSize:])
	return payloadSize(word[:]), r.tail.Load() == tail
}

// take takes the record in c away and returns how many were lost before it. It fails if
// the record has gone.
func (r *ring) take(c *cursor) (lost uint64, ok bool) {
	c.staged = false
	if !r.tail.CompareAndSwap(c.position, c.position+c.extent) {
		return 0, false
	}
	r.read.Add(1)
	return r.gap(sequence(c.record)), true
}

// gap notes that the record with a sequence number has been taken away and returns how
// many there were since the last one that was.
func (r *ring) gap(sequence uint64) uint64 {
	last := r.sequenceRead.Swap(sequence)
	if sequence <= last { // another consumer, or Clear, was between
		return 0
	}
	return sequence - last - 1
}
