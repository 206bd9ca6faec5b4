//go:build metal

package kprobes

import (
	"bytes"
	"math/rand"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tamaprobe/arch/amd64"
	"tamaprobe/symtab"
)

// targets are functions with many instructions of different kinds.
//
//go:noinline
func target1(n int) int {
	s := 0
	for i := range n & 15 {
		if i%3 == 0 {
			s += target2(i)
		} else {
			s ^= i << 2
		}
	}
	return s
}

//go:noinline
func target2(n int) int {
	var a [20]int
	for i := range a {
		a[i] = n * i
	}
	return a[n&15] + target3(float64(n))
}

//go:noinline
func target3(f float64) int {
	switch int(f) & 7 {
	case 0:
		return int(f * 2)
	case 1:
		return int(f + 3)
	case 2, 5:
		return strings.Count("abcabcab", "abc")
	}
	return -1
}

// stressTime is how long the stress takes.
var stressTime = 60 * time.Second

// TestStress registers, unregisters, enables, disables and colocates probes at random
// at 64 places, while all CPUs run through them.
func TestStress(t *testing.T) {
	if testing.Short() {
		stressTime = 3 * time.Second
	}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewSource(seed))
	before := text()
	var addrs []uintptr
	for _, name := range []string{"target1", "target2", "target3"} {
		for _, addr := range instructions(t, pkg+name) {
			p := &Kprobe{Addr: addr, Flags: FlagDisabled}
			if Register(p) == nil {
				unregister(t, p)
				addrs = append(addrs, addr)
			}
		}
	}
	rnd.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	addrs = addrs[:min(64, len(addrs))]

	var want [64]int
	for i := range want {
		want[i] = target1(i)
	}
	var stop atomic.Bool
	var calls atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			n := int64(0)
			for i := 0; !stop.Load(); i++ {
				if got := target1(i % 64); got != want[i%64] {
					t.Errorf("target1(%d) = %d, want %d", i%64, got, want[i%64])
					return
				}
				n++
				if i%16 == 0 {
					runtime.Gosched()
				}
			}
			calls.Add(n)
		})
	}

	type probe struct {
		Kprobe
		pre, post [amd64.MaxCPU]struct {
			n uint64
			_ [56]byte
		}
	}
	var live []*probe
	check := func(p *probe) {
		sum := uint64(0)
		for i := range p.pre {
			sum += p.pre[i].n
		}
		if handled := p.Nhit() - p.Nmissed(); handled != sum {
			t.Errorf("%s: %d hits, %d missed, but %d calls", p.where(), p.Nhit(), p.Nmissed(), sum)
		}
	}
	hits, steps := uint64(0), 0
	for end := time.Now().Add(stressTime); time.Now().Before(end); steps++ {
		switch n := rnd.Intn(20); {
		case n < 7 && len(live) < 64 || len(live) == 0:
			p := &probe{Kprobe: Kprobe{Addr: addrs[rnd.Intn(len(addrs))]}}
			p.PreHandler = func(_ *Kprobe, r *amd64.Regs) bool {
				p.pre[r.CPU%amd64.MaxCPU].n++
				return false
			}
			if rnd.Intn(4) == 0 {
				p.PostHandler = func(_ *Kprobe, r *amd64.Regs, _ uint64) { p.post[r.CPU%amd64.MaxCPU].n++ }
			}
			if rnd.Intn(8) == 0 {
				p.Flags = FlagDisabled
			}
			register(t, &p.Kprobe)
			live = append(live, p)
		case n < 12:
			i := rnd.Intn(len(live))
			p := live[i]
			unregister(t, &p.Kprobe)
			check(p)
			hits += p.Nhit()
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		case n < 15:
			if err := Enable(&live[rnd.Intn(len(live))].Kprobe); err != nil {
				t.Error(err)
			}
		case n < 18:
			if err := Disable(&live[rnd.Intn(len(live))].Kprobe); err != nil {
				t.Error(err)
			}
		case n < 19:
			k := rnd.Intn(len(live)) + 1
			batch := make([]*Kprobe, k)
			for i := range batch {
				batch[i] = &live[i].Kprobe
			}
			if err := UnregisterAll(batch); err != nil {
				t.Error(err)
			}
			for _, p := range live[:k] {
				check(p)
				hits += p.Nhit()
				for i := range p.pre {
					p.pre[i].n = 0
				}
			}
			if err := RegisterAll(batch); err != nil {
				t.Error(err)
			}
		default:
			SetEnabled(!Enabled())
		}
		runtime.Gosched()
	}
	SetEnabled(true)
	stop.Store(true)
	wg.Wait()
	for _, p := range live {
		unregister(t, &p.Kprobe)
		check(p)
		hits += p.Nhit()
	}
	t.Logf("%d steps, %d calls, %d hits", steps, calls.Load(), hits)
	if hits == 0 || calls.Load() == 0 {
		t.Error("nothing happened")
	}
	if !bytes.Equal(text(), before) {
		t.Error("the text is not as it was")
	}
}

// A probe at every function that can be probed, all at once.
func TestEverythingProbed(t *testing.T) {
	start()
	before := text()
	results := func() (r [4]int) {
		work(t)
		s := []int{5, 2, 8, 1}
		sort.Ints(s)
		r[0] = s[0]
		r[1] = target1(15)
		r[2] = grow(300)
		r[3] = len(strings.Fields("a b c"))
		return r
	}
	want := results()
	var all, ps []*Kprobe
	for fn := range symtab.All() {
		all = append(all, &Kprobe{Addr: fn.Entry(), PreHandler: func(*Kprobe, *amd64.Regs) bool { return false }})
	}
	for i, err := range RegisterEach(all) {
		if err == nil {
			ps = append(ps, all[i])
		}
	}
	// The optimizer would take minutes with all of its calls probed by breakpoints.
	optimized := 0
	for _, p := range ps {
		if p.State()&FlagOptimized != 0 {
			optimized++
		}
	}
	if optimized < len(ps)*9/10 {
		t.Errorf("%d of %d are optimized", optimized, len(ps))
	}
	got := [5][4]int{results(), results(), results(), results(), results()}
	if err := UnregisterAll(ps); err != nil {
		t.Fatal(err)
	}
	for _, g := range got {
		if g != want {
			t.Errorf("%v, want %v", g, want)
		}
	}
	if results() != want || !bytes.Equal(text(), before) {
		t.Error("something stays")
	}
	hit, sum := 0, uint64(0)
	for _, p := range ps {
		if p.off != 0 {
			t.Fatalf("%s stays off", p.where())
		}
		if p.Nhit() > 0 {
			hit++
			sum += p.Nhit()
		}
	}
	t.Logf("%d probes, %d of them hit, %d hits", len(ps), hit, sum)
	if hit < 200 {
		t.Error("too few were hit")
	}
}
