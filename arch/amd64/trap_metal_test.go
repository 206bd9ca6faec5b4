//go:build metal

package amd64

import (
	"bytes"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"tamaprobe/arch/amd64/inst"
	"tamaprobe/goruntime"
	"tamaprobe/internal/cputest"
	"tamaprobe/symtab"
)

func entryOf(t *testing.T, name string) uintptr {
	t.Helper()
	fns := symtab.Lookup(name)
	if len(fns) != 1 {
		t.Fatalf("%d functions named %s", len(fns), name)
	}
	return fns[0].Entry()
}

// What the processor pushes and the entry code uses on the interrupted stack must
// fit into goos.StackSystem, twice: an interrupt handler may be probed.
func TestStackUse(t *testing.T) {
	install(t)
	m := newMachine([]byte{0x90})
	m.load()
	test(t, cputest.Scratch(), false, func() {
		for _, align := range []uint64{0, 8} {
			s := m.registers(1)
			s.Flags &^= FlagIF // the interrupts' own use is not measured here
			s.R[4] += align
			sp := uintptr(s.R[4]) - uintptr(unsafe.Pointer(&m.memory))
			for i := range m.memory {
				m.memory[i] = 0xa5
			}
			cputest.Run(&s, cputest.Scratch())
			used := len(bytes.TrimLeft(m.memory[:sp], "\xa5"))
			if used < 40 || used > 88 {
				t.Errorf("SP%%16 = %d: %d bytes used below the stack pointer, want 40 to 88", s.R[4]%16, used)
			}
		}
	})
	if hits != 2 {
		t.Errorf("%d hits", hits)
	}
}

var floats = [4]float64{1.5, 2.5, 3.5, 4.5}

// useSSE uses SSE and AVX registers: memory moves of this size use AVX.
func useSSE() {
	x := 1.0
	for i := range floats {
		x = x*floats[i] + 1
		floats[i] = x / 2
	}
	copy(moved[1:], moved[:len(moved)-1])
}

var moved [4096]byte

// The SSE and AVX state is the same after Guarded, and every other register is
// after the trap.
func TestRegistersRestored(t *testing.T) {
	install(t)
	m := newMachine([]byte{0x90})
	m.load()
	called := 0
	f := func() { useSSE(); called++ }
	for seed := range uint64(50) {
		want := m.run(seed, nil)
		var got result
		test(t, cputest.Scratch(), false, func() {
			onHit = func(*Regs) { CallSaved(FuncPointer(&f), 0, 0, 0) }
			stepMode = seed%2 == 1
			got = m.run(seed, nil)
		})
		if hits != 1 || got.State != want.State {
			t.Fatalf("seed %d: %d hits\n got %x\nwant %x", seed, hits, got.State, want.State)
		}
	}
	if called != 50 {
		t.Errorf("function called %d times", called)
	}
}

// What a handler changes takes effect.
func TestRegistersChanged(t *testing.T) {
	install(t)
	m := newMachine([]byte{0x90})
	m.load()
	s := m.registers(1)
	want := s
	test(t, cputest.Scratch(), false, func() {
		onHit = func(r *Regs) {
			for i := range uint8(16) {
				if i != 4 {
					*r.reg(i) ^= 0x5555
				}
			}
			r.SP -= 16
			r.Flags ^= FlagCF | FlagZF
		}
		cputest.Run(&s, cputest.Scratch())
	})
	for i := range want.R {
		want.R[i] ^= 0x5555
	}
	want.R[4] = want.R[4] ^ 0x5555 - 16
	want.R[13] = 1
	want.Flags ^= FlagCF | FlagZF
	if s != want {
		t.Errorf("\n got %x\nwant %x", s, want)
	}
}

// A breakpoint in what a handler calls arrives on the trap stack, and so on.
func TestNested(t *testing.T) {
	install(t)
	const depth = 20
	level := 0
	addr := entryOf(t, "tamaprobe/arch/amd64.callee")
	test(t, addr, true, func() {
		onHit = func(r *Regs) {
			c := cpuOf(r)
			onTrapStack := c.trapLo < uintptr(r.SP) && uintptr(r.SP) <= c.trapHi
			if onTrapStack != (level > 0) || r.Arg(0) != uint64(level) {
				Fatal(r)
			}
			if level < depth {
				level++
				if mine := level; callee(mine) != mine+1 {
					Fatal(r)
				}
			}
		}
		if got := callee(0); got != 1 {
			t.Errorf("callee(0) = %d", got)
		}
	})
	if hits != depth+1 {
		t.Errorf("%d hits, want %d", hits, depth+1)
	}
}

//go:noinline
func callee(x int) int { return x + 1 }

// The scheduler runs on g0.
func TestOnSystemStack(t *testing.T) {
	install(t)
	test(t, entryOf(t, "runtime.schedule"), true, func() {
		for range 100 {
			runtime.Gosched()
		}
	})
	if hits < 50 {
		t.Errorf("%d hits of the scheduler in 100 yields", hits)
	}
}

// overrun uses up the trap stack.
//
//go:noinline
func overrun(n int) int {
	var pad [20]int
	pad[n%20] = n
	if n < 0 {
		return 0
	}
	return overrun(n+1) + pad[n%10]
}

// What a handler does wrong ends the handler, and the interrupted code goes on with
// all its registers.
func TestAbandon(t *testing.T) {
	install(t)
	HookThrow()
	defer goruntime.HookThrow(nil)
	m := newMachine([]byte{0x90})
	m.load()
	var null *[16]int
	var sink []byte
	var c chan int
	index := 20
	array := new([16]int)
	for _, fail := range []struct {
		name   string
		f      func()
		vector Vector
		reason string
	}{
		{"nil", func() { null[3] = 1 }, VectorPageFault, ""},
		{"throw", func() { sink = make([]byte, 100+index) }, VectorInvalidOpcode, "malloc during signal"},
		{"index", func() { array[index]++ }, VectorInvalidOpcode, "index out of range"},
		{"overrun", func() { overrun(0) }, VectorInvalidOpcode, "stack overflow"},
		{"blocking", func() { <-c }, VectorInvalidOpcode, "blocking"},
		{"goroutine", func() { go useSSE() }, VectorInvalidOpcode, "starting a goroutine"},
	} {
		ran, through, resumed, wrong := 0, 0, 0, 0
		f := func() {
			ran++
			useSSE()
			fail.f()
			through++
		}
		var outer *Regs
		resume := func(r *Regs) bool {
			UseReserve(r, false)
			if r != outer || cpuOf(r).saved != 0 {
				Fatal(r)
			}
			resumed++
			tested.Resume(r, 0)
			return true
		}
		const rounds = 1000
		for seed := range uint64(rounds) {
			want := m.run(seed, nil)
			var got result
			test(t, cputest.Scratch(), false, func() {
				held := int32(0)
				onFault = func(r *Regs) bool {
					if Vector(r.Vector) != fail.vector || Thrown(r) != (fail.reason != "") || Thrown(r) && ThrowReason(r) != fail.reason {
						wrong++
					}
					if !Inside(r, uintptr(unsafe.Pointer(outer))) {
						return false
					}
					*at[int32](cpuOf(r).locks) = held
					Abandon(r, outer, resume)
					return true
				}
				onHit = func(r *Regs) {
					outer, held = r, *at[int32](cpuOf(r).locks)
					CallSaved(FuncPointer(&f), 0, 0, 0)
					Fatal(r)
				}
				got = m.run(seed, nil)
			})
			if got.State != want.State {
				t.Fatalf("%s, seed %d:\n got %x\nwant %x", fail.name, seed, got.State, want.State)
			}
		}
		if ran != rounds || through != 0 || resumed != rounds || wrong != 0 {
			t.Errorf("%s: ran %d times, got through %d times, resumed %d times, wrong %d times", fail.name, ran, through, resumed, wrong)
		}
	}
	_ = sink
}

func TestTryLoad(t *testing.T) {
	install(t)
	x := uint64(0x1122334455667788)
	if v, ok := TryLoad64(uintptr(unsafe.Pointer(&x))); !ok || v != x {
		t.Errorf("TryLoad64 = %#x, %v", v, ok)
	}
	if v, ok := TryLoad8(uintptr(unsafe.Pointer(&x))); !ok || v != 0x88 {
		t.Errorf("TryLoad8 = %#x, %v", v, ok)
	}
	for _, addr := range []uintptr{0, 8, 4095, 1 << 45, 1 << 63, 1<<64 - 1} {
		if v, ok := TryLoad64(addr); ok {
			t.Errorf("TryLoad64(%#x) = %#x", addr, v)
		}
		if v, ok := TryLoad8(addr); ok {
			t.Errorf("TryLoad8(%#x) = %#x", addr, v)
		}
	}
}

// Functions with the three kinds of stack check.

//go:noinline
func growSmall(n int) int {
	if n == 0 {
		return 0
	}
	return growSmall(n-1) + 1
}

//go:noinline
func growLarge(n int) int {
	var pad [40]int
	pad[n%len(pad)] = n
	if n == 0 {
		return pad[3]
	}
	return growLarge(n-1) + 1 + pad[n%len(pad)] - n
}

//go:noinline
func growHuge(n int) int {
	var pad [1000]int
	pad[n%len(pad)] = n
	if n == 0 {
		return pad[3]
	}
	return growHuge(n-1) + 1 + pad[n%len(pad)] - n
}

// A call is one hit, also when the stack grows at the function's entry or the
// goroutine has to yield there.
func TestEntryCountsOnce(t *testing.T) {
	install(t)
	for _, f := range []struct {
		name string
		f    func(int) int
		kind inst.PrologueKind
	}{
		{"growSmall", growSmall, inst.PrologueSmall},
		{"growLarge", growLarge, inst.PrologueLarge},
		{"growHuge", growHuge, inst.PrologueHuge},
	} {
		addr := entryOf(t, "tamaprobe/arch/amd64."+f.name)
		for _, step := range []bool{false, true} {
			calls := 0
			test(t, addr, true, func() {
				if tested.prologue.Kind != f.kind {
					t.Errorf("%s: stack check of kind %d, want %d", f.name, tested.prologue.Kind, f.kind)
				}
				stepMode = step
				for i := range 40 {
					n := i*i + i
					calls += n + 1
					done := make(chan int)
					go func() { done <- f.f(n) }() // on a stack of 4 KiB
					if got := <-done; got != n {
						t.Errorf("%s(%d) = %d", f.name, n, got)
					}
				}
			})
			if hits != calls {
				t.Errorf("%s: %d hits of %d calls", f.name, hits, calls)
			}
		}
	}
}

// The same under requests to yield, which come at any instruction.
func TestEntryCountsOnceUnderTick(t *testing.T) {
	install(t)
	addr := entryOf(t, "tamaprobe/arch/amd64.growLarge")
	calls := 0
	test(t, addr, true, func() {
		var stop atomic.Bool
		var wg sync.WaitGroup
		for range 2 * runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for !stop.Load() {
					if growSmall(10) != 10 {
						t.Error("growSmall is wrong")
					}
				}
			})
		}
		for range 300_000 {
			growLarge(2)
			calls += 3
		}
		stop.Store(true)
		wg.Wait()
	})
	if hits != calls {
		t.Errorf("%d hits of %d calls", hits, calls)
	}
}

// Poke replaces code that all processors execute meanwhile.
func TestPoke(t *testing.T) {
	install(t)
	variants := [][]byte{
		{0xb8, 0x11, 0x11, 0x11, 0x11, 0xc3},                   // MOVL $0x11111111, AX; RET
		{0x48, 0xc7, 0xc0, 0x22, 0x22, 0x22, 0x22, 0x90, 0xc3}, // MOVQ $0x22222222, AX; NOP; RET
		{0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90},                   // XORL AX, AX; RET
	}
	results := map[uint64]bool{0x11111111: true, 0x22222222: true, 0: true}
	m := newMachine([]byte{0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90})
	copy(m.code[:], variants[0])
	m.load()
	code := cputest.Scratch()
	f := funcAt[func() uint64](&code)
	var stop atomic.Bool
	var calls atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			n := uint64(0)
			for ; !stop.Load(); n++ {
				if v := f(); !results[v] {
					t.Errorf("code returned %#x", v)
					break
				}
				if n%1024 == 0 {
					runtime.Gosched()
				}
			}
			calls.Add(n)
		})
	}
	for i := range 200 {
		Poke(code, variants[i%len(variants)])
	}
	stop.Store(true)
	wg.Wait()
	t.Log(calls.Load(), "calls")
}

func TestReportsNames(t *testing.T) {
	if s := VectorPageFault.String(); s != "page fault" {
		t.Error(s)
	}
	if s := Vector(15).String(); !strings.Contains(s, "15") {
		t.Error(s)
	}
}
