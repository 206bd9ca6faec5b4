//go:build metal

package tracer

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tamaprobe/boot/board"
	"tamaprobe/kprobes"
	"tamaprobe/kprobes/event"
)

// newTracer returns a tracer with buffers of a size for each processor.
func newTracer(t *testing.T, bufferSize int) *Tracer {
	t.Helper()
	tr, err := New(Config{Now: board.Nanotime, MemoryEnd: board.MemoryEnd(), BufferSize: bufferSize})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.RemoveEvents(tr.Events()) })
	return tr
}

// define defines an event, or a sum.
func (t *Tracer) define(test *testing.T, line string) *Event {
	test.Helper()
	execute := t.Define
	if line[1] != ' ' && line[1] != ':' {
		execute = t.Aggregate
	}
	e, err := execute(line)
	if err != nil {
		test.Fatalf("%s: %v", line, err)
	}
	return e
}

// balanced checks that all hits of an event are accounted for, and that no handler failed.
func balanced(t *testing.T, e *Event) Figures {
	t.Helper()
	f, removed := e.Figures(), !slices.Contains(e.tracer.Events(), e)
	if sum := f.Recorded + f.Filtered + f.Lost + f.Quiet + f.Missed + f.Abandoned; sum != f.Hits {
		// Calls that return while their probe is removed are followed, but nobody is told.
		if rp := e.points[0].kretprobe; rp == nil || !removed || sum > f.Hits || rp.Nreturned() != f.Hits-f.Missed {
			t.Errorf("%s: %+v: the sum is %d", e.Name(), f, sum)
		}
	}
	for _, p := range e.Kprobes() {
		if p.State()&kprobes.FlagFaulted != 0 {
			t.Errorf("%s: a handler failed", e.Name())
		}
	}
	return f
}

// printed is what a trace of the buffers holds, without its header.
func (t *Tracer) printed() (lines []string) {
	for r := range t.buffer.Snapshot() {
		lines = append(lines, strings.TrimSuffix(string(t.Append(nil, r)), "\n"))
	}
	return lines
}

const pkg = "tamaprobe/kprobes/tracer."

// What is traced.

//go:noinline
func work(n, address int) int {
	worked.Store(int64(n))
	return n + address
}

var worked atomic.Int64

//go:noinline
func outer(n int) int { return work(n, 0) + 1 }

//go:noinline
func spin(d time.Duration) {
	for start := board.Nanotime(); board.Nanotime()-start < int64(d); {
	}
}

// eachWay runs a test with breakpoints and with jumps.
func eachWay(t *testing.T, f func(t *testing.T)) {
	for _, way := range []string{"breakpoint", "jump"} {
		t.Run(way, func(t *testing.T) {
			kprobes.SetOptimization(way == "jump")
			defer kprobes.SetOptimization(true)
			f(t)
		})
	}
}

// onAll calls f on as many goroutines as there are processors, at the same time.
func onAll(f func(i int)) {
	var group sync.WaitGroup
	for i := range runtime.NumCPU() {
		group.Go(func() { f(i) })
	}
	group.Wait()
}

// Under load on all processors every hit of every kind of event is accounted for.
func TestAccounting(t *testing.T) {
	const calls = 20_000
	for _, overwrite := range []bool{true, false} {
		t.Run(fmt.Sprintf("overwrite=%v", overwrite), func(t *testing.T) {
			eachWay(t, func(t *testing.T) {
				tr := newTracer(t, 16<<10)
				tr.buffer.SetOverwrite(overwrite)
				lines := []string{
					"p:all " + pkg + "work n=$arg1:s64 $caller",
					"p:some " + pkg + "work if $arg1 & 1",
					"p:outer " + pkg + "outer $comm",
					"r:returns " + pkg + "outer $retval:s64 $dur if arg1 != 7",
					"count " + pkg + "work $arg1:u8",
					"hist " + pkg + "work +0($arg2):u8",
					"latency " + pkg + "outer",
					"stacks " + pkg + "work",
				}
				var events []*Event
				for _, line := range lines {
					events = append(events, tr.define(t, line))
				}
				kprobes.WaitOptimizer()

				// A reader takes records meanwhile, and its own hits are not recorded.
				stop, stopped := make(chan bool), make(chan bool)
				read, missing, quiet := uint64(0), uint64(0), uint64(0)
				go func() {
					defer close(stopped)
					defer tr.Quiet()()
					for {
						for r := range tr.buffer.Consume(1<<63 - 1) {
							read++
							missing += r.Lost
						}
						outer(1)
						quiet++
						select {
						case <-stop:
							return
						case <-time.After(time.Millisecond):
						}
					}
				}()
				var readable byte
				address := int(addressOf(&readable))
				onAll(func(i int) {
					for n := range calls {
						if n&3 == 0 {
							outer(n)
						} else {
							work(n, address*(n&1))
						}
						if n&1023 == 0 {
							runtime.Gosched()
						}
					}
				})
				close(stop)
				<-stopped

				total := uint64(runtime.NumCPU()*calls) + quiet
				recorded, lost := uint64(0), uint64(0)
				for _, e := range events {
					f := balanced(t, e)
					want := total
					if strings.Contains(e.Definition.Place.Symbol, "outer") {
						want = uint64(runtime.NumCPU()*calls/4) + quiet
					}
					if f.Hits != want || f.Quiet > quiet || f.Missed == 0 && f.Quiet != quiet {
						t.Errorf("%s: %+v, want %d hits, %d of them quiet", e.Name(), f, want, quiet)
					}
					if !e.IsAggregation() {
						recorded += f.Recorded
						lost += f.Lost
					}
				}
				s := tr.buffer.Total()
				if s.Written != recorded || s.Dropped != lost || s.Read != read || s.Read+s.Overwritten+s.Entries != s.Written {
					t.Errorf("the buffer has %+v; %d recorded, %d lost, %d read", s, recorded, lost, read)
				}
				if overwrite && lost != 0 || !overwrite && s.Overwritten != 0 {
					t.Errorf("overwrite is %v: %+v", overwrite, s)
				}
				t.Logf("%d hits of an event; buffer: %+v, seen to be missing: %d", total, s, missing)

				counted := uint64(0)
				counts := events[4].aggregation.(*counts).count.Snapshot()
				for _, e := range counts.Entries {
					counted += e.Count
				}
				if f := events[4].Figures(); counted+counts.Lost != f.Recorded {
					t.Errorf("count has %d, %d lost; %d recorded", counted, counts.Lost, f.Recorded)
				}
				measured := uint64(0)
				for _, e := range events[5].aggregation.(*hists).hist.Snapshot().Entries {
					measured += e.Count
				}
				if f := events[5].Figures(); measured != f.Recorded || f.Lost == 0 {
					t.Errorf("hist has %d values; %+v", measured, f)
				}
				stacked := uint64(0)
				stacks := events[7].aggregation.(*stacks).stacks.Snapshot()
				for _, e := range stacks.Entries {
					stacked += e.Count
				}
				if f := events[7].Figures(); stacked+stacks.Lost != f.Recorded {
					t.Errorf("stacks has %d, %d lost; %d recorded", stacked, stacks.Lost, f.Recorded)
				}
			})
		})
	}
}

// Handlers of every kind work inside the allocator itself: one that allocated would fail.
func TestNothingAllocates(t *testing.T) {
	eachWay(t, func(t *testing.T) {
		tr := newTracer(t, 0)
		const place = "runtime.mallocgc"
		var events []*Event
		for _, line := range []string{
			"p " + place + " $arg1:u64 $comm $goid $caller $stack0 +0($stack):x8[16] s=+0($stack0):string %ip:symstr if $arg1 > 0",
			"r " + place + " $retval $dur w=+0($retval):x64",
			"count " + place + " $comm $arg1",
			"hist " + place + " $arg1:u64 $caller",
			"hist -l 0,1024,64 " + place + " $arg1:u64",
			"latency " + place + " $goid",
			"stacks " + place,
		} {
			events = append(events, tr.define(t, line))
		}
		kprobes.WaitOptimizer()
		onAll(func(int) {
			var kept [100]*[64]byte
			for i := range 5000 {
				kept[i%100] = new([64]byte)
			}
			sink.Store(kept[0])
		})
		runtime.GC()
		for _, e := range events {
			if f := balanced(t, e); f.Hits < 5000 || f.Recorded < 5000 {
				t.Errorf("%s: %+v", e.Name(), f)
			}
		}
		if err := tr.RemoveEvents(events); err != nil {
			t.Error(err)
		}
	})
}

var sink atomic.Pointer[[64]byte]

// What cannot be read is printed as a fault, and the probe goes on.
func TestFaults(t *testing.T) {
	const device = 0xfec00000 // the I/O APIC
	eachWay(t, func(t *testing.T) {
		tr := newTracer(t, 0)
		e := tr.define(t, "p:wild "+pkg+"work x=+0($arg2):x64 s=+0($arg2):string far=+0(+8($arg2)):u8[4] n=$arg1:s64")
		kprobes.WaitOptimizer()
		text := [4]uint64{0x6162, 1 << 63}
		addresses := []uint64{0, 8, 1 << 47, 1 << 63, ^uint64(0), ^uint64(7), device, uint64(board.MemoryEnd()), 1<<47 - 4, addressOf(&text[0])}
		for i, address := range addresses {
			work(i, int(address))
		}
		lines := tr.printed()
		if len(lines) != len(addresses) {
			t.Fatalf("printed %q", lines)
		}
		for i, line := range lines {
			want := fmt.Sprintf(" x=(fault) s=(fault) far=(fault) n=%d", i)
			if i == len(lines)-1 {
				want = fmt.Sprintf(" x=0x6162 s=\"ba\" far=(fault) n=%d", i)
			}
			if !strings.HasSuffix(line, want) {
				t.Errorf("%#x: printed %q, want %q", addresses[i], line, want)
			}
		}
		balanced(t, e)
	})
}

// Memory up to MemoryEnd is read, and nothing beyond it.
func TestMemoryEnd(t *testing.T) {
	tr := newTracer(t, 0)
	var word [8]byte
	tr.config.MemoryEnd = uintptr(addressOf(&word[4]))
	for i := range word {
		word[i] = byte(i + 1)
	}
	var b [8]byte
	if n := tr.read(b[:], addressOf(&word[0])); n != 4 || b != [8]byte{1, 2, 3, 4} {
		t.Errorf("before the end: %d bytes, %v", n, b)
	}
	for _, addr := range []uint64{addressOf(&word[4]), addressOf(&word[5]), 1 << 40, ^uint64(0), ^uint64(3)} {
		if n := tr.read(b[:], addr); n != 0 {
			t.Errorf("%#x: %d bytes", addr, n)
		}
	}
}

// goTarget has Go variables in registers, whatever these hold.
type goTarget struct{ *target }

func (goTarget) Variable(_ *event.Definition, name string) (event.Value, error) {
	parts := []event.Fetch{{Op: event.FetchReg, Name: "ax"}, {Op: event.FetchReg, Name: "bx"}}
	byteValue := event.Value{
		Type:  event.Type{Kind: event.TypeUnsigned, Size: 1, Name: "uint8"},
		Parts: []event.Fetch{{Op: event.FetchDeref, Of: &event.Fetch{Op: event.FetchImm}}},
	}
	switch name {
	case "text":
		return event.Value{Type: event.Type{Kind: event.TypeGoString, Size: 16, Name: "string"}, Parts: parts}, nil
	case "slice":
		return event.Value{Type: event.Type{Kind: event.TypeSlice, Size: 24, Name: "[]uint8"}, Parts: parts,
			Elem: &event.Elem{Stride: 1, Value: byteValue}}, nil
	default:
		return event.Value{Type: event.Type{Kind: event.TypeInterface, Size: 16, Name: "error"}, Parts: parts}, nil
	}
}

// Go values that are none do no harm.
func TestWildValues(t *testing.T) {
	eachWay(t, func(t *testing.T) {
		tr := newTracer(t, 0)
		e := tr.define(t, "p:values "+pkg+"work")
		d, err := event.Parse("p "+pkg+"work text slice err", &target{Tracer: tr})
		if err != nil {
			t.Fatal(err)
		}
		p := e.points[0]
		if p.program, err = event.Compile(d, goTarget{&target{Tracer: tr, pc: uint64(p.addr)}}); err != nil {
			t.Fatal(err)
		}
		kprobes.WaitOptimizer()
		var words [2]uint64
		values := []uint64{0, 1, 1 << 47, 1 << 63, ^uint64(0), addressOf(&words[0]), uint64(board.MemoryEnd()) - 8}
		for _, a := range values {
			for _, b := range values {
				work(int(a), int(b))
			}
		}
		if f := balanced(t, e); f.Recorded != uint64(len(values)*len(values)) {
			t.Errorf("%+v", f)
		}
		faults := 0
		for _, line := range tr.printed() {
			faults += strings.Count(line, "(fault)")
		}
		if faults == 0 {
			t.Error("nothing was a fault")
		}
	})
}

// Events come and go while they are hit.
func TestRemoval(t *testing.T) {
	tr := newTracer(t, 64<<10)
	var stop atomic.Bool
	var group sync.WaitGroup
	for range runtime.NumCPU() {
		group.Go(func() {
			for n := 0; !stop.Load(); n++ {
				if outer(n) != n+1 {
					t.Error("wrong result")
					return
				}
				if n&255 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	lines := []string{
		"p " + pkg + "outer $arg1", "r " + pkg + "outer $retval", "count " + pkg + "work $arg1:u8",
		"latency " + pkg + "outer", "stacks " + pkg + "work", "hist " + pkg + "outer $arg1",
	}
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	hits := uint64(0)
	for range rounds {
		var events []*Event
		for _, line := range lines {
			events = append(events, tr.define(t, line))
		}
		time.Sleep(20 * time.Millisecond)
		for _, e := range events {
			if err := tr.RemoveEvents([]*Event{e}); err != nil {
				t.Fatal(err)
			}
			if e.aggregation != nil {
				e.Append(nil, View{})
			}
		}
		time.Sleep(time.Millisecond) // for the calls that are being followed
		for _, e := range events {
			hits += balanced(t, e).Hits
		}
		tr.printed()
	}
	stop.Store(true)
	group.Wait()
	if hits == 0 || len(tr.Events()) != 0 {
		t.Errorf("%d hits, events %v", hits, tr.Events())
	}
}

// An event gets other conditions while it is hit: each lets pass what it should, and no hit is
// recorded twice.
func TestSetFilter(t *testing.T) {
	eachWay(t, func(t *testing.T) {
		tr := newTracer(t, 1<<20)
		e := tr.define(t, "p:sieve "+pkg+"work n=$arg1:u64")
		var stop atomic.Bool
		var group sync.WaitGroup
		group.Go(func() {
			for n := 1; !stop.Load(); n++ {
				work(n, 0)
				if n&63 == 0 {
					runtime.Gosched()
				}
			}
		})
		conditions := []struct {
			expr string
			ok   func(f Figures) bool
		}{
			{"n & 1", func(f Figures) bool { return f.Recorded+1 >= f.Filtered && f.Filtered+1 >= f.Recorded }},
			{"", func(f Figures) bool { return f.Filtered == 0 }},
			{"n < 5 && n > 6", func(f Figures) bool { return f.Recorded == 0 }},
		}
		for i := range 12 {
			c, before := conditions[i%len(conditions)], e
			var err error
			if e, err = tr.SetFilter(before, c.expr); err != nil {
				t.Fatal(err)
			}
			if got := tr.Events(); len(got) != 1 || got[0] != e {
				t.Fatalf("the events are %v", got)
			}
			if _, err := tr.SetFilter(before, "n > 1"); !errors.Is(err, syscall.ENOENT) {
				t.Errorf("an event that was replaced: %v", err)
			}
			if _, err := tr.SetFilter(e, "n >"); err == nil || !strings.Contains(err.Error(), "Value is not specified") {
				t.Errorf("half a condition: %v", err)
			}
			for e.Figures().Hits < 100 {
				time.Sleep(time.Millisecond)
			}
			if err := e.SetDisabled(true); err != nil {
				t.Fatal(err)
			}
			if f := balanced(t, e); !c.ok(f) {
				t.Errorf("if %s: %+v", c.expr, f)
			}
			// It stays disabled when it gets the next one.
			if i%2 == 0 {
				if e, err = tr.SetFilter(e, "n > 0"); err != nil || !e.Disabled() {
					t.Fatalf("disabled %v, %v", e.Disabled(), err)
				}
			}
			if err := e.SetDisabled(false); err != nil {
				t.Fatal(err)
			}
		}
		stop.Store(true)
		group.Wait()
		last := 0
		for _, line := range tr.printed() {
			n := 0
			if _, after, ok := strings.Cut(line, "n="); !ok {
				t.Fatal(line)
			} else if n, _ = strconv.Atoi(after); n <= last {
				t.Fatalf("%s, behind one with n=%d", line, last)
			}
			last = n
		}
		if last == 0 {
			t.Error("nothing is recorded")
		}
		sum := tr.define(t, "count "+pkg+"work")
		if _, err := tr.SetFilter(sum, "n > 1"); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("a sum: %v", err)
		}
	})
}

// The times that latency measures are those of the calls.
func TestLatency(t *testing.T) {
	eachWay(t, func(t *testing.T) {
		tr := newTracer(t, 0)
		e := tr.define(t, "latency "+pkg+"spin")
		r := tr.define(t, "r:spun "+pkg+"spin $dur")
		kprobes.WaitOptimizer()
		own := int64(0)
		const calls = 20
		for range calls {
			start := board.Nanotime()
			spin(2 * time.Millisecond)
			own += board.Nanotime() - start
		}
		h := e.aggregation.(*hists).hist.Snapshot()
		if len(h.Entries) != 1 || h.Entries[0].Count != calls {
			t.Fatalf("%+v", h)
		}
		sum := h.Entries[0].Sum
		if sum < calls*int64(2*time.Millisecond)*9/10 || sum > own {
			t.Errorf("latency measured %v, the caller %v", time.Duration(sum), time.Duration(own))
		}
		balanced(t, e)
		balanced(t, r)
		if n := len(tr.printed()); n != calls {
			t.Errorf("%d records", n)
		}
	})
}
