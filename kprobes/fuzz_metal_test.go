//go:build metal

package kprobes

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"tamaprobe/arch/amd64"
	"tamaprobe/goruntime"
	"tamaprobe/symtab"
)

// TestFuzz places probes of random kinds with handlers of random behaviour at random
// instructions of random functions, a group at a time, while all processors run through them: every
// probe's counts must be right, and in the end everything as it was.
//
// FUZZ_SEED=N on the kernel command line (APPEND) repeats a run, or the end of one from a group on, but
// for the timing; FUZZ_ROUNDS=N says how many probes are placed, and below 1,500 how large groups are.
func TestFuzz(t *testing.T) {
	rounds := 10_000
	if testing.Short() {
		rounds = 300
	}
	rounds = int(environment("FUZZ_ROUNDS", int64(rounds)))
	seed := environment("FUZZ_SEED", time.Now().UnixNano()&0xffffffff)
	fmt.Printf("TestFuzz: FUZZ_SEED=%d\n", seed) // at once: the log is printed at the end
	ownLog := Log
	Log = func(string) {} // failures are what this is about
	defer func() { Log = ownLog }()

	places := newFuzzPlaces(t)
	before := text()
	codeInUse := amd64.CodeInUse()
	goroutines := runtime.NumGoroutine()
	inner := register(t, &Kprobe{Symbol: pkg + "fuzzInner", PreHandler: func(*Kprobe, *amd64.Regs) bool { return false }})
	load := startLoad(t)
	f := fuzzer{fuzzPlaces: places, size: max(1, min(maxGroup, rounds/6))}
	var kept []*fuzzed // return probes with calls on their way
	for round := 0; round < rounds && !t.Failed(); {
		f.rng = rand.New(rand.NewSource(seed))
		group := f.group()
		runGroup(t, &f, group, load)
		for _, p := range group {
			p.check(t)
			if p.ret != nil {
				kept = append(kept, p)
			}
		}
		if t.Failed() {
			t.Logf("FUZZ_SEED=%d is the group:", seed)
			for _, p := range group {
				t.Logf("%v", p)
			}
		}
		f.total(group)
		seed++
		round += len(group)
	}
	load.stop()
	unregister(t, inner)
	t.Logf("%d runs of the load; %s", load.runs.Load(), &f)
	if inner.Nmissed() != f.reentered {
		t.Errorf("%d hits inside handlers, %d of them counted as missed", f.reentered, inner.Nmissed())
	}

	checkQuiet(t, kept)
	if !bytes.Equal(text(), before) {
		t.Error("the text is not as it was")
	}
	if n := amd64.CodeInUse(); n != codeInUse {
		t.Errorf("%d pieces of code memory are in use, %d at the start", n, codeInUse)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d at the start", n, goroutines)
	}
	if f.hits == 0 || f.failed == 0 || f.optimized == 0 {
		t.Error("too little happened")
	}
}

// environment returns the number that an environment variable holds, n if there is none.
func environment(name string, n int64) int64 {
	if v, err := strconv.ParseInt(os.Getenv(name), 0, 64); err == nil {
		return v
	}
	return n
}

// A load keeps all processors running through the subjects until it is stopped.
type load struct {
	stopped atomic.Bool
	runs    atomic.Int64
	wg      sync.WaitGroup
}

func startLoad(t *testing.T) *load {
	l := new(load)
	var want []string
	for _, s := range subjects {
		want = append(want, s.run())
	}
	wantTarget := target1(15)
	for w := range runtime.GOMAXPROCS(0) {
		l.wg.Go(func() {
			for i := w; !l.stopped.Load(); i++ {
				s, want := subjects[i%len(subjects)], want[i%len(subjects)]
				if got := s.run(); got != want {
					t.Errorf("%s: %s\nwant %s", s.name, got, want)
					return
				}
				if n := i % 50; deep(n, noop) != n*(n+1)/2 || recovers(n) != n+1 || target1(15) != wantTarget || fuzzInner(n) != n*3 {
					t.Error("wrong result")
					return
				}
				switch i % 8 {
				case 0:
					done := make(chan bool)
					go func() {
						defer close(done)
						exits(9)
					}()
					<-done
				case 1:
					runtime.GC()
				}
				l.runs.Add(1)
			}
		})
	}
	return l
}

// wait waits until as much more has been run as there are processors, or the test has failed.
func (l *load) wait(t *testing.T) {
	for until := l.runs.Load() + int64(runtime.GOMAXPROCS(0)); l.runs.Load() < until && !t.Failed(); {
		time.Sleep(time.Millisecond)
	}
}

func (l *load) stop() {
	l.stopped.Store(true)
	l.wg.Wait()
}

// fuzzInner is what handlers call that are to hit another probe.
//
//go:noinline
func fuzzInner(n int) int { return n * 3 }

// runGroup places the probes of a group under load, disturbs them, and takes them away.
func runGroup(t *testing.T, f *fuzzer, group []*fuzzed, l *load) {
	var ps []*Kprobe
	var rps []*Kretprobe
	for _, p := range group {
		if p.ret != nil {
			rps = append(rps, p.ret)
		} else {
			ps = append(ps, p.Kprobe)
		}
	}
	SetOptimization(f.rng.Intn(8) > 0)
	defer SetOptimization(true)
	if err := RegisterAll(ps); err != nil {
		t.Fatal(err)
	}
	if err := RegisterKretprobes(rps); err != nil {
		t.Fatal(err)
	}
	if f.rng.Intn(2) == 0 {
		WaitOptimizer()
	}
	l.wait(t)
	for _, p := range group {
		p.optimized = p.State()&FlagOptimized != 0
	}
	for range 1 + f.rng.Intn(3) {
		f.disturb(t, group)
	}
	l.wait(t)
	for _, p := range group {
		if p.asked.Load() {
			if err := Disable(p.Kprobe); err != nil {
				t.Error(err)
			}
			p.atDisable = p.Nhit()
		}
	}
	l.wait(t)
	for _, p := range group {
		if p.asked.Load() && p.atDisable != 0 && p.Nhit() != p.atDisable {
			t.Errorf("%v: %d hits while it is disabled", p, p.Nhit()-p.atDisable)
		}
	}
	if err := UnregisterAll(ps); err != nil {
		t.Error(err)
	}
	if err := UnregisterKretprobes(rps); err != nil {
		t.Error(err)
	}
}

// checkQuiet waits until no call is on its way and no runtime lock is held, as it has to be when
// nothing runs.
func checkQuiet(t *testing.T, kept []*fuzzed) {
	var onTheirWay int
	var locks int32
	for range 100 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
		onTheirWay, locks = 0, 0
		for _, p := range kept {
			onTheirWay += p.onTheirWay()
		}
		for _, c := range cpus {
			if c != 0 && refTo(ref[int32](c.get().LocksAt).get()) != 0 {
				locks += *ref[int32](c.get().LocksAt).get()
			}
		}
		if onTheirWay == 0 && locks == 0 {
			break
		}
	}
	for _, p := range kept {
		p.checkBalance(t)
	}
	if n := *(*int32)(unsafe.Add(nil, goruntime.Locks())); n != 0 || locks != 0 {
		t.Errorf("%d and %d runtime locks are held", n, locks)
	}
	t.Logf("%d calls are still on their way", onTheirWay)
}

// fuzzPlaces are where probes can be.
type fuzzPlaces struct {
	all, warm []symtab.Func // functions; those that the load runs through
}

// newFuzzPlaces finds them: with a probe at every function.
func newFuzzPlaces(t *testing.T) *fuzzPlaces {
	if err := start(); err != nil {
		t.Fatal(err)
	}
	places := new(fuzzPlaces)
	var ps []*Kprobe
	var addrs []uintptr
	for fn := range symtab.All() {
		addrs = append(addrs, fn.Entry())
	}
	for i, ok := range takeProbes(addrs) {
		if ok {
			fn, _ := symtab.Find(addrs[i])
			places.all = append(places.all, fn)
			ps = append(ps, &Kprobe{Addr: addrs[i]})
		}
	}
	SetOptimization(false)
	defer SetOptimization(true)
	if err := RegisterAll(ps); err != nil {
		t.Fatal(err)
	}
	l := startLoad(t)
	for range 8 {
		l.wait(t)
	}
	l.stop()
	if err := UnregisterAll(ps); err != nil {
		t.Fatal(err)
	}
	for i, p := range ps {
		if p.Nhit() > 0 {
			places.warm = append(places.warm, places.all[i])
		}
	}
	// The first one makes the trampoline.
	unregisterRet(t, registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "fuzzInner"}}))
	return places
}

// takeProbes says which instructions take a probe, without the synchronizations that it
// takes to try.
func takeProbes(addrs []uintptr) []bool {
	mu.Lock()
	defer mu.Unlock()
	taken := make([]bool, len(addrs))
	var points []*amd64.Point
	for i, addr := range addrs {
		p := &Kprobe{Addr: addr}
		_, fn, err := p.resolve("register")
		if err != nil {
			continue
		}
		point := new(amd64.Point)
		if point.Prepare(addr, addr == fn.Entry()) == nil {
			taken[i] = true
			points = append(points, point)
		}
	}
	amd64.Release(points)
	return taken
}

// A fuzzer makes groups of probes.
type fuzzer struct {
	*fuzzPlaces
	rng  *rand.Rand
	size int // of a group

	// Of all groups so far.
	hits, reentered, returned           uint64
	probes, hit, failed, optimized, ret int
}

// maxGroup is how many probes are placed together at most: many, because to synchronize takes time.
const maxGroup = 250

// group returns the probes of a group.
func (f *fuzzer) group() (group []*fuzzed) {
	// More than enough, for those that do not take a probe.
	entries, inside := make([]uintptr, 2*f.size), make([]uintptr, 2*f.size)
	for i := range entries {
		entries[i] = f.function().Entry()
		fn := functionInstructions(f.function())
		inside[i] = fn[f.rng.Intn(len(fn))]
	}
	entries, inside = f.takers(entries), f.takers(inside)
	for len(group) < f.size && len(entries) > 0 && len(inside) > 1 {
		if f.rng.Intn(3) == 0 {
			p := f.returnProbe(entries[0])
			entries = entries[1:]
			if p != nil {
				group = append(group, p)
			}
			continue
		}
		if f.rng.Intn(8) == 0 {
			p := f.jprobe(entries[0])
			entries = entries[1:]
			if p != nil {
				group = append(group, p)
			}
			continue
		}
		addr := inside[0]
		if n := f.rng.Intn(5 * f.size); n < len(group) {
			addr = group[n].Addr // colocated
		} else {
			inside = inside[1:]
		}
		if f.rng.Intn(8) == 0 {
			group = append(group, f.changing(addr), f.changing(addr))
		} else {
			group = append(group, f.probe(addr))
		}
	}
	return group
}

// function returns a random function, more often than not one that is executed.
func (f *fuzzer) function() symtab.Func {
	if f.rng.Intn(5) > 0 {
		return f.warm[f.rng.Intn(len(f.warm))]
	}
	return f.all[f.rng.Intn(len(f.all))]
}

// takers returns those of the instructions that take probes.
func (f *fuzzer) takers(addrs []uintptr) (list []uintptr) {
	for i, ok := range takeProbes(addrs) {
		if ok {
			list = append(list, addrs[i])
		}
	}
	return list
}

// disturb changes something about a group in place.
func (f *fuzzer) disturb(t *testing.T, group []*fuzzed) {
	p := group[f.rng.Intn(len(group))]
	switch {
	case f.rng.Intn(4) == 0:
		SetOptimization(!Optimization())
	case p.changes:
		// The other one of the pair would be left alone.
	case p.State()&FlagDisabled != 0:
		p.enabled = true
		if err := Enable(p.Kprobe); err != nil {
			t.Error(err)
		}
	default:
		if err := Disable(p.Kprobe); err != nil {
			t.Error(err)
		}
	}
}

// total adds a group that is done to the totals.
func (f *fuzzer) total(group []*fuzzed) {
	for _, p := range group {
		f.probes++
		f.hits += p.Nhit()
		f.reentered += p.reentered.sum() + p.mirroredInner.Load()
		if p.Nhit() > 0 {
			f.hit++
		}
		if p.off != 0 {
			f.failed++
		}
		if p.optimized {
			f.optimized++
		}
		if p.ret != nil {
			f.ret++
			f.returned += p.ret.Nreturned()
		}
	}
}

func (f *fuzzer) String() string {
	return fmt.Sprintf("%d probes, %d of them hit, %d optimized, %d failed, %d return probes; %d hits, %d inside handlers, %d returns",
		f.probes, f.hit, f.optimized, f.failed, f.ret, f.hits, f.reentered, f.returned)
}

// A perCPU is a count that handlers on all processors add to.
type perCPU [amd64.MaxCPU]uint32

func (n *perCPU) add(r *amd64.Regs) { n[r.CPU%amd64.MaxCPU]++ }

func (n *perCPU) sum() (sum uint64) {
	for _, v := range n {
		sum += uint64(v)
	}
	return sum
}

// A fuzzed is a random probe.
type fuzzed struct {
	*Kprobe
	ret  *Kretprobe // nil: it is a kprobe
	what string     // what it is and does

	pre, post, entry, handler perCPU        // calls of its handlers
	reentered                 perCPU        // hits of fuzzInner by them
	mirrored, mirroredInner   atomic.Uint64 // the same of a jprobe's mirror, which sees no registers
	wrong                     atomic.Bool   // fuzzInner's result was
	failing                   *perCPU       // calls of the one that fails, nil if none does
	changes                   bool          // it is one of a pair that changes registers and changes them back
	enabled                   bool          // by disturb: it may have failed before that
	optimized                 bool          // it was for a time

	asked     atomic.Bool // a handler asks for it to be disabled
	atDisable uint64      // the hits when it was
}

func (p *fuzzed) String() string {
	fn, _ := symtab.Find(p.Addr)
	return fmt.Sprintf("%s+%#x: %s; %d hits, %d missed, handlers pre %d post %d entry %d return %d, optimized %v", fn.Name(), p.Addr-fn.Entry(), p.what,
		p.Nhit(), p.Nmissed(), p.pre.sum(), p.post.sum(), p.entry.sum(), p.handler.sum(), p.optimized)
}

// behave returns what a handler is to do besides counting, nil for nothing.
func (p *fuzzed) behave(f *fuzzer, calls *perCPU) func(r *amd64.Regs) {
	switch f.rng.Intn(16) {
	case 0, 1:
		p.what += ", hits another"
		return func(r *amd64.Regs) {
			p.reentered.add(r)
			if fuzzInner(1) != 3 {
				p.wrong.Store(true)
			}
		}
	case 2:
		failure := &failures[f.rng.Intn(len(failures))]
		p.what += ", fails: " + failure.name
		p.failing = calls
		return func(*amd64.Regs) { failure.f() }
	case 3:
		p.what += ", asks to be disabled"
		return func(*amd64.Regs) { p.asked.Store(true) }
	case 4, 5:
		p.what += ", computes"
		return func(r *amd64.Regs) { fuzzFloat[r.CPU%amd64.MaxCPU] += float64(r.AX&0xff) * 1.5 }
	case 6, 7:
		if calls == &p.pre || calls == &p.post {
			p.what += ", faults and is repaired"
			p.FaultHandler = func(_ *Kprobe, r *amd64.Regs, _ amd64.Vector) bool {
				fn, ok := symtab.Find(uintptr(r.PC))
				if !ok || fn.Entry() != code(readNil) {
					return false // of the probed instruction
				}
				r.AX = uint64(uintptr(unsafe.Pointer(array)))
				return true
			}
			return func(*amd64.Regs) { readNil(nilPointer) }
		}
	}
	return nil
}

var fuzzFloat [amd64.MaxCPU]float64

// probe returns a kprobe.
func (f *fuzzer) probe(addr uintptr) *fuzzed {
	p := &fuzzed{Kprobe: &Kprobe{Addr: addr}, what: "kprobe"}
	p.disable(f)
	if f.rng.Intn(8) == 0 {
		return p // counts only
	}
	if f.rng.Intn(3) == 0 {
		p.what += ", post handler"
		p.PostHandler = func(_ *Kprobe, r *amd64.Regs, _ uint64) { p.post.add(r) }
		if behave := p.behave(f, &p.post); behave != nil {
			p.PostHandler = func(_ *Kprobe, r *amd64.Regs, _ uint64) {
				p.post.add(r)
				behave(r)
			}
		}
	}
	p.what += ", pre handler"
	// The engine sees that this one needs nothing saved, and cannot see what the other needs.
	p.PreHandler = func(_ *Kprobe, r *amd64.Regs) bool {
		p.pre.add(r)
		return false
	}
	if p.failing == nil && p.FaultHandler == nil {
		if behave := p.behave(f, &p.pre); behave != nil {
			p.PreHandler = func(_ *Kprobe, r *amd64.Regs) bool {
				p.pre.add(r)
				behave(r)
				return false
			}
		}
	}
	return p
}

// disable has some probes registered without being enabled.
func (p *fuzzed) disable(f *fuzzer) {
	if f.rng.Intn(10) == 0 {
		p.what += ", disabled"
		p.Flags = FlagDisabled
	}
}

// changing returns one of two probes that both change the registers, so that all is as it was
// behind the second.
func (f *fuzzer) changing(addr uintptr) *fuzzed {
	p := &fuzzed{Kprobe: &Kprobe{Addr: addr}, what: "kprobe, changes registers", changes: true}
	p.PreHandler = func(_ *Kprobe, r *amd64.Regs) bool {
		p.pre.add(r)
		const mask = 0x5555_aaaa_5555_aaaa
		for _, reg := range []*uint64{&r.AX, &r.BX, &r.CX, &r.DX, &r.SI, &r.DI, &r.BP, &r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R15} {
			*reg ^= mask
		}
		const statusFlags = 0x8d5 // CF, PF, AF, ZF, SF, OF
		r.Flags ^= statusFlags
		return false
	}
	return p
}

// jprobe returns a jprobe whose mirror leaves the arguments alone, nil if the function does not take one.
func (f *fuzzer) jprobe(addr uintptr) *fuzzed {
	fn, _ := symtab.Find(addr)
	if fn.IsAssembly() || fn.ArgsSize() > amd64.MaxMirrorArgs {
		return nil
	}
	p := &fuzzed{Kprobe: &Kprobe{Addr: addr, PreHandler: callMirror}, what: "jprobe"}
	p.disable(f)
	mirror := func() { p.mirrored.Add(1) }
	if f.rng.Intn(3) == 0 {
		p.what += ", hits another"
		mirror = func() {
			p.mirrored.Add(1)
			p.mirroredInner.Add(1)
			if fuzzInner(1) != 3 {
				p.wrong.Store(true)
			}
		}
	}
	p.mirror = funcPointer(mirror)
	p.argsSize = uintptr(fn.ArgsSize()) &^ 7
	return p
}

// returnProbe returns a return probe, nil if the function does not take one.
func (f *fuzzer) returnProbe(addr uintptr) *fuzzed {
	fn, _ := symtab.Find(addr)
	if strings.HasPrefix(fn.Name(), "testing.") { // calls that last as long as the test
		return nil
	}
	mu.Lock()
	refused := noReturnProbe(fn) != ""
	mu.Unlock()
	if refused {
		return nil
	}
	rp := &Kretprobe{Kprobe: Kprobe{Addr: addr}, MaxActive: 1 + f.rng.Intn(40), DataSize: f.rng.Intn(3) * 8}
	p := &fuzzed{Kprobe: &rp.Kprobe, ret: rp, what: fmt.Sprintf("return probe, maxactive %d", rp.MaxActive)}
	p.disable(f)
	if f.rng.Intn(2) == 0 {
		p.what += ", entry handler"
		rp.EntryHandler = func(_ *KretprobeInstance, r *amd64.Regs) bool {
			p.entry.add(r)
			return r.SP&64 != 0
		}
		if behave := p.behave(f, &p.entry); behave != nil {
			rp.EntryHandler = func(_ *KretprobeInstance, r *amd64.Regs) bool {
				p.entry.add(r)
				behave(r)
				return false
			}
		}
	}
	p.what += ", handler"
	rp.Handler = func(_ *KretprobeInstance, r *amd64.Regs) { p.handler.add(r) }
	if p.failing == nil {
		if behave := p.behave(f, &p.handler); behave != nil {
			rp.Handler = func(_ *KretprobeInstance, r *amd64.Regs) {
				p.handler.add(r)
				behave(r)
			}
		}
	}
	return p
}

// check compares what a probe that is gone has counted with what its handlers have, and its state
// with what they did.
func (p *fuzzed) check(t *testing.T) {
	handled := p.Nhit() - p.Nmissed()
	pre, post := p.pre.sum(), p.post.sum()
	switch {
	case p.ret != nil:
		if entered := p.entry.sum(); p.ret.EntryHandler != nil && entered+p.ret.Nlost() != handled {
			t.Errorf("%v: %d calls of the entry handler, %d lost", p, entered, p.ret.Nlost())
		}
		if p.handler.sum() > p.ret.Nreturned() {
			t.Errorf("%v: %d returned", p, p.ret.Nreturned())
		}
	case p.mirror != nil:
		if mirrored := p.mirrored.Load(); mirrored != handled {
			t.Errorf("%v: %d calls of the mirror", p, mirrored)
		}
	case p.PreHandler != nil && pre != handled:
		t.Errorf("%v: the pre handler does not balance", p)
	case p.PostHandler != nil && p.failing == nil && post != pre:
		t.Errorf("%v: the post handler does not balance", p)
	}
	if p.wrong.Load() {
		t.Errorf("%v: what its handler called had a wrong result", p)
	}
	fails := p.failing != nil && p.failing.sum() > 0
	if failed := p.off != 0 || p.faulted; failed != fails && !(fails && p.enabled) {
		t.Errorf("%v: failed %v", p, failed)
	}
	if p.Flags&FlagDisabled != 0 && !p.enabled && p.Nhit() != 0 {
		t.Errorf("%v: hits of a disabled probe", p)
	}
}

// onTheirWay returns how many calls of a return probe have not returned.
func (p *fuzzed) onTheirWay() int { return len(p.ret.instances) - p.ret.returns.NumFree() }

// checkBalance checks that every call is accounted for, when nothing runs.
func (p *fuzzed) checkBalance(t *testing.T) {
	calls := p.Nhit() - p.Nmissed()
	sum := p.ret.Nreturned() + p.ret.Nabandoned() + p.ret.Nskipped() + p.ret.Nlost() + uint64(p.onTheirWay())
	if sum != calls {
		t.Errorf("%v: %d calls, but %d returned, %d abandoned, %d skipped, %d lost, %d on their way", p, calls,
			p.ret.Nreturned(), p.ret.Nabandoned(), p.ret.Nskipped(), p.ret.Nlost(), p.onTheirWay())
	}
}
