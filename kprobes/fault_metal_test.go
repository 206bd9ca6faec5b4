//go:build metal

package kprobes

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"tamaprobe/arch/amd64"
	"tamaprobe/internal/cputest"
)

func word(addr uintptr) *uint64 { return (*uint64)(unsafe.Add(nil, addr)) }

// catchLog makes Log collect its lines until the end of the test.
func catchLog(t testing.TB) *[]string {
	lines := new([]string)
	old := Log
	Log = func(line string) { *lines = append(*lines, line) }
	t.Cleanup(func() { Log = old })
	return lines
}

var (
	nilPointer *[16]int
	nilChan    chan int
	zero       int
	twenty     = 20
	array      = new([16]int)
	sink       []byte
	sinkAny    any
	sinkMap    = map[string]int{}
	result     int
)

//go:noinline
func overrun(n int) int {
	var pad [20]int
	pad[n%20] = n
	if n < 0 {
		return 0
	}
	return overrun(n+1) + pad[n%10]
}

// What a handler can do wrong, and what the log says.
var failures = []struct {
	name string
	f    func()
	want string
}{
	{"nil dereference", func() { nilPointer[3]++ }, "page fault at 0x18"},
	{"index", func() { array[twenty]++ }, "index out of range"},
	{"slice", func() { sink = sink[twenty:] }, "slice bounds out of range"},
	{"division", func() { zero = 3 / zero }, "integer divide by zero"},
	{"panic", func() { panic("in a handler") }, "panic"},
	{"allocation", func() { sink = make([]byte, 100+twenty) }, "malloc during signal"},
	{"closure", func() { n := twenty; sinkAny = func() int { n++; return n } }, "malloc during signal"},
	{"fmt", func() { sinkMap[fmt.Sprint(twenty)] = 1 }, "use of a sync.Pool"},
	{"overrun", func() { overrun(0) }, "stack overflow"},
	{"blocking", func() { <-nilChan }, "blocking"},
	{"goroutine", func() { go noop() }, "starting a goroutine"},
	{"yielding", func() { runtime.Gosched() }, "yielding"},
	{"undefined instruction", func() { cputest.Undefined() }, "invalid opcode"},
	{"wild pointer", func() { *word(1<<47 + 8)++ }, "general protection"},
	{"type assertion", func() { _ = sinkAny.(error).Error() }, ""},
}

func noop() {}

// A handler that fails a thousand times in a row: the kernel and the probed code go on,
// and the count is right.
func TestHandlerFails(t *testing.T) {
	const rounds = 1000
	for _, f := range failures {
		for _, phase := range []string{"pre", "post"} {
			logged := catchLog(t)
			after := 0
			p := &Kprobe{Symbol: pkg + "second"}
			if phase == "pre" {
				p.PreHandler = func(*Kprobe, *amd64.Regs) bool {
					f.f()
					after++
					return false
				}
			} else {
				p.PostHandler = func(*Kprobe, *amd64.Regs, uint64) {
					f.f()
					after++
				}
			}
			others := 0
			before := register(t, &Kprobe{Symbol: pkg + "second", PostHandler: func(*Kprobe, *amd64.Regs, uint64) { others++ }})
			register(t, p)
			behind := register(t, &Kprobe{Symbol: pkg + "second", PostHandler: func(*Kprobe, *amd64.Regs, uint64) { others++ }})
			for i := range rounds {
				x := float64(i)
				if got := second(i); got != i*5+1 || x != float64(i) {
					t.Fatalf("%s: second(%d) = %d", f.name, i, got)
				}
				if s := p.State(); s != FlagDisabled|FlagFaulted {
					t.Fatalf("%s, %s handler: state %d", f.name, phase, s)
				}
				result = second(i) // no hit for p
				if err := Enable(p); err != nil {
					t.Fatal(err)
				}
			}
			unregister(t, before)
			unregister(t, p)
			unregister(t, behind)
			if after != 0 || others != 4*rounds {
				t.Errorf("%s, %s handler: %d times past the failure, %d calls of others", f.name, phase, after, others)
			}
			checkCounts(t, p, rounds, 0)
			checkCounts(t, before, 2*rounds, 0)
			checkCounts(t, behind, 2*rounds, 0)
			heads := 0
			for _, line := range *logged {
				if strings.HasPrefix(line, "kprobes: "+pkg+"second: the "+phase+" handler failed: ") && strings.Contains(line, f.want) {
					heads++
				}
			}
			trace := strings.Join((*logged)[1:min(20, len(*logged))], "\n")
			if heads != rounds || !strings.Contains(trace, pkg+"TestHandlerFails.func") && !strings.Contains(trace, pkg+"overrun") {
				t.Errorf("%s, %s handler: %d lines in the log, which starts\n%s\n%s", f.name, phase, heads, (*logged)[0], trace)
			}
			// What was interrupted can still allocate, block, and collect garbage.
			c := make(chan int)
			go func() { c <- len(make([]byte, 1000)) }()
			<-c
		}
	}
	runtime.GC()
}

// On all CPUs at once, in the code that handlers must not call.
func TestHandlerFailsInRuntime(t *testing.T) {
	logged := catchLog(t)
	for _, name := range []string{"runtime.mallocgc", "runtime.lock2", "runtime.schedule", "runtime.gopark", "runtime.newobject", "runtime.park_m", "runtime.findRunnable"} {
		for _, f := range failures {
			p := register(t, &Kprobe{Symbol: name, PreHandler: func(*Kprobe, *amd64.Regs) bool {
				f.f()
				return false
			}})
			for p.Nhit() == 0 {
				var wg sync.WaitGroup
				for i := range 4 {
					wg.Go(func() {
						if len(make([]int, 10+i)) != 10+i {
							t.Error("wrong")
						}
						runtime.Gosched()
						time.Sleep(time.Microsecond)
					})
				}
				wg.Wait()
			}
			unregister(t, p)
			if !p.faulted || p.Nhit() == 0 {
				t.Errorf("%s, %s: faulted %v, %d hits", name, f.name, p.faulted, p.Nhit())
			}
		}
	}
	runtime.GC()
	work(t)
	if len(*logged) == 0 {
		t.Error("nothing logged")
	}
}

// A fault handler repairs what its probe's handler did, or not.
func TestFaultHandler(t *testing.T) {
	logged := catchLog(t)
	var vectors []amd64.Vector
	vectors = make([]amd64.Vector, 0, 10)
	through, otherFaults := 0, 0
	other := register(t, &Kprobe{Symbol: pkg + "second", FaultHandler: func(*Kprobe, *amd64.Regs, amd64.Vector) bool {
		otherFaults++
		return false
	}})
	p := register(t, &Kprobe{Symbol: pkg + "second",
		PreHandler: func(*Kprobe, *amd64.Regs) bool {
			readNil(nilPointer)
			through++
			return false
		},
		FaultHandler: func(_ *Kprobe, r *amd64.Regs, v amd64.Vector) bool {
			vectors = append(vectors, v)
			r.AX = uint64(uintptr(unsafe.Pointer(array))) // the pointer
			return len(vectors) <= 3
		},
	})
	for i := range 5 {
		if got := second(i); got != i*5+1 {
			t.Errorf("second(%d) = %d", i, got)
		}
	}
	unregister(t, p)
	unregister(t, other)
	if through != 3 || otherFaults != 0 || fmt.Sprint(vectors) != "[page fault page fault page fault page fault]" {
		t.Errorf("%d times through, %d calls of the other's, %v", through, otherFaults, vectors)
	}
	checkCounts(t, p, 4, 0)
	checkCounts(t, other, 5, 0)
	if len(*logged) == 0 || !strings.Contains((*logged)[0], "page fault") {
		t.Errorf("log %q", *logged)
	}
}

//go:noinline
func readNil(p *[16]int) int { return p[3] }

// A fault handler that fails is no help.
func TestFaultHandlerFails(t *testing.T) {
	catchLog(t)
	for _, f := range failures {
		calls := 0
		t.Log(f.name)
		p := register(t, &Kprobe{Symbol: pkg + "second",
			PreHandler: func(*Kprobe, *amd64.Regs) bool {
				readNil(nilPointer)
				return false
			},
			FaultHandler: func(_ *Kprobe, r *amd64.Regs, v amd64.Vector) bool {
				calls++
				f.f()
				return true
			},
		})
		for i := range 100 {
			if got := second(i); got != i*5+1 {
				t.Errorf("second(%d) = %d", i, got)
			}
			if s := p.State(); s != FlagDisabled|FlagFaulted {
				t.Fatalf("%s: state %d", f.name, s)
			}
			Enable(p)
		}
		unregister(t, p)
		checkCounts(t, p, 100, 0)
		if calls != 100 {
			t.Errorf("%s: %d calls", f.name, calls)
		}
	}
}

// readPanics returns the panic of f, and where it happened.
func readPanics(f func()) (value any, trace string) {
	defer func() {
		value = recover()
		pcs := make([]uintptr, 30)
		frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
		for {
			frame, more := frames.Next()
			if frame.Function == pkg+"readPanics" {
				return
			}
			trace += fmt.Sprintf("%s:%d\n", frame.Function, frame.Line)
			if !more {
				return
			}
		}
	}()
	f()
	return
}

// A nil dereference by a probed instruction is the same panic as without the probe,
// and its fault handlers see it.
func TestInstructionFaults(t *testing.T) {
	call := func() { readNil(nilPointer) }
	wantValue, wantTrace := readPanics(call)
	if wantValue == nil || !strings.Contains(wantTrace, "readNil") {
		t.Fatalf("%v\n%s", wantValue, wantTrace)
	}
	for _, addr := range instructions(t, pkg+"readNil") {
		for _, post := range []bool{false, true} {
			p := &Kprobe{Addr: addr}
			posts := 0
			if post {
				p.PostHandler = func(*Kprobe, *amd64.Regs, uint64) { posts++ }
			}
			if Register(p) != nil {
				continue // padding
			}
			for range 100 {
				value, trace := readPanics(call)
				if fmt.Sprint(value) != fmt.Sprint(wantValue) || trace != wantTrace {
					t.Fatalf("at %#x, post %v: %v\n%swant\n%s", addr, post, value, trace, wantTrace)
				}
			}
			if got := readNil(array); got != 0 {
				t.Errorf("readNil = %d", got)
			}
			unregister(t, p)
			if p.Nhit() != 0 && p.Nhit() != 101 && p.Nhit() != 1 || p.Nmissed() != 0 {
				t.Errorf("at %#x, post %v: %d hits, %d missed", addr, post, p.Nhit(), p.Nmissed())
			}
		}
	}
	// The instruction that faults is the one with the memory operand.
	array[3] = 42
	for _, addr := range instructions(t, pkg+"readNil") {
		for _, post := range []bool{false, true} {
			faults, posts := 0, 0
			p := &Kprobe{Addr: addr, FaultHandler: func(p *Kprobe, r *amd64.Regs, v amd64.Vector) bool {
				faults++
				if v != amd64.VectorPageFault || r.PC != uint64(p.Addr) {
					return false
				}
				r.AX = uint64(uintptr(unsafe.Pointer(array)))
				return true
			}}
			if post {
				p.PostHandler = func(*Kprobe, *amd64.Regs, uint64) { posts++ }
			}
			if Register(p) != nil {
				continue
			}
			value, _ := readPanics(func() {
				for range 10 {
					if got := readNil(nilPointer); got != 42 {
						t.Errorf("readNil = %d", got)
					}
				}
			})
			unregister(t, p)
			if faults != 0 && (faults != 10 || value != nil || p.Nhit() != 10 || posts != 0) {
				t.Errorf("at %#x, post %v: %d faults, %v, %d hits, %d posts", addr, post, faults, value, p.Nhit(), posts)
			}
			if value == nil && faults == 0 {
				t.Errorf("at %#x: no fault", addr)
			}
		}
	}
	array[3] = 0
}

// An emulated call through memory that is not there.
func TestEmulatedFaults(t *testing.T) {
	call := func() { callThrough(nil) }
	wantValue, wantTrace := readPanics(call)
	n := 0
	for _, addr := range instructions(t, pkg+"callThrough") {
		faults := 0
		p := &Kprobe{Addr: addr, FaultHandler: func(*Kprobe, *amd64.Regs, amd64.Vector) bool {
			faults++
			return false
		}}
		if Register(p) != nil {
			continue
		}
		value, trace := readPanics(call)
		unregister(t, p)
		if fmt.Sprint(value) != fmt.Sprint(wantValue) || trace != wantTrace {
			t.Errorf("at %#x: %v\n%swant\n%s", addr, value, trace, wantTrace)
		}
		n += faults
	}
	if n != 1 {
		t.Errorf("%d faults, want 1", n)
	}
}

type table1 struct{ f func() }

//go:noinline
func callThrough(t *table1) { t.f() }
