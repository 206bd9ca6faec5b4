//go:build metal

package trap

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tamaprobe/arch/amd64"
	"tamaprobe/boot/board"
	"tamaprobe/internal/cputest"
)

// The tests of the report are in package test: they end the machine.

func register(t *testing.T, v amd64.Vector, n *Notifier) {
	t.Helper()
	if err := Register(v, n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Unregister(v, n) })
}

func TestOrder(t *testing.T) {
	if err := Install(); err != nil {
		t.Fatal(err)
	}
	var calls [8]int // no allocation in a handler
	n := 0
	add := func(name int, priority int, integer, handles bool) {
		register(t, amd64.VectorBreakpoint, &Notifier{Priority: priority, Integer: integer, Handle: func(r *amd64.Regs) bool {
			calls[n] = name
			n++
			return handles
		}})
	}
	add(1, 5, true, false)
	add(2, 10, false, false)
	add(3, 0, false, true)
	add(4, 5, false, false)
	add(5, -1, true, true) // behind the one that handles it
	cputest.Breakpoint()
	if got, want := calls[:n], []int{2, 1, 4, 3}; !slices.Equal(got, want) {
		t.Errorf("called %v, want %v", got, want)
	}
}

func TestRegisterErrors(t *testing.T) {
	if err := Register(32, &Notifier{Handle: func(*amd64.Regs) bool { return true }}); err != ErrVector {
		t.Errorf("vector 32: %v", err)
	}
	if err := Register(3, &Notifier{}); err != ErrVector {
		t.Errorf("no handler: %v", err)
	}
	// Neither is registered; nothing happens.
	Unregister(32, &Notifier{})
	Unregister(3, &Notifier{})
}

// A handler can look at the fault and let the code go on elsewhere.
func TestHandleFault(t *testing.T) {
	if err := Install(); err != nil {
		t.Fatal(err)
	}
	var vector, code uint64
	register(t, amd64.VectorInvalidOpcode, &Notifier{Handle: func(r *amd64.Regs) bool {
		vector, code = r.Vector, r.Error
		r.PC += 2 // past UD2
		r.AX = 42
		return true
	}})
	if got := cputest.Undefined(); got != 42 || vector != 6 || code != 0 {
		t.Errorf("%d, vector %d, error code %d", got, vector, code)
	}
}

// Notifiers come and go while the exception happens all the time.
func TestRegisterUnderLoad(t *testing.T) {
	if err := Install(); err != nil {
		t.Fatal(err)
	}
	register(t, amd64.VectorBreakpoint, &Notifier{Priority: -100, Integer: true, Handle: func(*amd64.Regs) bool { return true }})
	var stop atomic.Bool
	done := make(chan int)
	go func() {
		n := 0
		for ; !stop.Load(); n++ {
			if n%64 == 0 {
				runtime.Gosched() // there is no preemption in this loop
			}
			cputest.Breakpoint()
		}
		done <- n
	}()
	for range 200 {
		var after atomic.Bool
		var late, calls atomic.Int32
		n := &Notifier{Integer: true, Handle: func(*amd64.Regs) bool {
			calls.Add(1)
			if after.Load() {
				late.Add(1)
			}
			return false
		}}
		if err := Register(amd64.VectorBreakpoint, n); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			cputest.Breakpoint()
		}
		Unregister(amd64.VectorBreakpoint, n)
		after.Store(true)
		cputest.Breakpoint()
		if late.Load() != 0 || calls.Load() < 100 {
			t.Fatalf("%d calls, %d of them after Unregister", calls.Load(), late.Load())
		}
	}
	stop.Store(true)
	if n := <-done; n == 0 {
		t.Error("no breakpoints")
	}
}

// TamaGo's way to serve device interrupts goes on working: its handlers of vectors
// from 32 on stay, and it needs NMIs for itself.
func TestServiceInterrupts(t *testing.T) {
	if err := Install(); err != nil {
		t.Fatal(err)
	}
	served := make(chan int, 1)
	go board.CPU.ServiceInterrupts(func(vector int) { served <- vector })
	last := 0
	for i := range 50 {
		vector := 40 + i%8
		for {
			// An interrupt before the service is ready is lost with TamaGo.
			board.CPU.LAPIC.IPI(0, vector, 0)
			select {
			case got := <-served:
				if got == last {
					continue // sent once more: it took long
				}
				if got != vector {
					t.Fatalf("interrupt %d, want %d", got, vector)
				}
			case <-time.After(50 * time.Millisecond):
				continue
			}
			break
		}
		last = vector
	}
}
