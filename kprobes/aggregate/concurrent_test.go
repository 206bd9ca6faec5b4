package aggregate

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// Every processor updates, while snapshots are taken: those never go back, and in the end
// every update is there or lost.
func TestConcurrent(t *testing.T) {
	const cpus = 4
	n := 300_000
	if testing.Short() {
		n = 20_000
	}
	c, h, s := NewCount(cpus, 50), NewHist(cpus, 50), NewStacks(cpus, 50)
	var wait sync.WaitGroup
	var sum [cpus]int64
	for cpu := range cpus {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(uint64(cpu), 1))
			pcs := make([]uintptr, 40)
			for range n {
				k := random.IntN(60) // more than there is room for
				v := random.Int64N(2_000_000) - 1_000_000
				c.Add(cpu, []byte{byte(k), 1, 2, 3, 4, 5, 6, 7, 8}, 1)
				h.Add(cpu, []byte{byte(k / 10)}, v)
				sum[cpu] += v
				pcs[0] = uintptr(k)
				s.Add(cpu, pcs[:1+k%40])
			}
		})
	}
	var done atomic.Bool
	var reader sync.WaitGroup
	reader.Go(func() {
		var last uint64
		for !done.Load() {
			total := uint64(0)
			for _, e := range c.Snapshot().Entries {
				if len(e.Key) != 9 || e.Key[8] != 8 || e.Key[0] >= 60 {
					t.Errorf("key %v", e.Key)
				}
				total += e.Count
			}
			if total < last {
				t.Errorf("%d after %d", total, last)
			}
			last = total
			for _, e := range h.Snapshot().Entries {
				in := uint64(0)
				for _, b := range e.Buckets {
					in += b.Count
				}
				if e.Min > e.Max || e.Min < -1_000_000 || e.Max > 1_000_000 || in != e.Count || len(e.Key) != 1 {
					t.Errorf("%+v", e)
				}
			}
			for _, e := range s.Snapshot().Entries {
				if want := 1 + int(e.PCs[0])%40; len(e.PCs) != min(want, StackDepth) {
					t.Errorf("stack %v", e.PCs)
				}
			}
			runtime.Gosched()
		}
	})
	wait.Wait()
	done.Store(true)
	reader.Wait()

	counts, hists, stacks := c.Snapshot(), h.Snapshot(), s.Snapshot()
	total := counts.Lost
	for _, e := range counts.Entries {
		total += e.Count
	}
	if total != uint64(cpus*n) || counts.Lost == 0 {
		t.Errorf("count: %d of %d, %d lost", total, cpus*n, counts.Lost)
	}
	total, all := hists.Lost, int64(0)
	for _, e := range hists.Entries {
		total += e.Count
		all += e.Sum
	}
	if want := sum[0] + sum[1] + sum[2] + sum[3]; total != uint64(cpus*n) || hists.Lost != 0 || all != want {
		t.Errorf("hist: %d of %d, %d lost, sum %d, want %d", total, cpus*n, hists.Lost, all, want)
	}
	total = stacks.Lost
	for _, e := range stacks.Entries {
		total += e.Count
	}
	if total != uint64(cpus*n) || stacks.Lost == 0 {
		t.Errorf("stacks: %d of %d, %d lost", total, cpus*n, stacks.Lost)
	}
}

// Clear while processors update: a snapshot holds no keys from before the Clear that it
// follows.
func TestConcurrentClear(t *testing.T) {
	const cpus = 2
	c := NewCount(cpus, 8)
	var phase, seen [cpus]atomic.Uint32
	var done atomic.Bool
	var wait sync.WaitGroup
	for cpu := range cpus {
		wait.Go(func() {
			for !done.Load() {
				p := phase[cpu].Load()
				for i := range byte(10) {
					c.Add(cpu, []byte{byte(p), i}, 1)
				}
				seen[cpu].Store(p)
				runtime.Gosched()
			}
		})
	}
	for round := range uint32(2000) {
		for cpu := range cpus {
			phase[cpu].Store(round)
		}
		for cpu := range cpus {
			for seen[cpu].Load() != round {
				runtime.Gosched()
			}
		}
		c.Clear()
		for _, e := range c.Snapshot().Entries {
			if len(e.Key) != 2 || e.Key[0] != byte(round) || e.Key[1] >= 10 {
				t.Errorf("round %d: key %v", round, e.Key)
			}
		}
	}
	done.Store(true)
	wait.Wait()
}
