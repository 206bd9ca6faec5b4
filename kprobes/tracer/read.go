package tracer

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"tamaprobe/dump"
	"tamaprobe/kprobes/event"
	"tamaprobe/kprobes/govars"
	"tamaprobe/kprobes/ring"
	"tamaprobe/symtab"
)

// Header is what stands above a trace.
func (t *Tracer) Header() string {
	s := t.buffer.Total()
	return fmt.Sprintf(`# tracer: nop
#
# entries-in-buffer/entries-written: %d/%d   #P:%d
#
#           GOROUTINE-ID    CPU#   TIMESTAMP   EVENT
#              | |           |         |         |
`, s.Entries, s.Written, t.buffer.CPUs())
}

// WriteTrace writes what the buffers hold, which stays there.
func (t *Tracer) WriteTrace(w io.Writer) error {
	if _, err := io.WriteString(w, t.Header()); err != nil {
		return err
	}
	var b []byte
	for r := range t.buffer.Snapshot() {
		b = t.Append(b, r)
		if len(b) > 4096 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	_, err := w.Write(b)
	return err
}

// Append prints a record in the form of ftrace: goroutine, CPU, time, event, place, arguments.
func (t *Tracer) Append(b []byte, r *ring.Record) []byte {
	if r.Lost > 0 {
		b = fmt.Appendf(b, "CPU:%d [LOST %d EVENTS]\n", r.CPU, r.Lost)
	}
	p := t.point(r.Event)
	b = fmt.Appendf(b, "%16s-%-5d [%03d] %5d.%06d: ", startName(r.StartPC), r.Goid, r.CPU, r.Time/1e9, r.Time%1e9/1e3)
	if p == nil {
		return fmt.Appendf(b, "unknown event %d\n", r.Event)
	}
	b = fmt.Appendf(b, "%s: (", p.event.Definition.Event)
	if p.event.isReturn() {
		b = fmt.Appendf(b, "%s <- ", Place(uintptr(r.Caller)))
		b = append(b, symbol(p.addr)...)
	} else {
		b = append(b, Place(uintptr(r.PC))...)
	}
	b = append(b, ')')
	b = p.program.Append(b, r.Data, &target{Tracer: t})
	return append(b, '\n')
}

// durationSize is the size of what follows a return's record: how long the call took.
const durationSize = 8

func (p *point) duration(r *ring.Record) int64 {
	if len(r.Data) < durationSize {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(r.Data[len(r.Data)-durationSize:]))
}

// point returns the point that a record is of, also one that was removed.
func (t *Tracer) point(id uint32) *point {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.points[id]
}

// startName is the name of a goroutine: the function that it began with.
func startName(pc uint64) string {
	if name := symbol(uintptr(pc)); name != "" {
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	return "<...>"
}

func symbol(addr uintptr) string {
	name, _ := symtab.Symname(uint64(addr))
	return name
}

// Place names an address: SYMBOL+OFFSET, or the number if there is no symbol.
func Place(addr uintptr) string {
	fn, ok := symtab.Find(addr)
	if !ok {
		return fmt.Sprintf("%#x", addr)
	}
	return fmt.Sprintf("%s+%#x", fn.Name(), addr-fn.Entry())
}

// DumpEvents returns what the buffers hold in the form that package dump writes.
func (t *Tracer) DumpEvents() []dump.Event {
	var events []dump.Event
	for r := range t.buffer.Snapshot() {
		p := t.point(r.Event)
		if p == nil {
			continue
		}
		e := dump.Event{
			Time:      r.Time,
			CPU:       int(r.CPU),
			Goid:      r.Goid,
			Goroutine: symbol(uintptr(r.StartPC)),
			Name:      p.event.Definition.Event,
			Place:     Place(uintptr(r.PC)),
			Stack:     []uint64{r.PC},
		}
		if len(p.event.points) > 1 {
			e.Name = symbol(p.addr) // says more than the name of them all
		}
		if p.event.isReturn() {
			e.Duration = p.duration(r)
		}
		for _, f := range p.fields {
			e.Args = append(e.Args, dump.Arg{Name: f.Name(), Value: string(f.Append(nil, r.Data, &target{Tracer: t}))})
		}
		events = append(events, e)
	}
	return events
}

// StackSamples returns what stacks have been counted, in the form that package dump writes.
func (t *Tracer) StackSamples() []dump.Sample {
	var samples []dump.Sample
	for _, e := range t.Events() {
		s, ok := e.aggregation.(*stacks)
		if !ok {
			continue
		}
		for _, entry := range s.stacks.Snapshot().Entries {
			sample := dump.Sample{Count: int64(entry.Count), Labels: map[string]string{"event": e.Definition.Event}}
			for _, pc := range entry.PCs {
				sample.Stack = append(sample.Stack, uint64(pc))
			}
			samples = append(samples, sample)
		}
	}
	return samples
}

// Variables lists the Go variables that an event at a place can name.
func (t *Tracer) Variables(place string) ([]string, error) {
	d, err := event.Parse("p "+place, &target{Tracer: t})
	if err != nil {
		return nil, err
	}
	if t.image == nil {
		return nil, t.noVars
	}
	pc := d.Place.Addr
	if d.Place.Symbol != "" {
		fns := symtab.Lookup(d.Place.Symbol)
		if len(fns) == 0 || d.Place.Glob {
			return nil, fmt.Errorf("%s: no such function", place)
		}
		pc = uint64(fns[0].Entry()) + d.Place.Offset
	}
	fn, err := t.image.Function(pc)
	if err != nil {
		return nil, err
	}
	var lines []string
	list := func(kind string, vars []govars.Variable) {
		for _, v := range vars {
			lines = append(lines, fmt.Sprintf("%-9s %s %s", kind, v.Name, v.Type))
		}
	}
	if pc == fn.Entry {
		list("parameter", fn.Params)
		list("result", fn.Results)
		return lines, nil
	}
	locals, err := t.image.Locals(pc)
	list("variable", locals)
	return lines, err
}
