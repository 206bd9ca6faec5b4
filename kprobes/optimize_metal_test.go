//go:build metal

package kprobes

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"tamaprobe/arch/amd64"
	"tamaprobe/arch/amd64/inst"
	"tamaprobe/goruntime"
	"tamaprobe/symtab"
)

// optimized registers a probe and has it optimized.
func optimized(t testing.TB, p *Kprobe) *Kprobe {
	t.Helper()
	register(t, p)
	WaitOptimizer()
	if p.State()&FlagOptimized == 0 {
		t.Fatalf("%s is not optimized: %v", p.where(), Unoptimizable(p))
	}
	return p
}

// byteAt is what is in the text now.
func byteAt(addr uintptr) byte { return *(*byte)(unsafe.Add(nil, addr)) }

// How much of the image can be optimized.
func TestOptimizable(t *testing.T) {
	oneProcessor(t)
	start()
	mu.Lock()
	defer mu.Unlock()
	findArrivals()
	entries, insns, all, allInsns := 0, 0, 0, 0
	reasons := make(map[string]int)
	for fn := range symtab.All() {
		if _, ok := blacklisted(fn); ok {
			continue
		}
		var points []*amd64.Point
		for pc := fn.Entry(); pc < fn.End(); {
			i, err := inst.Decode(amd64.OriginalText(pc))
			if err != nil {
				break
			}
			if i.Flow == inst.FlowInt3 && pc != fn.Entry() {
				break // padding
			}
			p := new(amd64.Point)
			err = p.Prepare(pc, pc == fn.Entry())
			if err == nil {
				points = append(points, p)
				allInsns++
				_, err = p.CanDetour(function(fn), arrivals)
				if err == nil {
					insns++
				}
				if pc == fn.Entry() {
					all++
					if err == nil {
						entries++
					} else {
						t.Logf("%s: %v", fn.Name(), err)
					}
				} else if err != nil {
					reasons[strings.Trim(err.Error(), "0123456789abcdefx")]++
				}
			}
			pc += uintptr(i.Len)
		}
		amd64.Release(points)
	}
	for reason, n := range reasons {
		if n > 50 {
			t.Logf("%6d  %s", n, reason)
		}
	}
	t.Logf("optimizable: %d of %d entries (%.2f %%), %d of %d instructions (%.2f %%)",
		entries, all, 100*float64(entries)/float64(all), insns, allInsns, 100*float64(insns)/float64(allInsns))
	if entries*1000 < all*990 || insns*100 < allInsns*90 {
		t.Error("less than 99 % and 90 %")
	}
}

func TestOptimized(t *testing.T) {
	before := text()
	var args [2]uint64
	var pc uint64
	p := optimized(t, &Kprobe{Symbol: pkg + "probed", PreHandler: func(p *Kprobe, r *amd64.Regs) bool {
		args = [2]uint64{r.Arg(0), r.Arg(1)}
		pc = r.PC
		return false
	}})
	if byteAt(p.Addr) != 0xe9 {
		t.Error("no jump")
	}
	for range 10 {
		if got := probed(5, 7); got != 22 {
			t.Fatalf("probed(5, 7) = %d", got)
		}
	}
	checkCounts(t, p, 10, 0)
	if args != [2]uint64{5, 7} || pc != uint64(p.Addr) {
		t.Errorf("arguments %v, PC %#x", args, pc)
	}
	SetOptimization(false)
	if p.State()&FlagOptimized != 0 || byteAt(p.Addr) != 0xcc || Unoptimizable(p) == nil {
		t.Error("still optimized")
	}
	result = probed(5, 7)
	SetOptimization(true)
	WaitOptimizer()
	if p.State()&FlagOptimized == 0 {
		t.Error("not optimized again")
	}
	result = probed(5, 7)
	checkCounts(t, p, 12, 0)
	Disable(p)
	WaitOptimizer()
	if p.State() != FlagDisabled || byteAt(p.Addr) != before[p.Addr-table.lo] {
		t.Errorf("disabled: state %d", p.State())
	}
	Enable(p)
	WaitOptimizer()
	if p.State() != FlagOptimized {
		t.Errorf("enabled: state %d", p.State())
	}
	// A post handler takes it back, and when it goes, the jump returns.
	posts := 0
	q := register(t, &Kprobe{Symbol: pkg + "probed", PostHandler: func(*Kprobe, *amd64.Regs, uint64) { posts++ }})
	WaitOptimizer()
	if p.State() != 0 || Unoptimizable(p) == nil {
		t.Errorf("with a post handler: state %d", p.State())
	}
	result = probed(5, 7)
	unregister(t, q)
	WaitOptimizer()
	result = probed(5, 7)
	if p.State() != FlagOptimized || posts != 1 {
		t.Errorf("without post handler: state %d, %d calls", p.State(), posts)
	}
	// So does a probe inside the region.
	second := instructions(t, pkg+"probed")[1]
	q = register(t, &Kprobe{Addr: second})
	WaitOptimizer()
	if p.State() != 0 {
		t.Errorf("with a probe in the region: state %d", p.State())
	}
	result = probed(5, 7)
	unregister(t, q)
	WaitOptimizer()
	if p.State() != FlagOptimized || q.Nhit() != 1 {
		t.Errorf("with a probe in the region: state %d, %d hits", p.State(), q.Nhit())
	}
	// The knob for all probes.
	SetEnabled(false)
	WaitOptimizer()
	result = probed(5, 7)
	if byteAt(p.Addr) != before[p.Addr-table.lo] {
		t.Error("disarmed, but not as it was")
	}
	SetEnabled(true)
	WaitOptimizer()
	result = probed(5, 7)
	checkCounts(t, p, 16, 0)
	unregister(t, p)
	if !bytes.Equal(text(), before) {
		t.Error("the text is not as it was")
	}
}

func TestOptimizedRegisters(t *testing.T) {
	p := optimized(t, &Kprobe{Symbol: pkg + "probed", PreHandler: func(p *Kprobe, r *amd64.Regs) bool {
		r.SetArg(0, r.Arg(0)+1)
		return false
	}})
	if got := probed(5, 7); got != 25 {
		t.Errorf("probed(5, 7) = %d, want 25", got)
	}
	unregister(t, p)
	before := optimized(t, &Kprobe{Symbol: pkg + "probed"})
	p = register(t, &Kprobe{Symbol: pkg + "probed", PreHandler: func(p *Kprobe, r *amd64.Regs) bool {
		r.AX = 99
		ret(r)
		return true
	}})
	same := register(t, &Kprobe{Symbol: pkg + "probed", PreHandler: func(p *Kprobe, r *amd64.Regs) bool { return true }})
	WaitOptimizer()
	for range 10 {
		if got := probed(5, 7); got != 99 {
			t.Errorf("probed(5, 7) = %d, want 99", got)
		}
	}
	checkCounts(t, p, 10, 0)
	checkCounts(t, before, 10, 0)
	checkCounts(t, same, 10, 10)
	if same.State()&p.State()&before.State()&FlagOptimized == 0 {
		t.Error("not optimized")
	}
	unregister(t, p)
	WaitOptimizer()
	if got := probed(5, 7); got != 22 {
		t.Errorf("probed(5, 7) = %d, want 22", got)
	}
	unregister(t, same)
	unregister(t, before)
}

func TestOptimizedReentrant(t *testing.T) {
	inner := optimized(t, &Kprobe{Symbol: pkg + "probed", PreHandler: func(*Kprobe, *amd64.Regs) bool { return false }})
	inner2 := register(t, &Kprobe{Symbol: pkg + "probed"})
	var sum int
	outers := optimized(t, &Kprobe{Symbol: pkg + "outer", PreHandler: func(*Kprobe, *amd64.Regs) bool {
		sum += probed(1, 1)
		return false
	}})
	WaitOptimizer()
	for range 100 {
		result = outer1(1)
	}
	if inner.State()&inner2.State()&outers.State()&FlagOptimized == 0 {
		t.Error("not optimized")
	}
	unregister(t, outers)
	unregister(t, inner)
	unregister(t, inner2)
	if sum != 400 {
		t.Errorf("sum %d", sum)
	}
	checkCounts(t, outers, 100, 0)
	checkCounts(t, inner, 200, 100)
	checkCounts(t, inner2, 200, 100)
}

// Many at one place.
func TestOptimizedColocated(t *testing.T) {
	for _, n := range []int{2, 5, 20, 60} {
		order := make([]int, 0, n+1)
		var ps []*Kprobe
		for i := range n {
			ps = append(ps, &Kprobe{Symbol: pkg + "second", PreHandler: func(*Kprobe, *amd64.Regs) bool {
				order = append(order[:len(order):cap(order)], i)
				return false
			}})
		}
		if err := RegisterAll(ps); err != nil {
			t.Fatal(err)
		}
		WaitOptimizer()
		if ps[0].State() != FlagOptimized {
			t.Errorf("%d: not optimized", n)
		}
		if got := second(2); got != 11 || len(order) != n || !slices.IsSorted(order) {
			t.Errorf("%d: %d, order %v", n, got, order)
		}
		if err := UnregisterAll(ps); err != nil {
			t.Error(err)
		}
	}
}

// A handler that fails in a detour costs the probe, as elsewhere.
func TestOptimizedHandlerFails(t *testing.T) {
	for _, f := range failures {
		logged := catchLog(t)
		first, last := 0, 0
		a := optimized(t, &Kprobe{Symbol: pkg + "second", PreHandler: func(*Kprobe, *amd64.Regs) bool { first++; return false }})
		p := register(t, &Kprobe{Symbol: pkg + "second", PreHandler: func(*Kprobe, *amd64.Regs) bool { f.f(); return false }})
		b := register(t, &Kprobe{Symbol: pkg + "second", PreHandler: func(*Kprobe, *amd64.Regs) bool { last++; return false }})
		const rounds = 50
		for i := range rounds {
			WaitOptimizer()
			if a.State()&p.State()&b.State()&FlagOptimized == 0 {
				t.Fatal("not optimized")
			}
			x := float64(i)
			if got := second(i); got != i*5+1 || x != float64(i) {
				t.Fatalf("%s: second(%d) = %d", f.name, i, got)
			}
			if s := p.State(); s != FlagDisabled|FlagFaulted {
				t.Fatalf("%s: state %d", f.name, s)
			}
			Enable(p)
		}
		unregister(t, a)
		unregister(t, p)
		unregister(t, b)
		if first != rounds || last != rounds || len(*logged) == 0 || !strings.Contains((*logged)[0], f.want) {
			t.Errorf("%s: %d and %d calls, log %q", f.name, first, last, *logged)
		}
		checkCounts(t, p, rounds, 0)
	}
}

// A handler that does next to nothing itself, with a fault handler that fails: nothing
// is left of what that took.
func TestOptimizedFaultHandlerFails(t *testing.T) {
	catchLog(t)
	for _, f := range failures {
		p := optimized(t, &Kprobe{Symbol: pkg + "second",
			PreHandler: func(*Kprobe, *amd64.Regs) bool {
				readNil(nilPointer)
				return false
			},
			FaultHandler: func(*Kprobe, *amd64.Regs, amd64.Vector) bool {
				f.f()
				return true
			},
		})
		for _, c := range cpus {
			if c != 0 {
				c.get().Locks = 7 // of a hit some time before
			}
		}
		if got := second(2); got != 11 {
			t.Errorf("second(2) = %d", got)
		}
		if n := *(*int32)(unsafe.Add(nil, goruntime.Locks())); n != 0 {
			t.Fatalf("%s: %d runtime locks are held", f.name, n)
		}
		unregister(t, p)
	}
}

// A displaced instruction that faults is reported at its own address.
func TestOptimizedFaults(t *testing.T) {
	call := func() { readNil(nilPointer) }
	wantValue, wantTrace := readPanics(call)
	n := 0
	for _, addr := range instructions(t, pkg+"readNil") {
		p := &Kprobe{Addr: addr}
		if Register(p) != nil {
			continue
		}
		WaitOptimizer()
		if p.State()&FlagOptimized != 0 {
			n++
		}
		for range 10 {
			value, trace := readPanics(call)
			if fmt.Sprint(value) != fmt.Sprint(wantValue) || trace != wantTrace {
				t.Fatalf("at %#x: %v\n%swant\n%s", addr, value, trace, wantTrace)
			}
		}
		unregister(t, p)
	}
	array[3] = 42
	fixed := 0
	for _, addr := range instructions(t, pkg+"readNil") {
		faults := 0
		p := &Kprobe{Addr: addr, FaultHandler: func(p *Kprobe, r *amd64.Regs, v amd64.Vector) bool {
			faults++
			r.AX = uint64(uintptr(unsafe.Pointer(array)))
			return true
		}}
		if Register(p) != nil {
			continue
		}
		WaitOptimizer()
		value, _ := readPanics(func() {
			if got := readNil(nilPointer); got != 42 {
				t.Errorf("readNil = %d", got)
			}
		})
		if faults != 0 && value == nil && p.State()&FlagOptimized != 0 && p.Nhit() == 1 {
			fixed++
		}
		unregister(t, p)
	}
	array[3] = 0
	if n == 0 || fixed != 1 {
		t.Errorf("%d optimized, %d fixed", n, fixed)
	}
	through := func() { callThrough(nil) }
	callValue, callTrace := readPanics(through)
	for _, addr := range instructions(t, pkg+"callThrough") {
		p := &Kprobe{Addr: addr}
		if Register(p) != nil {
			continue
		}
		WaitOptimizer()
		value, trace := readPanics(through)
		if fmt.Sprint(value) != fmt.Sprint(callValue) || trace != callTrace {
			t.Errorf("at %#x: %v\n%swant\n%s", addr, value, trace, callTrace)
		}
		unregister(t, p)
	}
}

// The entry counts once, however often the stack grows there, also optimized.
func TestOptimizedEntryCountsOnce(t *testing.T) {
	for range 20 {
		handled := make([]uint64, amd64.MaxCPU)
		p := optimized(t, &Kprobe{Symbol: pkg + "grow", PreHandler: func(_ *Kprobe, r *amd64.Regs) bool {
			handled[r.CPU%amd64.MaxCPU]++
			return false
		}})
		q := register(t, &Kprobe{Symbol: pkg + "outer"}) // only counts
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if got := grow(1000); got != 500500 || outer1(2) != 8 {
					t.Errorf("grow(1000) = %d", got)
				}
			})
		}
		wg.Wait()
		unregister(t, p)
		unregister(t, q)
		checkCounts(t, p, 20*1001, 0)
		checkCounts(t, q, 20, 0)
		sum := uint64(0)
		for _, n := range handled {
			sum += n
		}
		if sum != 20*1001 {
			t.Errorf("handler called %d times", sum)
		}
	}
}

// Goroutines that sleep in calls in and near the region while it is switched.
func TestOptimizeUnderSleepers(t *testing.T) {
	before := text()
	var pcs []uintptr
	for _, pc := range instructions(t, pkg+"sleeper") {
		p := &Kprobe{Addr: pc}
		if Register(p) == nil {
			unregister(t, p)
			pcs = append(pcs, pc)
		}
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	var calls atomic.Int64
	for i := range 20 {
		wg.Go(func() {
			for !stop.Load() {
				if got := sleeper(i); got != i+3 {
					t.Errorf("sleeper(%d) = %d", i, got)
					return
				}
				calls.Add(1)
			}
		})
	}
	for i := range 2 * len(pcs) {
		p := &Kprobe{Addr: pcs[i%len(pcs)], PreHandler: func(*Kprobe, *amd64.Regs) bool { return false }}
		register(t, p)
		WaitOptimizer()
		time.Sleep(200 * time.Microsecond)
		unregister(t, p)
	}
	stop.Store(true)
	wg.Wait()
	if !bytes.Equal(text(), before) || calls.Load() == 0 {
		t.Error("the text is not as it was")
	}
}

//go:noinline
func sleeper(n int) int {
	n += nap(n)
	n += nap(n)
	runtime.Gosched()
	return n + nap(n)
}

//go:noinline
func nap(n int) int {
	if n%2 == 0 {
		time.Sleep(time.Microsecond)
	} else {
		runtime.Gosched()
	}
	return 1
}

// switches is how often TestOptimizeUnderLoad switches a place in the text.
var switches = 100_000

// Jumps come and go while all CPUs execute them: no hit is lost.
func TestOptimizeUnderLoad(t *testing.T) {
	if testing.Short() {
		switches = 10_000
	}
	start()
	mu.Lock()
	findArrivals()
	mu.Unlock()
	before := text()
	work := func() [3]int {
		s := []int{7, 3, 9, 1, 8, 2, 6, 4, 5, 0, 15, 11, 14, 12, 13, 10}
		sort.Ints(s)
		n, _ := strconv.Atoi(strconv.Itoa(s[3]*1234567) + "89")
		return [3]int{target1(13), n, len(strings.Fields("some words to split"))}
	}
	want := work()
	// As many instructions as do not get into each other's way.
	var ps []*Kprobe
	for fn := range symtab.All() {
		name := fn.Name()
		if !strings.HasPrefix(name, pkg+"target") && !strings.HasPrefix(name, "sort.") && !strings.HasPrefix(name, "slices.pdqsort") &&
			!strings.HasPrefix(name, "internal/strconv.") {
			continue
		}
		free := fn.Entry()
		for _, pc := range functionInstructions(fn) {
			var point amd64.Point
			if pc < free || point.Prepare(pc, pc == fn.Entry()) != nil {
				continue
			}
			end, err := point.CanDetour(function(fn), arrivals)
			amd64.Release([]*amd64.Point{&point})
			if err == nil {
				free = end
				ps = append(ps, &Kprobe{Addr: pc, PreHandler: func(*Kprobe, *amd64.Regs) bool { return false }})
			}
		}
	}
	if err := RegisterAll(ps); err != nil {
		t.Fatal(err)
	}
	target := ps[slices.IndexFunc(ps, func(p *Kprobe) bool { return p.Addr == symtab.Lookup(pkg + "target1")[0].Entry() })]
	hits := target.Nhit()
	var stop atomic.Bool
	var wg sync.WaitGroup
	var calls atomic.Uint64
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			n := uint64(0)
			for !stop.Load() {
				if got := work(); got != want {
					t.Errorf("%v, want %v", got, want)
					return
				}
				n++
				if n%16 == 0 {
					runtime.Gosched()
				}
			}
			calls.Add(n)
		})
	}
	done := 0
	for done < switches && !t.Failed() {
		WaitOptimizer()
		n := 0
		for _, p := range ps {
			if p.State()&FlagOptimized != 0 {
				n++
			}
		}
		if n != len(ps) {
			t.Errorf("%d of %d are optimized", n, len(ps))
		}
		SetOptimization(false)
		SetOptimization(true)
		done += 2 * n
		runtime.Gosched()
	}
	stop.Store(true)
	wg.Wait()
	if err := UnregisterAll(ps); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d switches of %d jumps, %d calls", done, len(ps), calls.Load())
	checkCounts(t, target, hits+calls.Load(), 0)
	if !bytes.Equal(text(), before) {
		t.Error("the text is not as it was")
	}
}

func TestUnoptimizable(t *testing.T) {
	p := &Kprobe{Symbol: pkg + "probed"}
	var e *amd64.RegionError
	if err := Unoptimizable(p); !errors.As(err, &e) {
		t.Errorf("not registered: %v", err)
	}
	register(t, p)
	if err := Unoptimizable(p); err != nil {
		t.Errorf("%v", err)
	}
	Disable(p)
	if err := Unoptimizable(p); !errors.As(err, &e) {
		t.Errorf("disabled: %v", err)
	}
	unregister(t, p)
}
