package ring

// Stats are the figures of one processor's ring, since New or Clear. When nothing writes,
// Written is Read, Overwritten and Entries together, exactly.
type Stats struct {
	Entries     uint64 // records in the buffer
	Bytes       uint64 // that they occupy
	Written     uint64 // records committed
	Read        uint64 // taken away by consumers
	Overwritten uint64 // lost because newer ones took their place
	Dropped     uint64 // lost because there was no room for them, or their handler failed
}

// Stats returns the figures of a processor's ring. Of a processor that the Buffer has not
// they are zero.
func (b *Buffer) Stats(cpu int) Stats {
	if uint(cpu) >= uint(len(b.rings)) {
		return Stats{}
	}
	b.clearing.Lock()
	defer b.clearing.Unlock()
	r := &b.rings[cpu]
	s, cleared := r.counters()
	s.Entries = s.Written - s.Read - s.Overwritten - cleared
	if tail, head := r.tail.Load(), r.head.Load(); tail < head {
		s.Bytes = min(head-tail, uint64(len(r.mem)))
	}
	s.Written -= r.base.Written
	s.Read -= r.base.Read
	s.Overwritten -= r.base.Overwritten
	s.Dropped -= r.base.Dropped
	return s
}

// Total returns the figures of all rings together.
func (b *Buffer) Total() (total Stats) {
	for cpu := range b.rings {
		s := b.Stats(cpu)
		total.Entries += s.Entries
		total.Bytes += s.Bytes
		total.Written += s.Written
		total.Read += s.Read
		total.Overwritten += s.Overwritten
		total.Dropped += s.Dropped
	}
	return total
}

// counters returns the counters since New. Those of records that have gone are loaded
// before those of records that came, so that while hits go on, the difference is not
// negative.
func (r *ring) counters() (s Stats, cleared uint64) {
	cleared = r.cleared.Load()
	s.Read = r.read.Load()
	s.Overwritten = r.overwritten.Load()
	s.Dropped = r.dropped.Load()
	s.Written = r.written.Load()
	return s, cleared
}

// Clear takes all records away that are there when it begins, and has the figures of
// Stats start from zero. Hits may go on meanwhile.
func (b *Buffer) Clear() {
	b.clearing.Lock()
	defer b.clearing.Unlock()
	for i := range b.rings {
		r := &b.rings[i]
		r.clear()
		base, cleared := r.counters()
		// Written starts from the records that have gone, those that Clear took among
		// them: what is in the buffer now has been written since.
		base.Written = base.Read + base.Overwritten + cleared
		r.base = base
	}
}

// clear takes away what is in the ring now.
func (r *ring) clear() {
	var c cursor
	end := r.head.Load()
	for r.tail.Load() < end && r.peek(&c) && c.position < end {
		c.staged = false
		if r.tail.CompareAndSwap(c.position, c.position+c.extent) {
			r.cleared.Add(1)
		}
	}
	r.sequenceRead.Store(r.reservations())
}
