package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tamaprobe/arch/amd64"
	"tamaprobe/goruntime"
)

// A printer prints the hits that probes recorded, from a goroutine of its own. It
// looks for them at fixed intervals: to be woken by a hit would take the scheduler,
// which may be what is probed.
type printer struct {
	out   io.Writer
	goid  uint64 // of the printing goroutine
	rings []ring // by processor

	mu     sync.Mutex
	events map[int]*printed // by number
	wanted *sync.Cond       // there are events
}

// printInterval and ringSize bound how much is printed, so that the terminal can be
// used while a hot function is probed.
const (
	printInterval = 100 * time.Millisecond
	ringSize      = 32
)

// A record is a hit.
type record struct {
	event int
	cpu   int
	goid  uint64
	time  int64
	args  [amd64.NumArgs]uint64

	// Of a return:
	caller   uintptr
	duration int64
}

// A ring holds hits of one processor. The handler on that processor writes, the
// printing goroutine reads.
type ring struct {
	head    atomic.Uint32 // written by the handler: records put
	tail    atomic.Uint32 // written by the reader: records taken
	records [ringSize]record
}

// put adds a record, if there is room. Handler context.
func (q *ring) put(r record) bool {
	head := q.head.Load()
	if head-q.tail.Load() == ringSize {
		return false
	}
	q.records[head%ringSize] = r
	q.head.Store(head + 1)
	return true
}

// take returns the records that are there.
func (q *ring) take(to []record) []record {
	tail, head := q.tail.Load(), q.head.Load()
	for ; tail != head; tail++ {
		to = append(to, q.records[tail%ringSize])
	}
	q.tail.Store(tail)
	return to
}

func newPrinter(out io.Writer) *printer {
	p := &printer{out: out, rings: make([]ring, amd64.CPULimit()), events: make(map[int]*printed)}
	p.wanted = sync.NewCond(&p.mu)
	started := make(chan bool)
	go func() {
		// Of the M's g0, which works for the current goroutine.
		p.goid = goruntime.Goid(goruntime.SystemG())
		started <- true
		for {
			p.print()
			time.Sleep(printInterval)
		}
	}()
	<-started
	return p
}

// add makes the printer print hits of e.
func (p *printer) add(e *printed) {
	p.mu.Lock()
	p.events[e.number] = e
	p.wanted.Signal()
	p.mu.Unlock()
}

// drop makes it forget e, which must not be hit any more.
func (p *printer) drop(e *printed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.events, e.number)
	if len(p.events) == 0 {
		p.take() // nobody will, until there is an event again
	}
}

// take returns what has been recorded, in the order of time.
func (p *printer) take() []record {
	var records []record
	for i := range p.rings {
		first := len(records)
		records = p.rings[i].take(records)
		for j := first; j < len(records); j++ {
			records[j].cpu = i
		}
	}
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.time, b.time) })
	return records
}

// print prints what has been recorded, in the order of time, and how much was lost.
func (p *printer) print() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.events) == 0 {
		p.wanted.Wait()
	}
	var lines []byte
	for _, r := range p.take() {
		if e := p.events[r.event]; e != nil {
			lines = r.append(lines, e)
		}
	}
	for _, e := range p.events {
		if lost := e.lost.Load(); lost != e.told {
			lines = fmt.Appendf(lines, "%s: lost %d hits\n", e.name(), lost-e.told)
			e.told = lost
		}
	}
	if len(lines) > 0 {
		p.out.Write(lines)
	}
}

// append appends the line for a hit: event, CPU, goroutine, time, place, and the
// integer argument registers.
func (r *record) append(b []byte, e *printed) []byte {
	b = fmt.Appendf(b, "%s: [%03d] goroutine %d %d.%06d: %s", e.name(), r.cpu, r.goid, r.time/1e9, r.time%1e9/1e3, e.place())
	if r.caller != 0 {
		b = fmt.Appendf(b, " -> %s took %v", place(r.caller), time.Duration(r.duration))
	}
	if e.format != "" {
		args := make([]any, strings.Count(e.format, "%"))
		for i := range args {
			args[i] = r.args[i%len(r.args)]
		}
		return fmt.Appendf(b, " "+e.format+"\n", args...)
	}
	for i, v := range r.args {
		b = fmt.Appendf(b, " %s=%#x", amd64.ArgNames[i], v)
	}
	return append(b, '\n')
}
