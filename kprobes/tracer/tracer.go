// Package tracer traces the running machine: it turns definitions of probe events into
// probes, records their hits in ring buffers or adds them up, and prints what there is, in the forms of
// tracefs.
//
// It joins the engine (package kprobes) with the language (kprobes/event), the buffers (kprobes/ring,
// kprobes/aggregate) and the debugging information (kprobes/govars). It knows no console and no
// board: what it needs of the machine is a Config.
package tracer

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"tamaprobe/arch/amd64"
	"tamaprobe/goruntime"
	"tamaprobe/kprobes/event"
	"tamaprobe/kprobes/govars"
	"tamaprobe/kprobes/ring"
	"tamaprobe/trap"
)

// A Config is what a Tracer needs of the machine.
type Config struct {
	// Now returns the time since boot in nanoseconds, on a clock that all processors
	// share. It is called by handlers.
	Now func() int64

	// Image is the ELF file of the image that runs, with its debugging information; nil if
	// there is none: Go variables cannot be named then.
	Image io.ReaderAt

	// MemoryEnd is the end of the memory that events may read: beyond it are devices,
	// which do something when they are read.
	MemoryEnd uintptr

	// BufferSize is the size of a processor's ring buffer in bytes; 0: 1 MiB.
	BufferSize int
}

// A Tracer has events.
type Tracer struct {
	config Config
	image  *govars.Image
	noVars error // why image is nil
	buffer *ring.Buffer
	cpus   []cpu
	errors event.ErrorLog
	off    atomic.Bool

	// readers are the ids of goroutines whose own hits are not recorded, 0 for none; reading is how
	// many there are.
	readers [8]atomic.Uint64
	reading atomic.Int32

	mu     sync.Mutex
	events []*Event
	points map[uint32]*point // by id; also those that were removed
	next   uint32            // id
}

// A cpu is what handlers on one processor work with.
type cpu struct {
	hit    event.Hit
	regs   [32]uint64
	floats [16][2]uint64
	header ring.Header
	record [maxRecord]byte
	key    [256]byte
	pcs    [stackDepth]uintptr
	_      [64]byte // keeps the next one's words out of this one's cache line
}

const (
	maxRecord  = 4096
	stackDepth = 32

	defaultBuffer = 1 << 20
)

// New returns a tracer without events. Goroutine context.
func New(config Config) (*Tracer, error) {
	if err := trap.Install(); err != nil {
		return nil, err
	}
	if config.Now == nil {
		return nil, errors.New("tracer: there is no clock")
	}
	if config.BufferSize == 0 {
		config.BufferSize = defaultBuffer
	}
	t := &Tracer{
		config: config,
		buffer: ring.New(amd64.CPULimit(), config.BufferSize),
		cpus:   make([]cpu, amd64.CPULimit()),
		points: make(map[uint32]*point),
	}
	for i := range t.cpus {
		c := &t.cpus[i]
		c.hit = event.Hit{Regs: &c.regs, Floats: &c.floats, Read: t.read, CPU: i}
	}
	t.image, t.noVars = openImage(config.Image)
	return t, nil
}

// read is how events read memory. Handler context.
func (t *Tracer) read(dst []byte, addr uint64) int {
	end := uint64(t.config.MemoryEnd)
	if addr >= end {
		return 0
	}
	if uint64(len(dst)) > end-addr {
		dst = dst[:end-addr]
	}
	return amd64.TryCopy(dst, uintptr(addr))
}

// SetTracing says whether hits are recorded and added up, which they are at first.
func (t *Tracer) SetTracing(on bool) { t.off.Store(!on) }

// Tracing returns what SetTracing set.
func (t *Tracer) Tracing() bool { return !t.off.Load() }

// Buffer returns the ring buffers, whose records Append prints.
func (t *Tracer) Buffer() *ring.Buffer { return t.buffer }

// Errors returns the log of definitions that were refused.
func (t *Tracer) Errors() *event.ErrorLog { return &t.errors }

// Quiet keeps hits by the current goroutine from being recorded, until the function that it
// returns is called: what prints a trace would otherwise add to it for ever. Goroutine context.
func (t *Tracer) Quiet() (end func()) {
	id := goruntime.Goid(goruntime.SystemG()) // of the g0, which works for the current goroutine
	for i := range t.readers {
		if r := &t.readers[i]; r.CompareAndSwap(0, id) {
			t.reading.Add(1)
			return func() {
				t.reading.Add(-1)
				r.Store(0)
			}
		}
	}
	return func() {}
}

// isReader reports whether a goroutine is quiet. Handler context.
func (t *Tracer) isReader(goid uint64) bool {
	if t.reading.Load() == 0 {
		return false
	}
	for i := range t.readers {
		if r := t.readers[i].Load(); r != 0 && r == goid {
			return true
		}
	}
	return false
}

// logged logs an error about a definition.
func (t *Tracer) logged(err error) error {
	t.errors.Add(time.Duration(t.config.Now()), err)
	return err
}
