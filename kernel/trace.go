package main

import (
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"tamaprobe/boot/board"
	"tamaprobe/dump"
	"tamaprobe/kernel/shell"
	"tamaprobe/symtab"
)

// Commands that show what events recorded.

var traceCommands = []command{
	{name: "trace", args: "[clear]", help: "print what was recorded, which stays there", run: (*console).trace},
	{name: "trace_pipe", help: "print hits as they come, and take them out of the buffer, until a key", run: noArgs((*console).tracePipe)},
	{name: "tp_printk", args: "[0|1]", help: "whether hits are printed while you type", run: knob(
		func(c *console) bool { return c.printer.on() }, func(c *console, on bool) { c.printer.set(c, on) })},
	{name: "tracing", args: "[0|1]", help: "whether hits are recorded and added up", run: knob(
		func(c *console) bool { return c.tracer.Tracing() }, func(c *console, on bool) { c.tracer.SetTracing(on) })},
	{name: "overwrite", args: "[0|1]", help: "whether a full buffer loses the oldest record, or the new one", run: knob(
		func(c *console) bool { return c.tracer.Buffer().Overwrite() }, func(c *console, on bool) { c.tracer.Buffer().SetOverwrite(on) })},
	{name: "stats", help: "what became of records and hits", run: noArgs((*console).stats)},
	{name: "dump", args: "[trace|profile]", help: "print what was recorded as files for Perfetto and pprof, for tamadump", run: (*console).dump},
}

func (c *console) trace(x *shell.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "clear":
		c.tracer.Buffer().Clear()
		return nil
	case len(args) != 0:
		return shell.ErrUsage
	}
	defer c.tracer.Quiet()()
	return c.tracer.WriteTrace(x)
}

// pipeInterval is how often new records are looked for: to be woken by a hit would take the
// scheduler, which may be what is probed. settled is how long a record may take to get into
// the buffer: those of all processors are in order up to then.
const (
	pipeInterval = 100 * time.Millisecond
	settled      = 2 * time.Millisecond
)

func (c *console) tracePipe(x *shell.Context) error {
	defer c.tracer.Quiet()()
	x.Stream(pipeInterval, func(w io.Writer) { c.writeNew(w, board.Nanotime()-int64(settled), math.MaxInt) })
	c.writeNew(x, math.MaxInt64, math.MaxInt)
	return nil
}

// writeNew takes records from before a time out of the buffer and writes them, up to a limit.
func (c *console) writeNew(w io.Writer, before int64, limit int) {
	var b []byte
	n := 0
	for r := range c.tracer.Buffer().Consume(before) {
		b = c.tracer.Append(b, r)
		if n++; n == limit {
			break
		}
	}
	if len(b) > 0 {
		w.Write(b)
	}
}

// A printer prints records while the console is used otherwise, from a goroutine of its own.
type printer struct {
	mu   sync.Mutex
	stop chan bool // nil while there is none
}

// printLimit bounds the lines of an interval, so that the terminal can be used.
const printLimit = 64

func (p *printer) on() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stop != nil
}

func (p *printer) set(c *console, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on == (p.stop != nil) {
		return
	}
	if !on {
		close(p.stop)
		p.stop = nil
		return
	}
	stop := make(chan bool)
	p.stop = stop
	go func() {
		defer c.tracer.Quiet()()
		tick := time.NewTicker(pipeInterval)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				c.writeNew(c, board.Nanotime()-int64(settled), printLimit)
			}
		}
	}()
}

// stats prints the buffers' figures in the form of tracefs's per_cpu/cpuN/stats, then the events'.
func (c *console) stats(x *shell.Context) error {
	b := c.tracer.Buffer()
	w := lineWriter{w: x}
	defer w.flush()
	for i := range b.CPUs() {
		s := b.Stats(i)
		w.printf("cpu %d: entries %d, bytes %d, overrun %d, dropped %d, read %d\n", i, s.Entries, s.Bytes, s.Overwritten, s.Dropped, s.Read)
	}
	for _, e := range c.tracer.Events() {
		f := e.Figures()
		w.printf("%s: hits %d = recorded %d + filtered %d + lost %d + own %d + missed %d", e.Name(), f.Hits, f.Recorded, f.Filtered, f.Lost, f.Quiet, f.Missed)
		if e.Type() == "r" {
			w.printf(" + not returned %d", f.Hits-f.Recorded-f.Filtered-f.Lost-f.Quiet-f.Missed)
		}
		w.printf("\n")
	}
	return nil
}

// dump writes files over the serial line.
func (c *console) dump(x *shell.Context, args []string) error {
	trace, profile := true, true
	switch {
	case len(args) == 0:
	case len(args) == 1 && args[0] == "trace":
		profile = false
	case len(args) == 1 && args[0] == "profile":
		trace = false
	default:
		return shell.ErrUsage
	}
	defer c.tracer.Quiet()()
	events := c.tracer.DumpEvents()
	samples := append(dump.Samples(events), c.tracer.StackSamples()...)
	if len(events)+len(samples) == 0 {
		return fmt.Errorf("nothing has been recorded: define an event with p or r, and let it be hit")
	}
	if trace {
		if err := dumped(c, "trace.json", func(w io.Writer) error { return dump.WriteChrome(w, events) }); err != nil {
			return err
		}
	}
	if profile {
		return dumped(c, "profile.pb.gz", func(w io.Writer) error { return dump.NewProfile(samples, frames).Write(w) })
	}
	return nil
}

// dumped writes a file in the framed form, past pages and redrawing.
func dumped(w io.Writer, name string, write func(io.Writer) error) error {
	f := dump.NewFrameWriter(w, name)
	if err := write(f); err != nil {
		return err
	}
	return f.Close()
}

// frames names an address for a profile.
func frames(pc uint64) []dump.Frame {
	fn, ok := symtab.Find(uintptr(pc))
	if !ok {
		return nil
	}
	frame := dump.Frame{Func: fn.Name(), Entry: uint64(fn.Entry())}
	frame.File, frame.Line = sourceLine(uintptr(pc))
	return []dump.Frame{frame}
}
