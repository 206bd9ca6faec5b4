//go:build metal

package kprobes

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tamaprobe/arch/amd64"
)

//go:noinline
func second(x int) int { return x*5 + 1 }

//go:noinline
func third(x int) int { return x - 7 }

func TestEnableDisable(t *testing.T) {
	before := text()
	calls := 0
	count := func(*Kprobe, *amd64.Regs) bool {
		calls++
		return false
	}
	p := register(t, &Kprobe{Symbol: pkg + "second", PreHandler: count, Flags: FlagDisabled})
	if !bytes.Equal(text(), before) {
		t.Error("a disabled probe changes the text")
	}
	check := func(what string, handled, hits int, state Flags) {
		t.Helper()
		result = second(1)
		if calls != handled || p.State()&^FlagOptimized != state {
			t.Errorf("%s: %d calls, want %d; state %d, want %d", what, calls, handled, p.State(), state)
		}
		checkCounts(t, p, uint64(hits), 0)
	}
	check("registered disabled", 0, 0, FlagDisabled)
	for _, err := range []error{Disable(p), Enable(p), Enable(p)} {
		if err != nil {
			t.Error(err)
		}
	}
	check("enabled", 1, 1, 0)
	if err := Disable(p); err != nil {
		t.Error(err)
	}
	check("disabled", 1, 1, FlagDisabled)
	Enable(p)

	// The other probe at the place goes on.
	q := register(t, &Kprobe{Symbol: pkg + "second", PreHandler: count})
	Disable(q)
	check("other disabled", 2, 2, 0)
	Disable(p)
	Enable(q)
	check("this disabled", 3, 2, FlagDisabled)
	checkCounts(t, q, 1, 0)
	Enable(p)

	SetEnabled(false)
	if Enabled() || !bytes.Equal(text(), before) {
		t.Error("not disarmed")
	}
	check("disarmed", 3, 2, 0)
	r := register(t, &Kprobe{Symbol: pkg + "third", PreHandler: count})
	if third(1) != -6 || calls != 3 {
		t.Error("a probe registered while disarmed is armed")
	}
	Disable(p)
	SetEnabled(true)
	check("armed again", 4, 2, FlagDisabled) // q's
	result = third(1)
	if !Enabled() || calls != 5 {
		t.Errorf("%d calls after arming", calls)
	}
	for _, p := range []*Kprobe{p, q, r} {
		unregister(t, p)
	}
	for _, err := range []error{Enable(p), Disable(p)} {
		if !errors.Is(err, syscall.EINVAL) {
			t.Errorf("not registered: %v", err)
		}
	}
	if !bytes.Equal(text(), before) {
		t.Error("the text is not as it was")
	}
}

func TestBatch(t *testing.T) {
	before := text()
	calls := 0
	count := func(*Kprobe, *amd64.Regs) bool {
		calls++
		return false
	}
	probes := func() []*Kprobe {
		return []*Kprobe{
			{Symbol: pkg + "second", PreHandler: count},
			{Symbol: pkg + "third", PreHandler: count},
			{Symbol: pkg + "second", PreHandler: count},
			{Symbol: pkg + "probed", PreHandler: count},
		}
	}
	bad := append(probes(), &Kprobe{Symbol: pkg + "nosuch"})
	if err := RegisterAll(bad); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("bad batch: %v", err)
	}
	twice := probes()
	twice = append(twice, twice[0])
	if err := RegisterAll(twice); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("one twice: %v", err)
	}
	if second(1)+third(1)+probed(1, 1) != 4 || calls != 0 || !bytes.Equal(text(), before) || len(sites) != 0 {
		t.Errorf("a refused batch changed something: %d calls, %d sites", calls, len(sites))
	}
	for _, p := range bad[:4] {
		if p.site != nil {
			t.Errorf("%s is registered", p.where())
		}
	}
	ps := probes()
	if err := RegisterAll(ps); err != nil {
		t.Fatal(err)
	}
	result = second(1)
	result = third(1)
	result = probed(1, 1)
	if calls != 4 {
		t.Errorf("%d calls, want 4", calls)
	}
	// One of these is not registered; the others go.
	if err := UnregisterAll([]*Kprobe{ps[0], {Symbol: pkg + "third"}, ps[1], ps[2], ps[1]}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("one not registered: %v", err)
	}
	result = second(1)
	result = third(1)
	result = probed(1, 1)
	if calls != 5 {
		t.Errorf("%d calls, want 5", calls)
	}
	if err := UnregisterAll(ps[3:]); err != nil {
		t.Error(err)
	}
	if err := errors.Join(RegisterAll(nil), UnregisterAll(nil)); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(text(), before) || len(sites) != 0 {
		t.Error("the text is not as it was")
	}
}

// Handlers run in the order of registration, each with its own probe.
func TestColocated(t *testing.T) {
	var order []int
	order = make([]int, 0, 100)
	var ps []*Kprobe
	for i := range 5 {
		p := &Kprobe{Symbol: pkg + "second"}
		p.PreHandler = func(q *Kprobe, _ *amd64.Regs) bool {
			if q != p {
				order = append(order[:len(order):cap(order)], -1)
			}
			order = append(order, i)
			return false
		}
		if i%2 == 1 {
			p.PostHandler = func(*Kprobe, *amd64.Regs, uint64) { order = append(order, 10+i) }
		}
		ps = append(ps, register(t, p))
	}
	want := []int{0, 1, 2, 3, 4, 11, 13}
	if second(2) != 11 || !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	unregister(t, ps[1])
	ps[1] = register(t, &Kprobe{Symbol: pkg + "second", PreHandler: ps[1].PreHandler})
	order = order[:0]
	want = []int{0, 2, 3, 4, -1, 1, 13}
	if second(2) != 11 || !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	// One that goes elsewhere hides the hit from those behind it.
	Disable(ps[2])
	ps[2] = register(t, &Kprobe{Symbol: pkg + "second", PreHandler: func(_ *Kprobe, r *amd64.Regs) bool {
		r.AX = 77
		ret(r)
		return true
	}})
	last := register(t, &Kprobe{Symbol: pkg + "second"})
	if got := second(2); got != 77 {
		t.Errorf("second(2) = %d, want 77", got)
	}
	checkCounts(t, last, 1, 1)
	for _, p := range append(ps, last) {
		if p.site != nil {
			unregister(t, p)
		}
	}
	for _, s := range sites {
		drop(s.probes)
	}
}

// ret makes the function at whose entry r is return at once.
func ret(r *amd64.Regs) {
	r.PC = *word(uintptr(r.SP))
	r.SP += 8
}

// A handler that says that it changed r.PC and did not cannot hang the kernel.
func TestNotChanged(t *testing.T) {
	p := register(t, &Kprobe{Symbol: pkg + "second", PreHandler: func(*Kprobe, *amd64.Regs) bool { return true }})
	if got := second(3); got != 16 {
		t.Errorf("second(3) = %d", got)
	}
	unregister(t, p)
	checkCounts(t, p, 1, 0)
}

// Handlers of one probe run on all CPUs at the same time.
func TestParallelHandlers(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one CPU")
	}
	var inside, most atomic.Int32
	p := register(t, &Kprobe{Symbol: pkg + "third", PreHandler: func(*Kprobe, *amd64.Regs) bool {
		n := inside.Add(1)
		for range 2000 {
			if n > 1 || inside.Load() > 1 {
				most.Store(2)
			}
		}
		inside.Add(-1)
		return false
	}})
	defer unregister(t, p)
	// As long as it takes: a host that is busy runs the processors one after the other for a while.
	giveUp := time.Now().Add(time.Minute)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for most.Load() < 2 && time.Now().Before(giveUp) {
				result = third(1)
			}
		})
	}
	wg.Wait()
	if most.Load() < 2 {
		t.Error("handlers did not run in parallel")
	}
}

// Probes in the rest of a function's stack check do not disturb the one at its entry.
func TestStackCheckProbes(t *testing.T) {
	pcs := instructions(t, pkg+"grow")[:3]
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		var ps [3]*Kprobe
		for _, i := range order {
			ps[i] = register(t, &Kprobe{Addr: pcs[i]})
		}
		done := make(chan int)
		go func() { done <- grow(1000) }()
		if got := <-done; got != 500500 {
			t.Errorf("grow(1000) = %d", got)
		}
		for _, i := range order {
			unregister(t, ps[i])
		}
		// The comparison and the branch are executed again when the stack grows.
		checkCounts(t, ps[0], 1001, 0)
		for _, p := range ps[1:] {
			if p.Nhit() < 1001 {
				t.Errorf("%s: %d hits", p.where(), p.Nhit())
			}
		}
	}
}

// Those of a batch are registered that can be.
func TestRegisterEach(t *testing.T) {
	ps := []*Kprobe{
		{Symbol: pkg + "probed", PreHandler: noPreHandler},
		{Symbol: pkg + "nosuch"},
		{Symbol: pkg + "breakpoint"},
		{Symbol: pkg + "second", PreHandler: noPreHandler},
	}
	for i, err := range RegisterEach(ps) {
		if want := []error{nil, syscall.ENOENT, syscall.EINVAL, nil}[i]; !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", ps[i].Symbol, err, want)
		}
	}
	result = probed(1, 2)
	checkCounts(t, ps[0], 1, 0)
	unregister(t, ps[0])
	unregister(t, ps[3])

	rps := []*Kretprobe{
		{Kprobe: Kprobe{Symbol: pkg + "probed"}},
		{Kprobe: Kprobe{Symbol: "runtime.mcall"}},
		{Kprobe: Kprobe{Symbol: pkg + "second"}},
	}
	for i, err := range RegisterEachKretprobe(rps) {
		if want := []error{nil, syscall.EINVAL, nil}[i]; !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", rps[i].Symbol, err, want)
		}
	}
	result = probed(1, 2)
	unregisterRet(t, rps[0])
	unregisterRet(t, rps[2])
	if n := rps[0].Nreturned(); n != 1 {
		t.Errorf("%d returned", n)
	}
}
