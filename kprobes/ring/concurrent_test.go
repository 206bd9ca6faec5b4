package ring

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// writeAll has a goroutine for each processor write n records of random sizes. The time
// is one clock for all. It waits for them and returns how many reservations there were
// that count.
func writeAll(b *Buffer, n int) uint64 {
	var reservations atomic.Uint64
	var clock atomic.Int64
	var wait sync.WaitGroup
	for cpu := range b.CPUs() {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(uint64(cpu), 2))
			for i := range n {
				h := Header{Time: clock.Add(1), Goid: uint64(i), Event: uint32(cpu)}
				size := random.IntN(60)
				if random.IntN(50) == 0 {
					size = random.IntN(b.MaxPayload() + 1)
				}
				switch random.IntN(30) {
				case 0:
					if b.Reserve(cpu, &h, size) == nil {
						reservations.Add(1)
					}
					b.Discard(cpu)
				case 1:
					runtime.Gosched()
				}
				write(b, cpu, &h, size)
				reservations.Add(1)
			}
		})
	}
	wait.Wait()
	return reservations.Load()
}

// scale is how many records a processor writes.
func scale() int {
	if testing.Short() {
		return 20_000
	}
	return 400_000
}

// One consumer, snapshots, and a look at the figures, while all processors write.
func TestConcurrent(t *testing.T) {
	for _, test := range []struct {
		name      string
		cpus      int
		size      int
		overwrite bool
	}{
		{"overwrite", 2, 1 << 16, true},
		{"overwrite small", 4, 256, true},
		{"keep", 2, 1 << 16, false},
		{"keep small", 4, 256, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := New(test.cpus, test.size)
			b.SetOverwrite(test.overwrite)
			var done atomic.Bool
			var readers sync.WaitGroup
			var consumed, lost uint64
			last := make([]int64, test.cpus)
			consume := func() {
				for r := range b.Consume(forever) {
					if err := torn(r); err != nil {
						t.Error(err)
					}
					if r.Event != uint32(r.CPU) || r.Time <= last[r.CPU] {
						t.Errorf("processor %d: time %d behind %d", r.CPU, r.Time, last[r.CPU])
					}
					last[r.CPU] = r.Time
					consumed++
					lost += r.Lost
				}
			}
			readers.Go(func() {
				for !done.Load() {
					consume()
					runtime.Gosched()
				}
			})
			readers.Go(func() {
				for !done.Load() {
					before := int64(0)
					for r := range b.Snapshot() {
						if err := torn(r); err != nil {
							t.Error("snapshot:", err)
						}
						if r.Time <= before {
							t.Errorf("snapshot: time %d behind %d", r.Time, before)
						}
						before = r.Time
					}
					if s := b.Total(); s.Entries > 1<<40 || s.Written > 1<<40 {
						t.Errorf("%+v", s)
					}
					runtime.Gosched()
				}
			})
			want := writeAll(b, scale())
			done.Store(true)
			readers.Wait()
			checkContents(t, b)
			consume()
			// What was lost at the end shows with one more record.
			for cpu := range test.cpus {
				write(b, cpu, &Header{Time: 1 << 60, Event: uint32(cpu)}, 0)
			}
			consume()
			s := b.Total()
			if want += uint64(test.cpus); s.Written+s.Dropped != want {
				t.Errorf("%d written and %d dropped of %d", s.Written, s.Dropped, want)
			}
			if s.Entries != 0 || s.Read != consumed || s.Written != consumed+s.Overwritten || lost != s.Dropped+s.Overwritten {
				t.Errorf("%+v, but %d consumed and %d lost", s, consumed, lost)
			}
			if !test.overwrite && s.Overwritten != 0 {
				t.Errorf("%d overwritten", s.Overwritten)
			}
			t.Logf("%+v", s)
		})
	}
}

// Everything at once: several consumers, Clear, and the mode switched. The figures add
// up.
func TestConcurrentClear(t *testing.T) {
	b := New(2, 1<<12)
	n := scale() / 4
	var done atomic.Bool
	var readers sync.WaitGroup
	var consumed atomic.Uint64
	seen := make([][]atomic.Bool, b.CPUs())
	for i := range seen {
		seen[i] = make([]atomic.Bool, n)
	}
	consume := func() {
		for r := range b.Consume(forever) {
			if err := torn(r); err != nil {
				t.Error(err)
			}
			if seen[r.CPU][r.Goid].Swap(true) {
				t.Errorf("processor %d: record %d consumed twice", r.CPU, r.Goid)
			}
			consumed.Add(1)
		}
	}
	for range 2 {
		readers.Go(func() {
			for !done.Load() {
				consume()
				runtime.Gosched()
			}
		})
	}
	readers.Go(func() {
		for i := 0; !done.Load(); i++ {
			b.Clear()
			b.SetOverwrite(i%2 == 0)
			for r := range b.Snapshot() {
				if err := torn(r); err != nil {
					t.Error("snapshot:", err)
				}
			}
			runtime.Gosched()
		}
	})
	writeAll(b, n)
	done.Store(true)
	readers.Wait()
	checkContents(t, b)
	consume()
	raw := uint64(0)
	for i := range b.rings {
		s, cleared := b.rings[i].counters()
		if s.Written != s.Read+s.Overwritten+cleared {
			t.Errorf("processor %d: %+v and %d cleared", i, s, cleared)
		}
		raw += s.Read
	}
	if raw != consumed.Load() {
		t.Errorf("%d read, %d consumed", raw, consumed.Load())
	}
}
