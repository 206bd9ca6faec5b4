//go:build metal

package kprobes

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"runtime"
	rtdebug "runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tamaprobe/arch/amd64"
	"tamaprobe/symtab"
)

// programs use what is difficult for a runtime. Each returns a result that does not depend on how
// fast it runs.
var programs = []struct {
	name string
	run  func() string
}{
	{"garbage", garbage},
	{"channels", channels},
	{"select", selects},
	{"timers", timers},
	{"maps", concurrentMaps},
	{"panics", panics},
	{"recursion", recursion},
	{"goroutines", churn},
	{"sync", synchronization},
	{"cleanups", cleanups},
	{"contexts", contexts},
	{"coroutines", coroutines},
	{"reflection", reflection},
	{"tracebacks", tracebacks},
}

// TestRuntimeTorture runs the programs, with a kprobe and a return probe at every function that takes
// them, by jumps where that can be, and the garbage collector at work all the time: the results are those
// without probes.
func TestRuntimeTorture(t *testing.T) {
	duration := 20 * time.Second
	if testing.Short() {
		duration = 4 * time.Second
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	findArrivals() // which takes long with probes everywhere
	mu.Unlock()
	var want []string
	for _, p := range programs {
		want = append(want, p.run())
		if again := p.run(); again != want[len(want)-1] {
			t.Fatalf("%s, without probes: %s\nand then %s", p.name, want[len(want)-1], again)
		}
	}
	before := text()
	goroutines := runtime.NumGoroutine()
	// Not all at once: what optimizes them is slow while it has breakpoints itself.
	var ps []*Kprobe
	var rps []*Kretprobe
	for addrs := range slices.Chunk(entries(), 400) {
		morePs, moreRps := probesAt(addrs)
		if err := RegisterAll(morePs); err != nil {
			t.Fatal(err)
		}
		if err := RegisterKretprobes(moreRps); err != nil {
			t.Fatal(err)
		}
		WaitOptimizer()
		ps, rps = append(ps, morePs...), append(rps, moreRps...)
	}
	old := rtdebug.SetGCPercent(1)
	rounds := 0
	for end := time.Now().Add(duration); time.Now().Before(end) && !t.Failed(); rounds++ {
		var wg sync.WaitGroup
		for i, p := range programs {
			wg.Go(func() {
				if got := p.run(); got != want[i] {
					t.Errorf("%s: %s\nwant %s", p.name, got, want[i])
				}
			})
		}
		wg.Wait()
	}
	rtdebug.SetGCPercent(old)
	jumps := 0
	mu.Lock()
	for _, p := range ps {
		if p.site.detour != nil {
			jumps++
		}
	}
	mu.Unlock()
	SetEnabled(false)
	if err := UnregisterKretprobes(rps); err != nil {
		t.Error(err)
	}
	if err := UnregisterAll(ps); err != nil {
		t.Error(err)
	}
	SetEnabled(true)
	for i, p := range programs {
		if got := p.run(); got != want[i] {
			t.Errorf("%s, afterwards: %s\nwant %s", p.name, got, want[i])
		}
	}

	hits, returned := uint64(0), uint64(0)
	for _, p := range ps {
		hits += p.Nhit()
	}
	for _, rp := range rps {
		returned += rp.Nreturned()
		checkEveryCall(t, rp)
	}
	t.Logf("%d rounds; %d probes, %d of them optimized, %d hits; %d return probes, %d returns", rounds, len(ps), jumps, hits, len(rps), returned)
	if rounds == 0 || hits == 0 || returned == 0 || jumps*100 < len(ps)*95 {
		t.Error("too little happened")
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d at the start", n, goroutines)
	}
	if !bytes.Equal(text(), before) {
		t.Error("the text is not as it was")
	}
}

// entries are the functions that take a probe, the engine's own last or not at all: with probes there it
// is slow to place more.
func entries() (addrs []uintptr) {
	var own []uintptr
	for fn := range symtab.All() {
		if strings.HasPrefix(fn.Name(), "tamaprobe/") {
			own = append(own, fn.Entry())
		} else {
			addrs = append(addrs, fn.Entry())
		}
	}
	if !testing.Short() {
		addrs = append(addrs, own...)
	}
	taken := takeProbes(addrs)
	n := 0
	for i, addr := range addrs {
		if taken[i] {
			addrs[n] = addr
			n++
		}
	}
	return addrs[:n]
}

// probesAt returns a kprobe for every one of some functions, and a return probe for those that take one.
func probesAt(addrs []uintptr) (ps []*Kprobe, rps []*Kretprobe) {
	mu.Lock()
	defer mu.Unlock()
	for _, addr := range addrs {
		ps = append(ps, &Kprobe{Addr: addr, PreHandler: func(*Kprobe, *amd64.Regs) bool { return false }})
		fn, _ := symtab.Find(addr)
		if noReturnProbe(fn) == "" && !strings.HasPrefix(fn.Name(), "testing.") { // calls that last as long as the test
			rps = append(rps, &Kretprobe{Kprobe: Kprobe{Addr: addr}, MaxActive: 10, Handler: func(*KretprobeInstance, *amd64.Regs) {}})
		}
	}
	return ps, rps
}

// checkEveryCall checks that every call of a return probe that is gone is accounted for, those that
// are still on their way included.
func checkEveryCall(t *testing.T, rp *Kretprobe) {
	var calls, sum uint64
	for range 100 {
		calls = rp.Nhit() - rp.Nmissed()
		sum = rp.Nreturned() + rp.Nabandoned() + rp.Nskipped() + rp.Nlost() + uint64(len(rp.instances)-rp.returns.NumFree())
		if sum == calls {
			return
		}
		time.Sleep(time.Millisecond) // one may have returned meanwhile
	}
	t.Errorf("%s: %d calls, %d accounted for", rp.where(), calls, sum)
}

// A node is what garbage is made of.
type node struct {
	left, right *node
	value       int
	pad         []byte
}

func plant(depth, value int) *node {
	if depth == 0 {
		return nil
	}
	return &node{plant(depth-1, 2*value), plant(depth-1, 2*value+1), value, make([]byte, value%300)}
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.value + len(n.pad) + n.left.sum() + n.right.sum()
}

// garbage keeps one tree while others come and go.
func garbage() string {
	kept := plant(8, 1)
	sum := 0
	for i := range 4 {
		sum += plant(6, i).sum()
		if i == 2 {
			runtime.GC()
		}
	}
	big := make([]byte, 1<<18)
	big[len(big)-1] = 7
	words := ""
	for i := range 50 {
		words += fmt.Sprint(i, ",")
	}
	return fmt.Sprint(kept.sum(), sum, big[len(big)-1], len(words))
}

// channels moves numbers through a chain of goroutines.
func channels() string {
	source := make(chan int)
	out := source
	for i := range 8 {
		in, next := out, make(chan int, i%3)
		go func() {
			defer close(next)
			for v := range in {
				next <- v + 1
			}
		}()
		out = next
	}
	go func() {
		defer close(source)
		for i := range 30 {
			source <- i
		}
	}()
	sum, n := 0, 0
	for v := range out {
		sum += v
		n++
	}
	_, open := <-out
	closed := func() (text string) {
		defer func() { text = fmt.Sprint(recover()) }()
		close(source)
		return ""
	}()
	return fmt.Sprint(sum, n, open, closed)
}

// selects waits for several things at once, some of which never come.
func selects() string {
	var never chan int
	a, b, quit := make(chan int), make(chan string, 2), make(chan struct{})
	var timeouts, defaults, sum int
	select {
	case <-never:
	default:
		defaults++
	}
	select {
	case <-never:
	case <-time.After(time.Millisecond):
		timeouts++
	}
	go func() {
		for i := range 20 {
			select {
			case a <- i:
			case b <- fmt.Sprint(i):
			case <-time.After(time.Hour):
			}
		}
		close(quit)
	}()
	for quit := quit; ; {
		select {
		case v := <-a:
			sum += v
		case s := <-b:
			var v int
			fmt.Sscan(s, &v)
			sum += v
		case <-quit:
			if len(b) > 0 {
				continue
			}
			return fmt.Sprint(sum, timeouts, defaults)
		}
	}
}

// timers starts, stops, and resets timers.
func timers() string {
	var late, fired atomic.Int32
	stopped := time.AfterFunc(time.Hour, func() { late.Add(1) })
	wasActive := stopped.Stop()
	again := stopped.Stop()
	var wg sync.WaitGroup
	wg.Add(20)
	for i := range 20 {
		timer := time.AfterFunc(time.Hour, func() {
			fired.Add(1)
			wg.Done()
		})
		timer.Reset(time.Duration(i%5) * 100 * time.Microsecond)
	}
	wg.Wait()
	ticker := time.NewTicker(200 * time.Microsecond)
	ticks := 0
	for range 3 {
		<-ticker.C
		ticks++
	}
	ticker.Reset(time.Hour)
	ticker.Stop()
	timer := time.NewTimer(time.Microsecond)
	<-timer.C
	active := timer.Reset(time.Microsecond)
	<-timer.C
	start := time.Now()
	time.Sleep(time.Millisecond)
	return fmt.Sprint(wasActive, again, late.Load(), fired.Load(), ticks, active, time.Since(start) >= time.Millisecond)
}

// concurrentMaps has goroutines share maps.
func concurrentMaps() string {
	var mu sync.Mutex
	var shared sync.Map
	plain := make(map[string]int)
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for i := range 40 {
				key := fmt.Sprint(i)
				mu.Lock()
				plain[key] += g
				if i%3 == 0 {
					delete(plain, fmt.Sprint("no", i))
				}
				mu.Unlock()
				v, _ := shared.LoadOrStore(i, new(atomic.Int64))
				v.(*atomic.Int64).Add(int64(g))
			}
		})
	}
	wg.Wait()
	sum := int64(0)
	shared.Range(func(key, v any) bool {
		sum += v.(*atomic.Int64).Load() * int64(key.(int))
		return key != 50
	})
	for key := range plain {
		if len(key) == 1 {
			delete(plain, key)
		}
	}
	keys := slices.Sorted(maps.Keys(plain))
	clear(plain)
	return fmt.Sprint(sum, keys, len(plain))
}

var nilMap map[string]int

// panics unwinds in all the ways there are.
func panics() string {
	var log []string
	note := func(v any) { log = append(log, fmt.Sprint(v)) }
	try := func(f func()) {
		defer func() { note(recover()) }()
		f()
	}
	try(func() { panic("plain") })
	try(func() { panic(errors.New("error")) })
	try(func() { note(readNil(nil)) })
	try(func() { note(array[twenty%20+16]) })
	try(func() { nilMap["x"] = 1 })
	try(func() { var x any = 3; note(x.(string)) })
	try(func() {
		defer func() {
			note(recover())
			panic("second")
		}()
		panic("first")
	})
	try(func() {
		defer func() { panic("replaced") }()
		defer func() { note("in between") }()
		panic("lost")
	})
	try(func() {
		for i := range 5 { // defers in a loop are on the heap
			defer note(i)
		}
		deep(30, func() { panic("deep") })
	})
	try(func() { note(named(3)) })
	done := make(chan bool)
	go func() {
		defer close(done)
		defer func() { note(recover()) }() // nothing: it is no panic
		defer note("exits")
		exits(5)
	}()
	<-done
	done = make(chan bool)
	go func() {
		defer close(done)
		defer note("after both")
		defer runtime.Goexit()
		panic("ended by Goexit")
	}()
	<-done
	return strings.Join(log, "|")
}

// named changes its result after it has recovered.
//
//go:noinline
func named(n int) (result int) {
	defer func() {
		if v := recover(); v != nil {
			result = v.(int) * 2
		}
	}()
	if n > 0 {
		panic(named(n-1) + n)
	}
	return 5
}

// recursion grows stacks with pointers into them, and lets them shrink.
func recursion() string {
	var wg sync.WaitGroup
	var sums [4]int
	for g := range sums {
		wg.Go(func() {
			for i := range 3 {
				local := g
				sums[g] += descend(300, &local) + local
				if g == 0 && i == 1 {
					runtime.GC() // shrinks
				}
			}
			sums[g] += ackermann(2, 3)
		})
	}
	wg.Wait()
	return fmt.Sprint(sums)
}

//go:noinline
func descend(n int, above *int) int {
	var frame [10]int
	frame[n%10] = n
	*above++
	if n == 0 {
		return 0
	}
	r := descend(n-1, &frame[n%10])
	return r + frame[n%10] - n
}

//go:noinline
func ackermann(m, n int) int {
	switch {
	case m == 0:
		return n + 1
	case n == 0:
		return ackermann(m-1, 1)
	}
	return ackermann(m-1, ackermann(m, n-1))
}

// churn has many goroutines come and go.
func churn() string {
	var sum atomic.Int64
	var wg sync.WaitGroup
	for i := range 150 {
		wg.Go(func() {
			if i%3 == 0 {
				runtime.Gosched()
			}
			inner := make(chan int)
			go func() { inner <- grow(i % 50) }()
			sum.Add(int64(<-inner))
		})
	}
	wg.Wait()
	return fmt.Sprint(sum.Load())
}

// synchronization uses package sync.
func synchronization() string {
	var once sync.Once
	var rw sync.RWMutex
	pool := sync.Pool{New: func() any { return new([64]int) }}
	cond := sync.NewCond(&sync.Mutex{})
	ready, onces, wrong, value := 0, 0, 0, 0
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			once.Do(func() { onces++ })
			for j := range 10 {
				b := pool.Get().(*[64]int)
				b[j] = i*100 + j
				runtime.Gosched()
				if b[j] != i*100+j {
					rw.Lock()
					wrong++
					rw.Unlock()
				}
				pool.Put(b)
				rw.Lock()
				value += j
				rw.Unlock()
				rw.RLock()
				_ = value
				rw.RUnlock()
			}
			cond.L.Lock()
			ready++
			cond.L.Unlock()
			cond.Signal()
		})
	}
	cond.L.Lock()
	for ready < 8 {
		cond.Wait()
	}
	cond.L.Unlock()
	wg.Wait()
	return fmt.Sprint(onces, wrong, value, ready)
}

// cleanups has the collector call functions.
func cleanups() string {
	var finalized, cleaned atomic.Int32
	const n = 10
	func() {
		for i := range n {
			p := &node{value: i, pad: make([]byte, 10)}
			runtime.SetFinalizer(p, func(p *node) { finalized.Add(int32(p.value)) })
			runtime.AddCleanup(&node{value: i, pad: make([]byte, 10)}, func(i int) { cleaned.Add(int32(i)) }, i)
		}
	}()
	for range 100 {
		if finalized.Load() == n*(n-1)/2 && cleaned.Load() == n*(n-1)/2 {
			break
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	return fmt.Sprint(finalized.Load(), cleaned.Load())
}

type contextKey struct{}

// contexts cancels trees of them.
func contexts() string {
	root, cancel := context.WithCancelCause(context.WithValue(context.Background(), contextKey{}, 7))
	var wg sync.WaitGroup
	var ended, after atomic.Int32
	wg.Add(2 * 12)
	for i := range 12 {
		ctx, cancelOne := context.WithTimeout(root, time.Hour)
		context.AfterFunc(ctx, func() {
			after.Add(1)
			wg.Done()
		})
		go func() {
			defer wg.Done()
			defer cancelOne()
			below, cancelBelow := context.WithCancel(ctx)
			defer cancelBelow()
			if i%4 == 0 {
				cancelOne()
			}
			<-below.Done()
			ended.Add(1)
		}()
	}
	cancel(errTest)
	wg.Wait()
	short, cancelShort := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancelShort()
	<-short.Done()
	return fmt.Sprint(ended.Load(), after.Load(), context.Cause(root), root.Err(), root.Value(contextKey{}), short.Err())
}

// coroutines switches between stacks without the scheduler.
func coroutines() string {
	numbers := func(yield func(int) bool) {
		for i := 0; yield(i * i); i++ {
		}
	}
	next, stop := iter.Pull(iter.Seq[int](numbers))
	defer stop()
	sum := 0
	for range 20 {
		v, _ := next()
		sum += v + deep(v%20, noop)
	}
	stop()
	_, more := next()
	failing, stopFailing := iter.Pull(iter.Seq[int](func(yield func(int) bool) {
		yield(1)
		panic("in a coroutine")
	}))
	defer stopFailing()
	failing()
	failed := func() (text string) {
		defer func() { text = fmt.Sprint(recover()) }()
		failing()
		return ""
	}()
	return fmt.Sprint(sum, more, failed)
}

// reflection calls functions that were not known when this was compiled.
func reflection() string {
	double := reflect.MakeFunc(reflect.TypeFor[func(int, string, float64) (string, error)](), func(args []reflect.Value) []reflect.Value {
		s := fmt.Sprint(args[0].Int()*2, args[1].String()+args[1].String(), args[2].Float()*2)
		return []reflect.Value{reflect.ValueOf(s), reflect.Zero(reflect.TypeFor[error]())}
	}).Interface().(func(int, string, float64) (string, error))
	s, err := double(4, "x", 1.25)
	many := reflect.ValueOf(manyResults).Call([]reflect.Value{reflect.ValueOf(3)})
	replaced := reflect.ValueOf(strings.NewReplacer("a", "b")).MethodByName("Replace").Call([]reflect.Value{reflect.ValueOf("banana")})
	sum := plant(4, 1).sum // a method value
	return fmt.Sprint(s, err, many[0], many[2], many[4], replaced[0], sum(), slices.MaxFunc([]int{3, 9, 4}, cmp.Compare[int]))
}

// tracebacks reads the stack, to the top of the goroutine.
func tracebacks() string {
	var names []string
	done := make(chan bool)
	go func() {
		defer close(done)
		deep(3, func() {
			pcs := make([]uintptr, 30)
			frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
			for {
				frame, more := frames.Next()
				names = append(names, fmt.Sprint(frame.Function, ":", frame.Line))
				if !more {
					break
				}
			}
			stack := string(rtdebug.Stack())
			names = append(names, fmt.Sprint(strings.Count(stack, "\n")))
		})
	}()
	<-done
	return strings.Join(names, " ")
}
