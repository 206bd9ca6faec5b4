//go:build metal

package kprobes

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	rtdebug "runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"tamaprobe/arch/amd64"
	"tamaprobe/boot/board"
	"tamaprobe/internal/cputest"
	"tamaprobe/symtab"
)

func registerRet(t testing.TB, rp *Kretprobe) *Kretprobe {
	t.Helper()
	if err := RegisterKretprobe(rp); err != nil {
		t.Fatal(err)
	}
	return rp
}

func unregisterRet(t testing.TB, rp *Kretprobe) {
	t.Helper()
	if err := UnregisterKretprobe(rp); err != nil {
		t.Error(err)
	}
}

// balanced checks that every call is accounted for.
func balanced(t testing.TB, rp *Kretprobe) {
	t.Helper()
	calls := rp.Nhit() - rp.Nmissed()
	if sum := rp.Nreturned() + rp.Nabandoned() + rp.Nskipped() + rp.Nlost(); sum != calls {
		t.Errorf("%s: %d calls, but %d returned, %d abandoned, %d skipped, %d lost", rp.where(),
			calls, rp.Nreturned(), rp.Nabandoned(), rp.Nskipped(), rp.Nlost())
	}
	if rp.active() {
		t.Errorf("%s: instances are in use", rp.where())
	}
}

// bothWays runs a test with breakpoints and with jumps.
func bothWays(t *testing.T, f func(t *testing.T)) {
	t.Run("breakpoint", func(t *testing.T) {
		SetOptimization(false)
		defer SetOptimization(true)
		f(t)
	})
	t.Run("jump", f)
}

func TestKretprobe(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		before := text()
		entries, returns := 0, 0
		var results, starts [10]uint64
		rp := registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "probed"}, DataSize: 8,
			EntryHandler: func(ri *KretprobeInstance, r *amd64.Regs) bool {
				*(*uint64)(unsafe.Pointer(&ri.Data[0])) = r.Arg(0)
				entries++
				return r.Arg(0) == 5
			},
			Handler: func(ri *KretprobeInstance, r *amd64.Regs) {
				results[returns%10] = r.Arg(0)
				starts[returns%10] = *(*uint64)(unsafe.Pointer(&ri.Data[0]))
				returns++
			},
		})
		WaitOptimizer()
		for i := range 10 {
			if got := probed(i, 7); got != i*3+7 {
				t.Fatalf("probed(%d, 7) = %d", i, got)
			}
		}
		unregisterRet(t, rp)
		if entries != 10 || returns != 9 || rp.Nskipped() != 1 || rp.Nreturned() != 9 {
			t.Errorf("%d entries, %d returns, %d skipped", entries, returns, rp.Nskipped())
		}
		for i, want := range []uint64{0, 1, 2, 3, 4, 6, 7, 8, 9} {
			if starts[i] != want || results[i] != want*3+7 {
				t.Errorf("return %d: argument %d, result %d", i, starts[i], results[i])
			}
		}
		balanced(t, rp)
		if !bytes.Equal(text(), before) {
			t.Error("the text is not as it was")
		}
	})
}

// A handler can change the result.
func TestKretprobeChangesResult(t *testing.T) {
	rp := registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "probed"}, Handler: func(_ *KretprobeInstance, r *amd64.Regs) { r.AX = 1000 }})
	if got := probed(1, 2); got != 1000 {
		t.Errorf("%d", got)
	}
	unregisterRet(t, rp)
	if got := probed(1, 2); got != 5 {
		t.Errorf("%d", got)
	}
}

// Recursion, with stacks that grow and move, and the garbage collector.
func TestKretprobeStackGrowth(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		var handled atomic.Uint64
		rp := registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "grow"}, MaxActive: 60000, Handler: func(*KretprobeInstance, *amd64.Regs) { handled.Add(1) }})
		WaitOptimizer()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for range 3 {
					if got := grow(1000); got != 500500 {
						t.Errorf("grow(1000) = %d", got)
					}
					runtime.GC()
				}
			})
		}
		wg.Wait()
		unregisterRet(t, rp)
		balanced(t, rp)
		if handled.Load() != 60*1001 || rp.Nreturned() != 60*1001 || rp.Nabandoned() != 0 {
			t.Errorf("%d calls of the handler, %d returned, %d abandoned", handled.Load(), rp.Nreturned(), rp.Nabandoned())
		}
	})
}

//go:noinline
func deep(n int, f func()) int {
	var pad [8]int
	pad[n%8] = n
	if n == 0 {
		f()
		return 0
	}
	return deep(n-1, f) + pad[n%8]
}

// Callers, tracebacks and panics see what they see without the probe.
func TestKretprobeTracebacks(t *testing.T) {
	trace := func() (s string) {
		deep(20, func() {
			pcs := make([]uintptr, 50)
			frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
			for {
				frame, more := frames.Next()
				s += fmt.Sprintf("%s:%d\n", frame.Function, frame.Line)
				if !more {
					return
				}
			}
		})
		return s
	}
	panics := func() (s string) {
		defer func() {
			buf := make([]byte, 8192)
			s = fmt.Sprint(recover()) + strings.Join(strings.Split(string(buf[:runtime.Stack(buf, false)]), "\n")[1:30], "\n")
		}()
		deep(5, func() { readNil(nilPointer) })
		return ""
	}
	var got [2][2]string
	for i := range 2 { // from the same line
		var rps []*Kretprobe
		if i == 1 {
			for _, name := range []string{"deep", "readNil"} {
				rps = append(rps, registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + name}, MaxActive: 100, Handler: func(*KretprobeInstance, *amd64.Regs) {}}))
			}
			WaitOptimizer()
		}
		got[i] = [2]string{trace(), panics()}
		for _, rp := range rps {
			unregisterRet(t, rp)
			if rp.Nhit() == 0 {
				t.Errorf("%s: no hits", rp.where())
			}
		}
	}
	if got[0][0] != got[1][0] || !strings.Contains(got[0][0], "deep") {
		t.Errorf("Callers: without\n%swith\n%s", got[0][0], got[1][0])
	}
	strip := func(s string) string { // arguments differ
		var lines []string
		for _, line := range strings.Split(s, "\n") {
			if i := strings.LastIndexByte(line, '('); i > 0 && !strings.HasPrefix(line, "\t") {
				line = line[:i]
			}
			lines = append(lines, line)
		}
		return strings.Join(lines, "\n")
	}
	if strip(got[0][1]) != strip(got[1][1]) || !strings.Contains(got[0][1], "readNil") {
		t.Errorf("panic: without\n%s\nwith\n%s", got[0][1], got[1][1])
	}
}

//go:noinline
func recovers(n int) (result int) {
	defer func() {
		if recover() != nil {
			result = n + 1
		}
	}()
	return panicsBelow(n)
}

//go:noinline
func panicsBelow(n int) int {
	if n >= 0 {
		panic("below")
	}
	return n
}

// A function that recovers returns; one that a panic unwinds does not, and its instance
// comes back.
func TestKretprobePanics(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		outer := registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "recovers"}})
		inner := registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "panicsBelow"}, MaxActive: 1})
		WaitOptimizer()
		n := 100_000
		if testing.Short() {
			n = 5000
		}
		done := make(chan bool)
		go func() {
			for i := range n {
				if got := recovers(i); got != i+1 {
					t.Errorf("recovers(%d) = %d", i, got)
					break
				}
				if inner.active() {
					t.Error("the instance of a call that a panic unwound was not given back")
					break
				}
			}
			done <- true
		}()
		<-done
		unregisterRet(t, outer)
		unregisterRet(t, inner)
		balanced(t, outer)
		balanced(t, inner)
		if outer.Nreturned() != uint64(n) || inner.Nreturned() != 0 || inner.Nabandoned() != uint64(n) {
			t.Errorf("%d returned, %d and %d abandoned", outer.Nreturned(), inner.Nreturned(), inner.Nabandoned())
		}
	})
}

//go:noinline
func exits(n int) int {
	if n == 0 {
		runtime.Goexit()
	}
	return exits(n-1) + 1
}

// Goroutines that end inside probed functions, also the one at the top of its stack.
func TestKretprobeGoexit(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		rp := registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "exits"}, MaxActive: 1000})
		top := registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "topOfStack"}, MaxActive: 1000})
		WaitOptimizer()
		const n = 200
		var wg sync.WaitGroup
		topDone = &wg
		for range n {
			wg.Add(2)
			go func() {
				defer wg.Done()
				exits(9)
			}()
			go topOfStack()
		}
		wg.Wait()
		for range 100 {
			if !rp.active() && !top.active() {
				break
			}
			time.Sleep(time.Millisecond)
		}
		unregisterRet(t, rp)
		unregisterRet(t, top)
		balanced(t, rp)
		balanced(t, top)
		if rp.Nabandoned() != 10*n || top.Nreturned() != n {
			t.Errorf("%d abandoned, %d returned at the top", rp.Nabandoned(), top.Nreturned())
		}
	})
}

var topDone *sync.WaitGroup

//go:noinline
func topOfStack() { topDone.Done() }

// Instances run out: the entry handler is not called either, and machine code that follows calls
// leaves it to the pre handler to count that.
func TestKretprobeMaxActive(t *testing.T) {
	for _, withEntry := range []bool{true, false} {
		bothWays(t, func(t *testing.T) {
			entries, returns := 0, 0
			rp := &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "deep"}, MaxActive: 5,
				Handler: func(*KretprobeInstance, *amd64.Regs) { returns++ },
			}
			if withEntry {
				rp.EntryHandler = func(*KretprobeInstance, *amd64.Regs) bool { entries++; return false }
			}
			registerRet(t, rp)
			WaitOptimizer()
			if got := deep(9, func() {}); got != 45 {
				t.Errorf("%d", got)
			}
			unregisterRet(t, rp)
			balanced(t, rp)
			if withEntry && entries != 5 || returns != 5 || rp.Nlost() != 5 || rp.Nhit() != 10 {
				t.Errorf("%d entries, %d returns, %d lost, %d hits", entries, returns, rp.Nlost(), rp.Nhit())
			}
		})
	}
}

// Several at one function, together with a kprobe.
func TestKretprobeColocated(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		order := make([]int, 0, 20)
		var to [3]uintptr
		var rps []*Kretprobe
		for i := range 3 {
			rps = append(rps, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "probed"},
				EntryHandler: func(*KretprobeInstance, *amd64.Regs) bool {
					order = append(order[:len(order):cap(order)], i)
					return false
				},
				Handler: func(_ *KretprobeInstance, r *amd64.Regs) {
					order = append(order[:len(order):cap(order)], 10+i)
					to[i] = ReturnsTo(r)
				}})
		}
		if err := RegisterKretprobes(rps); err != nil {
			t.Fatal(err)
		}
		p := register(t, &Kprobe{Symbol: pkg + "probed"})
		WaitOptimizer()
		if got := probed(1, 2); got != 5 || fmt.Sprint(order) != "[0 1 2 12 11 10]" {
			t.Errorf("%d, order %v", got, order)
		}
		for i, pc := range to {
			if fn, ok := symtab.Find(pc); !ok || !strings.Contains(fn.Name(), "TestKretprobeColocated") {
				t.Errorf("%d returns to %#x", i, pc)
			}
		}
		if err := UnregisterKretprobes(append(rps, &Kretprobe{})); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("one not registered: %v", err)
		}
		unregister(t, p)
		checkCounts(t, p, 1, 0)
		for _, rp := range rps {
			balanced(t, rp)
		}
	})
}

// Calls on their way when the probe goes return all the same, without the handler.
func TestKretprobeUnregisterInFlight(t *testing.T) {
	var gone atomic.Bool
	late := 0
	rp := registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "deep"}, MaxActive: 2000, Handler: func(*KretprobeInstance, *amd64.Regs) {
		if gone.Load() {
			late++
		}
	}})
	release := make(chan bool)
	var ready, done sync.WaitGroup
	for range 20 {
		ready.Add(1)
		done.Go(func() {
			if got := deep(50, func() { ready.Done(); <-release }); got != 1275 {
				t.Errorf("%d", got)
			}
		})
	}
	ready.Wait()
	unregisterRet(t, rp)
	gone.Store(true)
	if err := RegisterKretprobe(rp); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("registered with calls on their way: %v", err)
	}
	runtime.GC()
	close(release)
	done.Wait()
	balanced(t, rp)
	if late != 0 || rp.Nreturned() != 20*51 {
		t.Errorf("%d calls of the handler, %d returned", late, rp.Nreturned())
	}
}

// A probe that is on its way out is kept until it is out: calls may still begin.
func TestKretprobeKeptWhileRegistered(t *testing.T) {
	rp := registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "deep"}})
	mu.Lock()
	rp.gone = true // as when UnregisterKretprobes begins
	forgetReturned()
	kept := kretprobes[rp]
	mu.Unlock()
	unregisterRet(t, rp)
	mu.Lock()
	defer mu.Unlock()
	if !kept || kretprobes[rp] {
		t.Errorf("kept %v, afterwards %v", kept, kretprobes[rp])
	}
}

// A return handler that fails costs the probe.
func TestKretprobeHandlerFails(t *testing.T) {
	for _, f := range failures {
		logged := catchLog(t)
		for _, entry := range []bool{false, true} {
			rp := &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "second"}}
			if entry {
				rp.EntryHandler = func(*KretprobeInstance, *amd64.Regs) bool { f.f(); return false }
			} else {
				rp.Handler = func(*KretprobeInstance, *amd64.Regs) { f.f() }
			}
			registerRet(t, rp)
			for i := range 50 {
				if i == 25 {
					WaitOptimizer()
				}
				x := float64(i)
				if got := second(i); got != i*5+1 || x != float64(i) {
					t.Fatalf("%s: second(%d) = %d", f.name, i, got)
				}
				if s := rp.State(); s != FlagDisabled|FlagFaulted {
					t.Fatalf("%s, entry %v: state %d", f.name, entry, s)
				}
				Enable(&rp.Kprobe)
			}
			result = second(1) // gives back the last
			unregisterRet(t, rp)
		}
		if len(*logged) == 0 || !strings.Contains((*logged)[0], f.want) {
			t.Errorf("%s: log %q", f.name, *logged)
		}
	}
}

//go:noinline
func manyResults(n int) (int, string, float64, []byte, [2]int, error) {
	return n, "str", 2.5, []byte{1, 2, 3}, [2]int{n, n}, errTest
}

func TestKretprobeResults(t *testing.T) {
	ok := 0
	rp := registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "manyResults"}, Handler: func(_ *KretprobeInstance, r *amd64.Regs) {
		s := unsafe.String((*byte)(unsafe.Add(nil, uintptr(r.Arg(1)))), int(r.Arg(2)))
		if r.Arg(0) == 7 && s == "str" && r.Arg(4) == 3 && r.Arg(6) != 0 {
			ok++
		}
	}})
	n, s, f, b, a, err := manyResults(7)
	unregisterRet(t, rp)
	if ok != 1 || n != 7 || s != "str" || f != 2.5 || len(b) != 3 || err != errTest || a[1] != 7 {
		t.Errorf("%d; %v %v %v %v %v %v", ok, n, s, f, b, err, a)
	}
}

//go:noinline
func floats(a float64, n int, b float32) (float32, float64, int) {
	return b + 1, a + float64(n), n
}

// Floating-point arguments and results are seen and can be changed, by a handler that itself
// computes with such numbers.
func TestKretprobeFloats(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		var seen [4]float64
		rp := registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "floats"},
			EntryHandler: func(_ *KretprobeInstance, r *amd64.Regs) bool {
				seen[0], seen[1] = r.FloatArg(0), float64(r.Float32Arg(1))
				r.SetFloatArg(0, r.FloatArg(0)*2)
				return false
			},
			Handler: func(_ *KretprobeInstance, r *amd64.Regs) {
				seen[2], seen[3] = float64(r.Float32Arg(0)), r.FloatArg(1)
				r.SetFloat32Arg(0, r.Float32Arg(0)+0.5)
				r.SetFloatArg(99, 1) // does nothing
			}})
		WaitOptimizer()
		a, b, n := floats(1.25, 3, 7)
		unregisterRet(t, rp)
		if want := [4]float64{1.25, 7, 8, 5.5}; seen != want || a != 8.5 || b != 5.5 || n != 3 {
			t.Errorf("seen %v, want %v; results %v %v %v", seen, want, a, b, n)
		}
	})
}

// A handler that uses no SSE register is called without their being saved, and told so.
func TestSSENotSaved(t *testing.T) {
	saved := true
	p := register(t, &Kprobe{Symbol: pkg + "probed", PreHandler: func(_ *Kprobe, r *amd64.Regs) bool {
		saved = r.SSE() != nil
		return false
	}})
	result = probed(1, 2)
	unregister(t, p)
	if saved {
		t.Error("SSE registers are there that nobody saved")
	}
}

//go:noinline
func onStack(a [2]int, n int) ([2]int, int) { return [2]int{a[1], a[0]}, n }

// What Go passes on the stack.
func TestKretprobeStackResults(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		var seen [5]uint64
		rp := registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "onStack"},
			EntryHandler: func(_ *KretprobeInstance, r *amd64.Regs) bool {
				seen[0], seen[1] = r.StackArg(0), r.StackArg(1)
				return false
			},
			Handler: func(_ *KretprobeInstance, r *amd64.Regs) {
				seen[2], seen[3], seen[4] = r.StackResult(2), r.StackResult(3), r.Arg(0)
				r.SetStackResult(3, 77)
			}})
		WaitOptimizer()
		a, n := onStack([2]int{4, 5}, 6)
		unregisterRet(t, rp)
		if want := [5]uint64{4, 5, 5, 4, 6}; seen != want || a != [2]int{5, 77} || n != 6 {
			t.Errorf("seen %v, want %v; results %v %v", seen, want, a, n)
		}
	})
}

// A function that ends in a jump to another one has returned when that does; followed both,
// the callee's handler is called first. Tracebacks are tested by TestKretprobeTracebacks.
func TestKretprobeTailJump(t *testing.T) {
	const cputestPkg = "tamaprobe/internal/cputest."
	bothWays(t, func(t *testing.T) {
		for _, both := range []bool{false, true} {
			order := make([]string, 0, 8)
			handler := func(name string) *Kretprobe {
				return &Kretprobe{Kprobe: Kprobe{Symbol: cputestPkg + name}, Handler: func(_ *KretprobeInstance, r *amd64.Regs) {
					order = append(order[:len(order):cap(order)], name)
				}}
			}
			rps := []*Kretprobe{handler("TailCall")}
			want := "[TailCall]"
			if both {
				rps = append(rps, handler("TailTarget"))
				want = "[TailTarget TailCall]"
			}
			if err := RegisterKretprobes(rps); err != nil {
				t.Fatal(err)
			}
			WaitOptimizer()
			got := cputest.TailCall(41)
			if err := UnregisterKretprobes(rps); err != nil {
				t.Error(err)
			}
			if got != 42 || fmt.Sprint(order) != want {
				t.Errorf("%d, order %v, want %s", got, order, want)
			}
			for _, rp := range rps {
				balanced(t, rp)
			}
		}
	})
}

func TestKretprobeErrors(t *testing.T) {
	start()
	for _, c := range []struct {
		rp    *Kretprobe
		errno syscall.Errno
		want  string
	}{
		{&Kretprobe{Kprobe: Kprobe{Symbol: "gogo"}}, syscall.EINVAL, "switches stacks"},
		{&Kretprobe{Kprobe: Kprobe{Symbol: "runtime.mcall"}}, syscall.EINVAL, "switches stacks"},
		{&Kretprobe{Kprobe: Kprobe{Symbol: "runtime.goexit"}}, syscall.EINVAL, "first on its stack"},
		{&Kretprobe{Kprobe: Kprobe{Symbol: "runtime.schedule"}}, syscall.EINVAL, "never returns"},
		{&Kretprobe{Kprobe: Kprobe{Symbol: "runtime.systemstack"}}, syscall.EINVAL, "switches stacks"},
		{&Kretprobe{Kprobe: Kprobe{Symbol: "runtime.morestack"}}, syscall.EINVAL, "s"},
		{&Kretprobe{Kprobe: Kprobe{Symbol: "runtime.gopanic"}}, syscall.EINVAL, ""},
		{&Kretprobe{Kprobe: Kprobe{Symbol: "runtime.deferreturn"}}, syscall.EINVAL, "return address"},
		{&Kretprobe{Kprobe: Kprobe{Addr: instructions(t, pkg+"grow")[1]}}, syscall.EINVAL, "entry"},
		{&Kretprobe{Kprobe: Kprobe{Symbol: pkg + "nosuch"}}, syscall.ENOENT, "no such symbol"},
		{&Kretprobe{Kprobe: Kprobe{Symbol: pkg + "breakpoint"}}, syscall.EINVAL, "cannot be probed"},
		{&Kretprobe{Kprobe: Kprobe{Symbol: pkg + "probed"}, MaxActive: -1}, syscall.EINVAL, "negative"},
		{&Kretprobe{Kprobe: Kprobe{Symbol: pkg + "probed", PreHandler: noPreHandler}}, syscall.EINVAL, "pre handler"},
		{&Kretprobe{Kprobe: Kprobe{Symbol: pkg + "probed", PostHandler: func(*Kprobe, *amd64.Regs, uint64) {}}}, syscall.EINVAL, "post handler"},
	} {
		err := RegisterKretprobe(c.rp)
		if !errors.Is(err, c.errno) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %v %q", c.rp.Symbol, err, c.errno, c.want)
		}
	}
}

// What a return probe measures lies between what the function measures itself and what its
// caller does.
func TestKretprobeLatency(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		var measured int64
		rp := registerRet(t, &Kretprobe{Kprobe: Kprobe{Symbol: pkg + "measures"}, DataSize: 8,
			EntryHandler: func(ri *KretprobeInstance, r *amd64.Regs) bool {
				*(*int64)(unsafe.Pointer(&ri.Data[0])) = board.Nanotime()
				return false
			},
			Handler: func(ri *KretprobeInstance, r *amd64.Regs) {
				measured = board.Nanotime() - *(*int64)(unsafe.Pointer(&ri.Data[0]))
			},
		})
		WaitOptimizer()
		for i := range 200 {
			start := board.Nanotime()
			inner := measures(i * 20)
			outer := board.Nanotime() - start
			if measured < inner || measured > outer {
				t.Errorf("%d by itself, %d by the probe, %d by the caller", inner, measured, outer)
			}
		}
		unregisterRet(t, rp)
	})
}

//go:noinline
func measures(n int) int64 {
	start := board.Nanotime()
	for range n {
		noop()
	}
	return board.Nanotime() - start
}

// Return probes on all real functions at once, for a minute, with the garbage collector at
// work all the time: panics, deep recursion, stacks that shrink, goroutines that come and
// go.
func TestKretprobeTorture(t *testing.T) {
	duration := time.Minute
	if testing.Short() {
		duration = 5 * time.Second
	}
	start()
	before := text()
	var want []string
	for _, s := range subjects {
		want = append(want, s.run())
	}
	var all, rps []*Kretprobe
	for fn := range symtab.All() {
		if !strings.HasPrefix(fn.Name(), "testing.") {
			all = append(all, &Kretprobe{Kprobe: Kprobe{Addr: fn.Entry()}, MaxActive: 32, Handler: func(*KretprobeInstance, *amd64.Regs) {}})
		}
	}
	for i, err := range RegisterEachKretprobe(all) {
		if err == nil {
			rps = append(rps, all[i])
		}
	}
	old := rtdebug.SetGCPercent(1)
	rounds := 0
	for end := time.Now().Add(duration); time.Now().Before(end); rounds++ {
		var wg sync.WaitGroup
		for i, s := range subjects {
			wg.Go(func() {
				if got := s.run(); got != want[i] {
					t.Errorf("%s: %s\nwant %s", s.name, got, want[i])
				}
			})
			wg.Go(func() {
				if deep(200, noop) != 20100 || recovers(i) != i+1 {
					t.Error("wrong result")
				}
			})
			wg.Go(func() { exits(20) })
		}
		wg.Wait()
	}
	rtdebug.SetGCPercent(old)
	if err := UnregisterKretprobes(rps); err != nil {
		t.Fatal(err)
	}
	hit, calls := 0, uint64(0)
	for _, rp := range rps {
		if rp.Nreturned() > 0 {
			hit++
		}
		n := rp.Nhit() - rp.Nmissed()
		calls += n
		if sum := rp.Nreturned() + rp.Nabandoned() + rp.Nskipped() + rp.Nlost(); sum > n || n-sum > 32 {
			t.Errorf("%s: %d calls, %d accounted for", rp.where(), n, sum)
		}
	}
	t.Logf("%d rounds, %d functions of %d returned, %d calls", rounds, hit, len(rps), calls)
	if hit < 500 || rounds == 0 {
		t.Error("too few")
	}
	if !bytes.Equal(text(), before) {
		t.Error("the text is not as it was")
	}
}

// Return probes on very many real functions at once.
func TestKretprobeEverything(t *testing.T) {
	oneProcessor(t) // TestKretprobeTorture is for several
	start()
	before := text()
	var want []string
	for _, s := range subjects {
		want = append(want, s.run())
	}
	var all, rps []*Kretprobe
	for fn := range symtab.All() {
		all = append(all, &Kretprobe{Kprobe: Kprobe{Addr: fn.Entry()}, MaxActive: 64, Handler: func(*KretprobeInstance, *amd64.Regs) {}})
	}
	for i, err := range RegisterEachKretprobe(all) {
		if err == nil {
			rps = append(rps, all[i])
		}
	}
	t.Logf("%d functions, %d refused", len(rps), len(all)-len(rps))
	rounds := 4
	for range rounds {
		work(t)
		for i, s := range subjects {
			if got := s.run(); got != want[i] {
				t.Errorf("%s: %s\nwant %s", s.name, got, want[i])
			}
		}
		WaitOptimizer()
	}
	if err := UnregisterKretprobes(rps); err != nil {
		t.Fatal(err)
	}
	hit := 0
	for _, rp := range rps {
		if rp.Nreturned() > 0 {
			hit++
		}
		if calls, sum := rp.Nhit()-rp.Nmissed(), rp.Nreturned()+rp.Nabandoned()+rp.Nskipped()+rp.Nlost(); sum > calls || calls-sum > 64 {
			t.Errorf("%s: %d calls, %d accounted for", rp.where(), calls, sum)
		}
	}
	t.Logf("%d functions returned", hit)
	if hit < 500 {
		t.Error("too few")
	}
	if !bytes.Equal(text(), before) {
		t.Error("the text is not as it was")
	}
}
