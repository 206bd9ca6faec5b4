package ring

import "iter"

// snapshotTries is how often a ring is copied that is overwritten as a whole meanwhile.
const snapshotTries = 10

// Snapshot copies the records that are in the buffer, without taking them away, and
// returns them in the order of Consume; they can be iterated over more than once. A
// Record is valid until the next one, its Data as long as it is held.
//
// Hits go on meanwhile. What is overwritten while it is copied is not in the snapshot; of
// a ring that is overwritten faster than it can be copied that may be everything.
func (b *Buffer) Snapshot() iter.Seq[*Record] {
	images := make([]image, len(b.rings))
	for cpu := range b.rings {
		images[cpu].cpu = cpu
		for range snapshotTries {
			var done bool
			if images[cpu].records, done = b.rings[cpu].copyRecords(); done {
				break
			}
		}
	}
	return func(yield func(*Record) bool) {
		left := make([]image, len(images))
		copy(left, images)
		var record Record
		for {
			var first *image
			for i := range left {
				if m := &left[i]; len(m.records) > 0 && (first == nil || m.time() < first.time()) {
					first = m
				}
			}
			if first == nil {
				return
			}
			first.next(&record)
			if !yield(&record) {
				return
			}
		}
	}
}

// An image is the copied records of one processor that have not been iterated over,
// without padding.
type image struct {
	cpu      int
	records  []byte
	sequence uint64 // of the record before; 0: there was none
}

func (m *image) time() int64 { return header(m.records, m.cpu).Time }

// next moves the first record out of m.
func (m *image) next(record *Record) {
	size := payloadSize(m.records)
	*record = Record{Header: header(m.records, m.cpu), Data: m.records[headerSize:][:size:size]}
	s := sequence(m.records)
	if m.sequence != 0 {
		record.Lost = s - m.sequence - 1
	}
	m.sequence = s
	m.records = m.records[recordSize(int(size)):]
}

// copyRecords returns a copy of what is in the ring. It reports whether that is all there
// was, and not nothing because all was overwritten.
func (r *ring) copyRecords() (records []byte, done bool) {
	start, end := r.tail.Load(), r.head.Load()
	if start >= end {
		return nil, true
	}
	if end-start > uint64(len(r.mem)) {
		return nil, false // tail has moved on between the loads
	}
	records = make([]byte, end-start)
	older := r.mem[r.offset(start):]
	load(records, older)
	if len(records) > len(older) {
		load(records[len(older):], r.mem)
	}
	intact := r.tail.Load()
	if intact >= end {
		return nil, false
	}
	return r.withoutPadding(records[intact-start:], end), true
}

// withoutPadding removes the padding from a copy of the records that end at a position.
// There is padding in one place at most, since a copy is not longer than the memory.
func (r *ring) withoutPadding(records []byte, end uint64) []byte {
	for at := uint64(0); at < uint64(len(records)); {
		size := payloadSize(records[at:])
		if size == isPadding {
			padding := uint64(len(r.mem)) - r.offset(end-uint64(len(records))+at)
			copy(records[padding:], records[:at])
			return records[padding:]
		}
		at += recordSize(int(size))
	}
	return records
}
