package ring

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"
)

// forever is a limit that no record is beyond.
const forever = math.MaxInt64

// write writes a record whose payload of n bytes tells whether it is whole.
func write(b *Buffer, cpu int, h *Header, n int) bool {
	p := b.Reserve(cpu, h, n)
	if p == nil {
		return false
	}
	fill(p, h)
	b.Commit(cpu, n)
	return true
}

// fill makes a payload that depends on the header and ends in a checksum.
func fill(p []byte, h *Header) {
	for i := range p {
		p[i] = byte(h.Goid) + byte(i)*7
	}
	if len(p) >= 4 {
		binary.LittleEndian.PutUint32(p[len(p)-4:], checksum(p[:len(p)-4], h))
	}
}

func checksum(p []byte, h *Header) uint32 {
	return crc32.ChecksumIEEE(p) ^ uint32(h.Time) ^ uint32(h.Goid)<<8 ^ h.Event
}

// torn says what is wrong with a record of fill.
func torn(r *Record) error {
	want := make([]byte, len(r.Data))
	fill(want, &r.Header)
	if !bytes.Equal(r.Data, want) {
		return fmt.Errorf("torn record of %d bytes at time %d", len(r.Data), r.Time)
	}
	return nil
}

// drain consumes all records.
func drain(t *testing.T, b *Buffer) (records []Record) {
	t.Helper()
	for r := range b.Consume(forever) {
		if err := torn(r); err != nil {
			t.Fatal(err)
		}
		records = append(records, Record{r.Header, r.Lost, bytes.Clone(r.Data)})
	}
	return records
}

func TestHeader(t *testing.T) {
	b := New(3, 4096)
	want := Header{Time: -5, Goid: 1 << 63, StartPC: math.MaxUint64, PC: 2, Caller: 3, Event: math.MaxUint32, CPU: 2}
	payload := b.Reserve(2, &want, 5)
	copy(payload, "hello")
	if cap(payload) != 5 {
		t.Errorf("the payload's capacity is %d, so that append writes to the next record", cap(payload))
	}
	b.Commit(2, 5)
	check := func(r *Record) {
		t.Helper()
		if r.Header != want || string(r.Data) != "hello" || r.Lost != 0 {
			t.Errorf("got %+v, want %+v, hello", *r, want)
		}
	}
	for range 2 {
		n := 0
		for r := range b.Snapshot() {
			check(r)
			n++
		}
		if n != 1 {
			t.Errorf("%d records in a snapshot, want 1", n)
		}
	}
	for r := range b.Consume(forever) {
		check(r)
	}
	if got := drain(t, b); len(got) != 0 {
		t.Errorf("%d records after all were consumed", len(got))
	}
}

func TestSize(t *testing.T) {
	for _, test := range []struct{ bytes, size int }{
		{-1, 128}, {0, 128}, {128, 128}, {129, 256}, {4095, 4096}, {4096, 4096}, {4097, 8192},
	} {
		b := New(1, test.bytes)
		if b.Size() != test.size || b.MaxPayload() != test.size-headerSize {
			t.Errorf("New(1, %d): size %d, payload %d; want size %d", test.bytes, b.Size(), b.MaxPayload(), test.size)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, overwrite := range []bool{true, false} {
		b := New(2, 256)
		b.SetOverwrite(overwrite)
		var h Header
		for _, n := range []int{-1, math.MinInt, b.MaxPayload() + 1, math.MaxInt} {
			if write(b, 1, &h, n) {
				t.Errorf("a payload of %d bytes in %d was taken", n, b.Size())
			}
		}
		for _, cpu := range []int{-1, 2, math.MaxInt} {
			if write(b, cpu, &h, 8) {
				t.Errorf("a record for processor %d of 2 was taken", cpu)
			}
			b.Commit(cpu, 8)
			b.Discard(cpu)
			if got := b.Stats(cpu); got != (Stats{}) {
				t.Errorf("processor %d of 2 has %+v", cpu, got)
			}
		}
		if got, want := b.Stats(1), (Stats{Dropped: 4}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if !write(b, 1, &h, b.MaxPayload()) {
			t.Error("a record as large as the buffer was refused")
		}
		if got := drain(t, b); len(got) != 1 || got[0].Lost != 4 {
			t.Errorf("got %v", got)
		}
	}
}

func TestModes(t *testing.T) {
	const n, payload = 100, 8 // records of 64 bytes
	for _, test := range []struct {
		overwrite   bool
		first, last int64
		firstLost   uint64
		stats       Stats
	}{
		{true, 84, 99, 84, Stats{Entries: 16, Bytes: 1024, Written: 100, Overwritten: 84}},
		{false, 0, 15, 0, Stats{Entries: 16, Bytes: 1024, Written: 16, Dropped: 84}},
	} {
		b := New(1, 1024)
		b.SetOverwrite(test.overwrite)
		if b.Overwrite() != test.overwrite {
			t.Error("Overwrite does not return what was set")
		}
		for i := range n {
			write(b, 0, &Header{Time: int64(i)}, payload)
		}
		if got := b.Stats(0); got != test.stats {
			t.Errorf("overwrite %v: got %+v, want %+v", test.overwrite, got, test.stats)
		}
		got := drain(t, b)
		if len(got) != 16 || got[0].Time != test.first || got[15].Time != test.last || got[0].Lost != test.firstLost {
			t.Errorf("overwrite %v: got %+v", test.overwrite, got)
		}
		// What is lost at the end is seen with the record behind it.
		write(b, 0, &Header{Time: n}, payload)
		if got := drain(t, b); got[0].Lost != uint64(n-1-test.last) {
			t.Errorf("overwrite %v: %d lost, want %d", test.overwrite, got[0].Lost, n-1-test.last)
		}
	}
}

// Every payload size, with each place in the memory as the first record's.
func TestWrapAround(t *testing.T) {
	const size = 256
	for _, overwrite := range []bool{true, false} {
		for payload := 0; payload <= size-headerSize; payload++ {
			for shift := uint64(0); shift < size; shift += alignment {
				b := New(1, size)
				b.SetOverwrite(overwrite)
				r := &b.rings[0]
				r.next = shift
				r.head.Store(shift)
				r.tail.Store(shift)
				for i := range 12 {
					h := Header{Time: int64(i), Goid: uint64(i)}
					wrote := write(b, 0, &h, payload)
					if (overwrite || i == 0) && !wrote {
						t.Fatalf("overwrite %v, payload %d at %d: record %d refused", overwrite, payload, shift, i)
					}
					if i%3 == 2 {
						checkContents(t, b)
					}
					if i == 7 {
						if got := drain(t, b); len(got) == 0 {
							t.Fatalf("overwrite %v, payload %d at %d: nothing there", overwrite, payload, shift)
						}
					}
				}
				checkContents(t, b)
			}
		}
	}
}

// checkContents checks that a snapshot and the figures agree, while nothing writes.
func checkContents(t *testing.T, b *Buffer) {
	t.Helper()
	n, total := uint64(0), b.Total()
	last := make(map[uint16]int64)
	for r := range b.Snapshot() {
		if err := torn(r); err != nil {
			t.Fatal(err)
		}
		if before, ok := last[r.CPU]; ok && r.Time <= before {
			t.Fatalf("time %d behind time %d", r.Time, before)
		}
		last[r.CPU] = r.Time
		n++
	}
	if n != total.Entries {
		t.Fatalf("%d records, Entries %d", n, total.Entries)
	}
	if total.Written != total.Read+total.Overwritten+total.Entries {
		t.Fatalf("%+v does not add up", total)
	}
	if limit := uint64(b.CPUs() * b.Size()); total.Bytes > limit || (n > 0) != (total.Bytes > 0) {
		t.Fatalf("%d records in %d bytes of %d", n, total.Bytes, limit)
	}
}

// Random operations, against a list of what was written.
func TestRandom(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		b := New(1, 128<<random.IntN(4))
		var present []int64 // times in the buffer; in overwrite mode oldest ones may be gone
		var dropped, read, lost, gone uint64
		overwritten := func() {
			n := b.Stats(0).Overwritten - gone
			gone += n
			present = present[n:]
		}
		take := func(limit int) {
			for r := range b.Consume(forever) {
				if err := torn(r); err != nil {
					t.Fatal(err)
				}
				if r.Time != present[0] {
					t.Fatalf("seed %d: time %d, want %d", seed, r.Time, present[0])
				}
				present = present[1:]
				read++
				lost += r.Lost
				if limit--; limit <= 0 {
					break
				}
			}
		}
		for i := range int64(400) {
			h := Header{Time: i, Goid: random.Uint64(), Event: random.Uint32()}
			n := random.IntN(b.Size() / (1 + random.IntN(5)))
			switch k := random.IntN(20); {
			case k < 12:
				if write(b, 0, &h, n) {
					present = append(present, i)
				} else {
					dropped++
				}
			case k < 13: // fewer bytes than reserved
				if p := b.Reserve(0, &h, n); p != nil {
					n = random.IntN(n + 1)
					fill(p[:n], &h)
					b.Commit(0, n)
					present = append(present, i)
				} else {
					dropped++
				}
			case k < 14:
				if p := b.Reserve(0, &h, n); p == nil {
					dropped++
				}
				b.Discard(0)
			case k < 15:
				b.SetOverwrite(random.IntN(2) == 0)
			default:
				overwritten()
				take(1 + random.IntN(4))
			}
			overwritten()
			s := b.Stats(0)
			if s.Entries != uint64(len(present)) || s.Dropped != dropped || s.Read != read {
				t.Fatalf("seed %d: %+v; want %d entries, %d dropped, %d read", seed, s, len(present), dropped, read)
			}
			checkContents(t, b)
		}
		for !write(b, 0, &Header{Time: 400}, 0) {
			dropped++
			take(1)
		}
		present = append(present, 400)
		overwritten()
		take(math.MaxInt)
		if want := dropped + b.Stats(0).Overwritten; lost != want {
			t.Fatalf("seed %d: records say %d were lost, it was %d", seed, lost, want)
		}
	}
}

func TestEndOfReservation(t *testing.T) {
	b := New(1, 256)
	h := Header{Time: 1}

	b.Commit(0, 8) // without one
	b.Discard(0)
	if got := b.Stats(0); got != (Stats{}) {
		t.Errorf("Commit without a reservation: %+v", got)
	}

	fill(b.Reserve(0, &h, 8), &h)
	b.Commit(0, 1000)
	b.Commit(0, 8) // a second time
	copy(b.Reserve(0, &h, 8), "")
	b.Commit(0, -1)
	b.Reserve(0, &h, 8)
	b.Discard(0)
	if got := drain(t, b); len(got) != 2 || len(got[0].Data) != 8 || len(got[1].Data) != 0 {
		t.Errorf("got %+v, want payloads of 8 and 0 bytes", got)
	}

	b.Reserve(0, &h, 8) // its handler is abandoned
	write(b, 0, &h, 8)
	if got := drain(t, b); len(got) != 1 || got[0].Lost != 1 {
		t.Errorf("got %+v, want one record and one lost", got)
	}
	if got, want := b.Stats(0), (Stats{Written: 3, Read: 3, Dropped: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestOrder(t *testing.T) {
	b := New(3, 4096)
	for _, r := range []struct {
		cpu  int
		time int64
	}{{2, 10}, {0, 20}, {1, 20}, {2, 20}, {0, 30}, {2, 30}, {1, 25}, {1, 40}} {
		write(b, r.cpu, &Header{Time: r.time}, 16)
	}
	const want = "2:10 0:20 1:20 2:20 1:25 0:30 2:30 1:40 "
	var snapshot, consumed string
	for r := range b.Snapshot() {
		snapshot += fmt.Sprintf("%d:%d ", r.CPU, r.Time)
	}
	for _, before := range []int64{math.MinInt64, 10, 20, 26, 26, 40, forever} {
		for r := range b.Consume(before) {
			if r.Time >= before {
				t.Errorf("Consume(%d) returned time %d", before, r.Time)
			}
			consumed += fmt.Sprintf("%d:%d ", r.CPU, r.Time)
		}
	}
	if snapshot != want {
		t.Errorf("snapshot %s\nwant     %s", snapshot, want)
	}
	if consumed != want {
		t.Errorf("consumed %s\nwant     %s", consumed, want)
	}
}

// Consumers that stop early leave what they have not returned.
func TestStop(t *testing.T) {
	b := New(2, 4096)
	for i := range 10 {
		write(b, i%2, &Header{Time: int64(i)}, 16)
	}
	for want := range int64(10) {
		for r := range b.Consume(forever) {
			if r.Time != want {
				t.Errorf("time %d, want %d", r.Time, want)
			}
			break
		}
	}
	if got := b.Total(); got.Read != 10 || got.Entries != 0 {
		t.Errorf("got %+v", got)
	}
}

// A record that a consumer is looking at may be overwritten, cleared, or taken by another
// one.
func TestConsumerOvertaken(t *testing.T) {
	for _, test := range []struct {
		name    string
		between func(b *Buffer)
		want    string
	}{
		{"overwritten", func(b *Buffer) {
			for i := range 4 {
				write(b, 0, &Header{Time: 100 + int64(i)}, 8)
			}
		}, "10 50 100 101 102 103 "},
		{"cleared", (*Buffer).Clear, "10 "},
		{"taken", func(b *Buffer) {
			for range b.Consume(21) {
			}
		}, "10 50 "},
	} {
		b := New(2, 256)
		write(b, 1, &Header{Time: 10}, 8)
		write(b, 0, &Header{Time: 20}, 8)
		write(b, 1, &Header{Time: 50}, 8)
		got := ""
		for r := range b.Consume(forever) {
			got += fmt.Sprintf("%d ", r.Time)
			if r.Time == 10 {
				test.between(b)
			}
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestClear(t *testing.T) {
	b := New(2, 512)
	b.SetOverwrite(false)
	fillUp := func() {
		for i := range 100 {
			write(b, i%2, &Header{Time: int64(i)}, 24)
		}
	}
	for round := range 3 {
		fillUp()
		for range b.Consume(3) {
		}
		b.Clear()
		if got := b.Total(); got != (Stats{}) {
			t.Fatalf("round %d: after Clear: %+v", round, got)
		}
		if got := drain(t, b); len(got) != 0 {
			t.Fatalf("round %d: after Clear: %v", round, got)
		}
		write(b, 1, &Header{Time: 1000}, 8)
		checkContents(t, b)
		// What was lost before Clear is of no interest any more.
		if got := drain(t, b); len(got) != 1 || got[0].Lost != 0 {
			t.Fatalf("round %d: got %+v", round, got)
		}
		if got := b.Stats(1); got.Written != 1 || got.Read != 1 || got.Dropped != 0 {
			t.Fatalf("round %d: got %+v", round, got)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	b := New(1, 4096)
	var h Header
	n := 0
	if got := testing.AllocsPerRun(1000, func() {
		n = (n + 13) % 500
		if p := b.Reserve(0, &h, n); p != nil {
			p = append(p[:0], "payload"[:min(n, 7)]...)
			b.Commit(0, len(p))
		}
		b.Reserve(0, &h, n)
		b.Discard(0)
	}); got != 0 {
		t.Errorf("%v allocations for a record", got)
	}
}

func BenchmarkWrite(b *testing.B) {
	buffer := New(1, 1<<20)
	var h Header
	for b.Loop() {
		p := buffer.Reserve(0, &h, 24)
		p[0] = 1
		buffer.Commit(0, 24)
	}
}
