package main

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"

	"tamaprobe/bench/budget"
	"tamaprobe/boot/board"
	"tamaprobe/kprobes"
	"tamaprobe/kprobes/tracer"
)

// An eventCase measures the hits of an event.
type eventCase struct {
	name string
	call func() // hits it once
	line string // defines it
}

const (
	arguments3 = "a=%ax:u64 b=%bx:u64 c=%cx:u64"
	arguments8 = arguments3 + " d=%di:u64 e=%si:u64 f=%r8:u64 g=%r9:u64 h=%r10:u64"
)

var eventCases = []eventCase{
	{"event0", plain, "p main.plain"},
	{"event3", plain, "p main.plain " + arguments3},
	{"event8", plain, "p main.plain " + arguments8},
	{"event_memory", callServe, "p main.serve name=+0(+0(%ax)):u64 length=+8(%ax):u64 price=+40(%ax):s64"},
	{"event_go", callServe, "p main.serve customer number o.price"},
	{"event_filtered", plain, "p main.plain a=%bx:u64 if a == 0x123456789abcdef"},
	{"event_ret", plain, "r main.plain $retval"},
	{"event_count", plain, "count main.plain"},
	{"event_count_key", plain, "count main.plain %cx:u64"},
	{"event_hist", plain, "hist main.plain %cx:s64"},
	{"event_latency", plain, "latency main.plain"},
	{"event_stacks", callEntry, "stacks main.use"},
}

var breakpointEventCases = []eventCase{
	{"event0_int3", plain, "p main.plain"},
	{"event3_int3", plain, "p main.plain " + arguments3},
	{"event8_int3", plain, "p main.plain " + arguments8},
}

// events measures hits of probe events.
func events() {
	t := newTracer()
	for _, c := range eventCases {
		report(c.name, c.cost(t), budget.Insn)
	}
	kprobes.SetOptimization(false)
	defer kprobes.SetOptimization(true)
	for _, c := range breakpointEventCases {
		report(c.name, c.cost(t), budget.Insn)
	}
}

// newTracer returns a tracer that knows the image's variables, if the image is there as a boot
// module.
func newTracer() *tracer.Tracer {
	_, end := runtime.MemRegion()
	config := tracer.Config{Now: board.Nanotime, MemoryEnd: uintptr(end)}
	for _, m := range board.Info().Modules {
		config.Image = io.ReaderAt(bytes.NewReader(m.Data))
	}
	t, err := tracer.New(config)
	check(err)
	return t
}

// cost returns the cost of a hit.
func (c *eventCase) cost(t *tracer.Tracer) float64 {
	bare := measure(c.call)
	define := t.Define
	if !strings.HasPrefix(c.line, "p ") && !strings.HasPrefix(c.line, "r ") {
		define = t.Aggregate
	}
	e, err := define(c.line)
	check(err)
	settle(e.Kprobes()[0])
	probed := measure(c.call)
	if f := e.Figures(); f.Hits != calls*rounds || f.Recorded+f.Filtered != f.Hits {
		check(fmt.Errorf("%s: %+v", c.name, f))
	}
	check(t.RemoveEvents([]*tracer.Event{e}))
	return probed - bare
}
