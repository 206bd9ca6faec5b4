//go:build metal

package kprobes

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"tamaprobe/arch/amd64"
	"tamaprobe/arch/amd64/inst"
	_ "tamaprobe/boot/board"
	"tamaprobe/internal/cputest"
	"tamaprobe/symtab"
)

const pkg = "tamaprobe/kprobes."

//go:noinline
func probed(a, b int) int { return a*3 + b }

func register(t testing.TB, p *Kprobe) *Kprobe {
	t.Helper()
	if err := Register(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func unregister(t testing.TB, p *Kprobe) {
	t.Helper()
	if err := Unregister(p); err != nil {
		t.Error(err)
	}
}

func checkCounts(t testing.TB, p *Kprobe, hits, missed uint64) {
	t.Helper()
	if p.Nhit() != hits || p.Nmissed() != missed {
		t.Errorf("%s: %d hits, %d missed, want %d, %d", p.where(), p.Nhit(), p.Nmissed(), hits, missed)
	}
}

// text returns the image's text as it is.
func text() []byte {
	lo, hi := amd64.TextRange()
	return bytes.Clone(unsafe.Slice((*byte)(unsafe.Add(nil, lo)), hi-lo))
}

func instructions(t testing.TB, name string) []uintptr {
	t.Helper()
	if err := start(); err != nil {
		t.Fatal(err)
	}
	fns := symtab.Lookup(name)
	if len(fns) != 1 {
		t.Fatalf("%d functions named %s", len(fns), name)
	}
	return functionInstructions(fns[0])
}

func functionInstructions(fn symtab.Func) (pcs []uintptr) {
	for pc := fn.Entry(); pc < fn.End(); {
		i, err := inst.Decode(amd64.OriginalText(pc))
		if err != nil {
			return pcs
		}
		pcs = append(pcs, pc)
		pc += uintptr(i.Len)
	}
	return pcs
}

func TestPreHandler(t *testing.T) {
	before := text()
	var args [2]uint64
	var pc uint64
	p := register(t, &Kprobe{Symbol: pkg + "probed", PreHandler: func(p *Kprobe, r *amd64.Regs) bool {
		args = [2]uint64{r.Arg(0), r.Arg(1)}
		pc = r.PC
		return false
	}})
	for range 10 {
		if got := probed(5, 7); got != 22 {
			t.Fatalf("probed(5, 7) = %d", got)
		}
	}
	unregister(t, p)
	if args != [2]uint64{5, 7} || pc != uint64(p.Addr) {
		t.Errorf("arguments %v, PC %#x", args, pc)
	}
	if probed(1, 2) != 5 {
		t.Error("probed is wrong")
	}
	checkCounts(t, p, 10, 0)
	if !bytes.Equal(text(), before) {
		t.Error("the text is not as it was")
	}
}

// A post handler sees the registers after the instruction, at every instruction
// that has one behind it.
func TestPostHandler(t *testing.T) {
	for _, pc := range instructions(t, pkg+"probed") {
		i, _ := inst.Decode(amd64.OriginalText(pc))
		if i.Flow == inst.FlowInt3 {
			break
		}
		pre, post := 0, 0
		var after uint64
		p := register(t, &Kprobe{Addr: pc,
			PreHandler: func(p *Kprobe, r *amd64.Regs) bool {
				pre++
				return false
			},
			PostHandler: func(p *Kprobe, r *amd64.Regs, flags uint64) {
				post++
				after = r.PC
				if r.Flags&(amd64.FlagTF|amd64.FlagIF) != amd64.FlagIF || flags != 0 {
					pre = -100
				}
			},
		})
		for range 10 {
			if got := probed(5, 7); got != 22 {
				t.Fatalf("probed(5, 7) = %d", got)
			}
		}
		unregister(t, p)
		if pre != 10 || post != 10 {
			t.Errorf("+%#x: %d, %d calls", pc-p.Addr, pre, post)
		}
		if i.FallsThrough() && after != uint64(pc)+uint64(i.Len) {
			t.Errorf("PC %#x after the instruction at %#x", after, pc)
		}
		checkCounts(t, p, 10, 0)
	}
}

// A pre handler can make the function return at once, or fix an argument.
func TestChangeRegisters(t *testing.T) {
	posts := 0
	p := register(t, &Kprobe{Symbol: pkg + "probed",
		PreHandler: func(p *Kprobe, r *amd64.Regs) bool {
			sp := (*uint64)(unsafe.Add(nil, uintptr(r.SP)))
			r.AX = 99
			r.PC = *sp
			r.SP += 8
			return true
		},
		PostHandler: func(*Kprobe, *amd64.Regs, uint64) { posts++ },
	})
	if got := probed(5, 7); got != 99 {
		t.Errorf("probed(5, 7) = %d, want 99", got)
	}
	unregister(t, p)
	if posts != 0 {
		t.Error("post handler called")
	}
	p = register(t, &Kprobe{Symbol: pkg + "probed", PreHandler: func(p *Kprobe, r *amd64.Regs) bool {
		r.SetArg(0, r.Arg(0)+1)
		return false
	}})
	if got := probed(5, 7); got != 25 {
		t.Errorf("probed(5, 7) = %d, want 25", got)
	}
	unregister(t, p)
}

// A probe that is hit by another's handler misses.
func TestReentrant(t *testing.T) {
	inner := register(t, &Kprobe{Symbol: pkg + "probed", PreHandler: func(*Kprobe, *amd64.Regs) bool { return false }})
	var sum int
	outer := register(t, &Kprobe{Symbol: pkg + "outer", PreHandler: func(*Kprobe, *amd64.Regs) bool {
		sum += probed(1, 1)
		return false
	}})
	for range 100 {
		outer1(1)
	}
	unregister(t, outer)
	unregister(t, inner)
	if sum != 400 {
		t.Errorf("sum %d", sum)
	}
	checkCounts(t, outer, 100, 0)
	checkCounts(t, inner, 200, 100)
}

var outer1 = outer

//go:noinline
func outer(x int) int { return probed(x, 2) }

// Functions that the trap path, the scheduler, the allocator and interrupt handlers
// consist of.
func TestRuntimeFunctions(t *testing.T) {
	names := []string{
		"runtime.mallocgc", "runtime.memmove", "runtime.schedule", "runtime.findRunnable", "runtime.lock2", "runtime.unlock2",
		"runtime.gcDrain", "runtime.systemstack", "runtime.mcall", "runtime.gogo", "runtime.newstack", "runtime.copystack",
		"runtime.nanotime1", "runtime.casgstatus", "runtime.chansend", "runtime.wbBufFlush", "runtime.morestack",
		"tamaprobe/boot/board.tickInterrupt", "tamaprobe/boot/board.idle",
		"tamaprobe/arch/amd64.callSavedAsm", "tamaprobe/arch/amd64.trapEntry", "tamaprobe/trap.dispatch",
		"tamaprobe/arch/amd64.generalProtectionEntry", "tamaprobe/kprobes.preSaved",
	}
	if runtime.NumCPU() > 1 {
		names = append(names, "runtime.futexwakeup", "tamaprobe/arch/amd64.syncEntry")
	}
	rare := map[string]bool{"runtime.wbBufFlush": true, "tamaprobe/arch/amd64.callSavedAsm": true,
		"tamaprobe/arch/amd64.trapEntry": true, "tamaprobe/trap.dispatch": true,
		"tamaprobe/arch/amd64.generalProtectionEntry": true, "tamaprobe/kprobes.preSaved": true}
	for _, name := range names {
		p := register(t, &Kprobe{Symbol: name, PreHandler: func(*Kprobe, *amd64.Regs) bool { return false }})
		other := register(t, &Kprobe{Symbol: pkg + "grow", PreHandler: func(*Kprobe, *amd64.Regs) bool { return false }})
		for range 50 {
			work(t)
			if p.Nhit() > 0 || rare[name] {
				break
			}
		}
		amd64.SyncCores()
		unregister(t, other)
		unregister(t, p)
		if p.Nhit() == 0 && !rare[name] {
			t.Errorf("%s: no hits", name)
		}
	}
}

func work(t testing.TB) {
	c := make(chan int)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s := make([]int, 1000+i)
			for j := range s {
				s[j] = (j * 7919) % 1009
			}
			sort.Ints(s)
			grow(500)
			c <- s[0] + len(s)
		})
	}
	sum := 0
	for range 20 {
		sum += <-c
	}
	wg.Wait()
	if sum != 20190 {
		t.Errorf("sum %d", sum)
	}
	runtime.GC()
	time.Sleep(time.Millisecond)
}

//go:noinline
func grow(n int) int {
	var pad [16]int
	pad[n%16] = n
	if n == 0 {
		return 0
	}
	return grow(n-1) + pad[n%16]
}

// One call is one hit, however often the stack grows at the entry, on all CPUs.
func TestEntryCountsOnce(t *testing.T) {
	var handled [amd64.MaxCPU]struct {
		n uint64
		_ [56]byte
	}
	p := register(t, &Kprobe{Symbol: pkg + "grow", PreHandler: func(_ *Kprobe, r *amd64.Regs) bool {
		handled[r.CPU%amd64.MaxCPU].n++
		return false
	}})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if got := grow(1000); got != 500500 {
				t.Errorf("grow(1000) = %d", got)
			}
		})
	}
	wg.Wait()
	unregister(t, p)
	checkCounts(t, p, 50*1001, 0)
	sum := uint64(0)
	for i := range handled {
		sum += handled[i].n
	}
	if sum != 50*1001 {
		t.Errorf("handler called %d times", sum)
	}
}

// A repeated string instruction is one hit, with and without post handler.
func TestRepeat(t *testing.T) {
	var rep uintptr
	for _, pc := range instructions(t, "tamaprobe/internal/cputest.CopyWords") {
		if i, _ := inst.Decode(amd64.OriginalText(pc)); i.Prefix&inst.PrefixRep != 0 {
			rep = pc
			break
		}
	}
	var src, dst [100]uint64
	for i := range src {
		src[i] = uint64(i * 3)
	}
	for _, post := range []bool{false, true} {
		pres, posts := uint64(0), uint64(0)
		p := &Kprobe{Addr: rep, PreHandler: func(_ *Kprobe, r *amd64.Regs) bool {
			pres++
			return false
		}}
		if post {
			p.PostHandler = func(_ *Kprobe, r *amd64.Regs, _ uint64) { posts += r.CX + 1 }
		}
		register(t, p)
		for n := range src {
			clear(dst[:])
			cputest.CopyWords(&dst[0], &src[0], n)
			if !slices.Equal(src[:n], dst[:n]) || slices.ContainsFunc(dst[n:], func(v uint64) bool { return v != 0 }) {
				t.Errorf("post %v: copied %d words wrongly", post, n)
			}
		}
		unregister(t, p)
		checkCounts(t, p, 100, 0)
		if pres != 100 || post && posts != 100 {
			t.Errorf("post %v: %d and %d calls", post, pres, posts)
		}
	}
}

func TestRegisterErrors(t *testing.T) {
	if err := start(); err != nil {
		t.Fatal(err)
	}
	before := text()
	fn := symtab.Lookup(pkg + "probed")[0]
	lo, hi := amd64.TextRange()
	registered := register(t, &Kprobe{Addr: fn.Entry()})
	for _, c := range []struct {
		name  string
		p     *Kprobe
		errno syscall.Errno
		want  string
	}{
		{"nothing", &Kprobe{}, syscall.EINVAL, "neither a symbol nor an address"},
		{"both", &Kprobe{Symbol: pkg + "probed", Addr: fn.Entry()}, syscall.EINVAL, "both a symbol and an address"},
		{"offset alone", &Kprobe{Offset: 4}, syscall.EINVAL, "neither a symbol nor an address"},
		{"address and offset", &Kprobe{Addr: fn.Entry(), Offset: 4}, syscall.EINVAL, "goes with a symbol"},
		{"no symbol", &Kprobe{Symbol: "nosuch"}, syscall.ENOENT, "no such symbol"},
		{"offset too large", &Kprobe{Symbol: pkg + "probed", Offset: fn.End() - fn.Entry()}, syscall.EINVAL, "beyond the end"},
		{"before the text", &Kprobe{Addr: lo - 1}, syscall.EINVAL, "not in the text"},
		{"behind the text", &Kprobe{Addr: hi}, syscall.EINVAL, "not in the text"},
		{"the heap", &Kprobe{Addr: uintptr(unsafe.Pointer(&before[0]))}, syscall.EINVAL, "not in the text"},
		{"middle", &Kprobe{Symbol: pkg + "grow", Offset: 1}, syscall.EILSEQ, "not the start of an instruction"},
		{"middle by address", &Kprobe{Addr: symtab.Lookup(pkg + "grow")[0].Entry() + 2}, syscall.EILSEQ, "not the start of an instruction"},
		{"twice", registered, syscall.EBUSY, "already registered"},
		{"trap entry", &Kprobe{Symbol: "tamaprobe/arch/amd64.breakpointEntry"}, syscall.EINVAL, "cannot be probed"},
		{"trap path", &Kprobe{Symbol: pkg + "breakpoint", Offset: 0}, syscall.EINVAL, "cannot be probed"},
		{"called in the trap path", &Kprobe{Symbol: "tamaprobe/arch/amd64.(*Point).Enter"}, syscall.EINVAL, "cannot be probed"},
		{"NMI", &Kprobe{Symbol: "github.com/usbarmory/tamago/amd64.handleNMI"}, syscall.EINVAL, "cannot be probed"},
		{"flags", &Kprobe{Symbol: pkg + "probed", Flags: FlagFaulted}, syscall.EINVAL, "flags"},
		{"int3", &Kprobe{Addr: fn.End() - 1}, syscall.EINVAL, "INT3"},
		{"int", &Kprobe{Symbol: "runtime.abort"}, syscall.EINVAL, "software interrupt"},
	} {
		err := Register(c.p)
		var perr *Error
		if !errors.Is(err, c.errno) || !errors.As(err, &perr) || perr.Op != "register" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %v %q", c.name, err, c.errno, c.want)
		}
	}
	unregister(t, registered)
	if err := Unregister(registered); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("unregistered twice: %v", err)
	}
	if err := Unregister(&Kprobe{Symbol: pkg + "probed"}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("never registered: %v", err)
	}
	if !bytes.Equal(text(), before) {
		t.Error("the text is not as it was")
	}
}

// Registering and unregistering while all processors execute the instruction: no
// hit is lost, none comes after Unregister.
func TestRegisterUnderLoad(t *testing.T) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				if got := outer1(i); got != i*3+2 {
					t.Errorf("outer(%d) = %d", i, got)
					return
				}
			}
		})
	}
	for range 100 {
		var gone atomic.Bool
		var late, calls atomic.Uint64
		p := &Kprobe{Symbol: pkg + "probed", PreHandler: func(*Kprobe, *amd64.Regs) bool {
			calls.Add(1)
			if gone.Load() {
				late.Add(1)
			}
			return false
		}}
		register(t, p)
		for range 50 {
			if probed(1, 1) != 4 {
				t.Error("probed is wrong")
			}
		}
		runtime.Gosched()
		unregister(t, p)
		gone.Store(true)
		runtime.Gosched()
		if late.Load() != 0 {
			t.Fatalf("%d calls after Unregister", late.Load())
		}
		if p.Nhit() != calls.Load() || calls.Load() < 50 {
			t.Fatalf("%d hits, %d calls", p.Nhit(), calls.Load())
		}
	}
	stop.Store(true)
	wg.Wait()
}
