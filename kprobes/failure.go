package kprobes

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"tamaprobe/arch/amd64"
	"tamaprobe/goruntime"
)

// Failures of handlers: recorded in trap context, reported by a goroutine.

// Log is called for every line about a failure of a handler. It may be set before the
// first registration. Goroutine context.
var Log = func(line string) { fmt.Fprintln(os.Stderr, line) }

// A failure is the record of one.
type failure struct {
	probe  ref[Kprobe]
	phase  phase
	vector amd64.Vector
	addr   uintptr // that a page fault was about
	reason [64]byte
	length int // of the reason; 0 for an exception
	pcs    [32]uintptr
	depth  int
}

// A failureRing holds failures of one processor. The handlers' faults on that processor
// write, the holder of mu reads.
type failureRing struct {
	head, tail atomic.Uint32
	failures   [16]failure
}

var failureRings []failureRing

// recordFailure is called for a failure of p, with the registers where it happened.
// Trap context, on the trap stack's reserve.
func recordFailure(c *cpu, p *Kprobe, r *amd64.Regs) {
	ring := &failureRings[r.CPU]
	head := ring.head.Load()
	if head-ring.tail.Load() == uint32(len(ring.failures)) {
		c.unrecorded++
		return
	}
	f := &ring.failures[head%uint32(len(ring.failures))]
	f.probe = refTo(p)
	f.phase = c.phase
	if c.list().isTrampoline() {
		f.phase = phaseReturn
	}
	f.vector = amd64.Vector(r.Vector)
	f.length = 0
	if amd64.Thrown(r) {
		f.length = copy(f.reason[:], amd64.ThrowReason(r))
	}
	f.addr = amd64.CR2()
	f.depth = goruntime.Callers(uintptr(r.PC), uintptr(r.SP), goruntime.SignalG(), f.pcs[:])
	ring.head.Store(head + 1)
}

// reportInterval is how long a failure may wait to be reported.
const reportInterval = 50 * time.Millisecond

// reporter reports failures while there are probes.
func reporter() {
	for {
		time.Sleep(reportInterval)
		mu.Lock()
		for len(sites) == 0 {
			registered.Wait()
		}
		reportFailures()
		mu.Unlock()
	}
}

// reportFailures logs the failures there are, and disables the probes for good. mu is
// held.
func reportFailures() {
	forgetReturned()
	for i := range failureRings {
		ring := &failureRings[i]
		for ring.tail.Load() != ring.head.Load() {
			f := &ring.failures[ring.tail.Load()%uint32(len(ring.failures))]
			p := f.probe.get()
			lines := f.lines(p)
			ring.tail.Add(1)
			p.markFaulted()
			for _, line := range lines {
				Log(line)
			}
		}
	}
	unrecorded := uint64(0)
	for _, c := range cpus {
		if c != 0 {
			unrecorded += c.get().unrecorded
		}
	}
	if unrecorded == unrecordedTold {
		return
	}
	Log(fmt.Sprintf("kprobes: %d failures of handlers could not be recorded", unrecorded-unrecordedTold))
	unrecordedTold = unrecorded
	for _, s := range sites {
		for _, p := range s.probes {
			if p.off != 0 && !p.faulted {
				p.markFaulted()
				Log(fmt.Sprintf("kprobes: %s: a handler failed; the probe is disabled", p.where()))
			}
		}
	}
}

// unrecordedTold is how many unrecorded failures have been reported; guarded by mu.
var unrecordedTold uint64

// markFaulted makes a probe that a failure took out of the hits a disabled one. mu is
// held.
func (p *Kprobe) markFaulted() {
	p.faulted = true
	p.disabled = true
	if s := p.site; s != nil {
		s.update()
	}
}

// lines are the failure's line in the log, and its traceback.
func (f *failure) lines(p *Kprobe) []string {
	reason := string(f.reason[:f.length])
	if reason == "" {
		reason = f.vector.String()
		if f.vector == amd64.VectorPageFault {
			reason += fmt.Sprintf(" at %#x", f.addr)
		}
	}
	lines := []string{fmt.Sprintf("kprobes: %s: the %s handler failed: %s; the probe is disabled", p.where(), f.phase, reason)}
	frames := runtime.CallersFrames(f.pcs[:f.depth])
	for {
		frame, more := frames.Next()
		// What called the handler is the same every time.
		if frame.Function == "" || strings.HasPrefix(frame.Function, "tamaprobe/kprobes.(*cpu).") ||
			strings.HasPrefix(frame.Function, "tamaprobe/arch/amd64.callSaved") {
			break
		}
		lines = append(lines, fmt.Sprintf("\t%s\n\t\t%s:%d", frame.Function, frame.File, frame.Line))
		if !more {
			break
		}
	}
	return lines
}
