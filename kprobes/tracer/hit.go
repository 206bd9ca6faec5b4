package tracer

import (
	"encoding/binary"
	"sync/atomic"

	"tamaprobe/arch/amd64"
	"tamaprobe/goruntime"
	"tamaprobe/kprobes"
	"tamaprobe/kprobes/event"
)

// What happens at a hit. All of this is handler context: nothing is allocated, locked, or stored
// as a pointer.

// tallies are what became of a point's hits on one processor: of those that are handled, so that
// handled = recorded + filtered + lost + quiet.
type tally struct {
	recorded, filtered, lost, quiet atomic.Uint64
	_                               [32]byte
}

// hit is a pre handler.
func (p *point) hit(_ *kprobes.Kprobe, r *amd64.Regs) bool {
	caller := uintptr(0)
	switch {
	case p.atEntry:
		caller = kprobes.ReturnAddress(r)
	case p.wantsCaller:
		c := p.cpu(r)
		if n := goruntime.Callers(uintptr(r.PC), uintptr(r.SP), r.G, c.pcs[:2]); n > 1 {
			caller = c.pcs[1]
		}
	}
	p.record(r, r.PC, uint64(caller), 0, nil)
	return false
}

// What an instance's data are: the time of the entry, and, if the record was begun there, its length
// and itself.
const (
	timeSize   = 8
	lengthSize = 8
)

// entered is the entry handler of a return probe that measures time, or records arguments.
func (p *point) entered(ri *kprobes.KretprobeInstance, r *amd64.Regs) bool {
	c := p.cpu(r)
	if p.isQuiet(c, r.G) {
		return true
	}
	if p.program.HasEntry() {
		p.load(c, r)
		about(&c.hit, r.G, uint64(kprobes.ReturnAddress(r)), 0)
		c.hit.Return = false
		n := p.program.RunEntry(&c.hit, ri.Data[timeSize+lengthSize:])
		binary.LittleEndian.PutUint64(ri.Data[timeSize:], uint64(n))
	}
	binary.LittleEndian.PutUint64(ri.Data, uint64(p.event.tracer.config.Now()))
	return false
}

// returned is the handler of a return probe.
func (p *point) returned(ri *kprobes.KretprobeInstance, r *amd64.Regs) {
	duration := uint64(0)
	var begun []byte
	if len(ri.Data) >= timeSize {
		duration = uint64(p.event.tracer.config.Now()) - binary.LittleEndian.Uint64(ri.Data)
	}
	if len(ri.Data) > timeSize+lengthSize {
		n := binary.LittleEndian.Uint64(ri.Data[timeSize:])
		begun = ri.Data[timeSize+lengthSize:]
		begun = begun[:min(n, uint64(len(begun)))]
	}
	p.record(r, uint64(p.addr), uint64(kprobes.ReturnsTo(r)), duration, begun)
}

// cpu is the processor's state.
func (p *point) cpu(r *amd64.Regs) *cpu { return &p.event.tracer.cpus[r.CPU] }

// load loads the registers of a hit.
func (p *point) load(c *cpu, r *amd64.Regs) {
	copyRegs(&c.regs, r)
	if p.floats {
		if x := r.SSE(); x != nil {
			c.floats = *x
		}
	}
	c.hit.Stack = r.SP
}

// record records a hit or adds it up. pc is the place of the event; begun is what a return event
// recorded at the entry.
func (p *point) record(r *amd64.Regs, pc, caller, duration uint64, begun []byte) {
	c := p.cpu(r)
	if p.isQuiet(c, r.G) {
		return
	}
	p.load(c, r)
	rec, ok := p.fetch(c, r.G, caller, duration, begun)
	if !ok {
		return
	}
	if a := p.event.aggregation; a != nil {
		if a.add(c, p, r, rec, duration) {
			p.tallies[c.hit.CPU].recorded.Add(1)
		} else {
			p.tallies[c.hit.CPU].lost.Add(1)
		}
		return
	}
	p.put(c, rec, pc, caller, duration)
}

// mirrored records a hit by a mirror function, which has its arguments.
func (p *point) mirrored(a, b uint64) {
	c := &p.event.tracer.cpus[amd64.CPUNumber()]
	g := goruntime.SystemG() // which works for the current goroutine
	if p.isQuiet(c, g) {
		return
	}
	c.regs[registers.ax], c.regs[registers.bx] = a, b
	if rec, ok := p.fetch(c, g, 0, 0, nil); ok {
		p.put(c, rec, uint64(p.addr), 0, 0)
	}
}

// isQuiet counts a hit that is not to be recorded.
func (p *point) isQuiet(c *cpu, g uintptr) bool {
	t := p.event.tracer
	if !t.off.Load() && !t.isReader(goruntime.Goid(g)) {
		return false
	}
	p.tallies[c.hit.CPU].quiet.Add(1)
	return true
}

// about describes a hit by the g.
func about(h *event.Hit, g uintptr, caller, duration uint64) {
	h.Goid = goruntime.Goid(g)
	h.StartPC = uint64(goruntime.StartPC(g))
	h.Caller = caller
	h.Duration = duration
}

// fetch fetches what the definition says, with the registers in c. It reports false if the filter
// does not let the hit pass.
func (p *point) fetch(c *cpu, g uintptr, caller, duration uint64, begun []byte) (rec []byte, ok bool) {
	h := &c.hit
	about(h, g, caller, duration)
	h.Return = p.event.isReturn()
	var n int
	if p.program.HasEntry() {
		n = p.program.RunReturn(h, c.record[:], copy(c.record[:], begun))
	} else {
		n = p.program.Run(h, c.record[:])
	}
	rec = c.record[:n]
	if !p.program.Match(h, rec) {
		p.tallies[h.CPU].filtered.Add(1)
		return nil, false
	}
	return rec, true
}

// put writes a record to the ring buffer.
func (p *point) put(c *cpu, rec []byte, pc, caller, duration uint64) {
	t, h := p.event.tracer, &c.hit
	tally := &p.tallies[h.CPU]
	n := len(rec)
	c.header.Time = t.config.Now()
	c.header.Goid = h.Goid
	c.header.StartPC = h.StartPC
	c.header.PC = pc
	c.header.Caller = caller
	c.header.Event = p.id
	if h.Return {
		n += durationSize
	}
	data := t.buffer.Reserve(h.CPU, &c.header, n)
	if data == nil {
		tally.lost.Add(1)
		return
	}
	copy(data, rec)
	if h.Return {
		binary.LittleEndian.PutUint64(data[len(rec):], duration)
	}
	t.buffer.Commit(h.CPU, n)
	tally.recorded.Add(1)
}
