package kprobes

import (
	"errors"
	"sync"
	"syscall"

	"tamaprobe/arch/amd64"
	"tamaprobe/goruntime"
)

// A Kretprobe is a probe of a function's returns. At the entry the return address is
// replaced by that of a trampoline, which calls the handler and goes on at the
// real one. The runtime knows (goruntime.HookReturns): stacks that grow and move, the
// garbage collector, panics and tracebacks see the real address.
//
// A call that does not return, because a panic or Goexit unwinds it, gives its instance back when
// the panic is recovered or its goroutine ends.
//
// It is otherwise a Kprobe at the function's entry: Enable and Disable take its Kprobe.
// Hits of that are the calls: each is followed to its return (Nreturned), or abandoned
// (Nabandoned), skipped by the entry handler (Nskipped), or for want of an instance
// missed (Nlost), besides those that are still on their way.
type Kretprobe struct {
	Kprobe // where, and Flags; its handlers are the kretprobe's own

	// Handler is called when the function returns, with r.PC the address that it
	// returns to (see ReturnsTo), r.SP as it will be there, and the results in r (see Regs.Arg).
	Handler func(ri *KretprobeInstance, r *amd64.Regs)

	// EntryHandler is called at the entry. If it returns true, this call is not
	// followed to its return.
	EntryHandler func(ri *KretprobeInstance, r *amd64.Regs) (skip bool)

	// DataSize is the size of each instance's Data.
	DataSize int

	// MaxActive is how many calls can be followed at the same time; 0 stands for
	// 10, or twice the number of processors if that is more.
	MaxActive int

	instances []KretprobeInstance
	returns   amd64.ReturnProbe
	gone      bool // it is not registered any more: instances only return; guarded by mu

	handle func(ri *KretprobeInstance, r *amd64.Regs) // Handler as returns call it
	list   *probeList                                 // what is hit while that runs
}

// Reasons not to call the handler: bytes of ReturnProbe.Off.
const (
	offFailed = iota
	offDisabled
	offGone
	offNone // there is none
)

// A KretprobeInstance is one call that is followed to its return.
type KretprobeInstance struct {
	call amd64.ReturnInstance

	// Data is the call's own, for the entry handler to leave something for the
	// return handler. It is not cleared in between.
	Data []byte

	rp *Kretprobe
}

// Kretprobe returns the probe that ri is an instance of. Handler context.
func (ri *KretprobeInstance) Kretprobe() *Kretprobe { return ri.rp }

// Nreturned returns how many calls have returned. Any context.
func (rp *Kretprobe) Nreturned() uint64 { return rp.total(func(c *count) uint64 { return c.returned }) }

// Nabandoned returns how many calls are known never to return. Any context.
func (rp *Kretprobe) Nabandoned() uint64 {
	return rp.total(func(c *count) uint64 { return c.abandoned }) + rp.ended.Load()
}

// Nskipped returns how many calls the entry handler did not want followed, or failed for. Any
// context.
func (rp *Kretprobe) Nskipped() uint64 { return rp.total(func(c *count) uint64 { return c.skipped }) }

// Nlost returns how many calls could not be followed, because MaxActive were. Any
// context.
func (rp *Kretprobe) Nlost() uint64 { return rp.total(func(c *count) uint64 { return c.lost }) }

func (rp *Kretprobe) total(f func(*count) uint64) (n uint64) {
	for i := range rp.counts {
		n += f(&rp.counts[i])
	}
	return n
}

// Guarded by mu.
var (
	trampoline *amd64.Detour
	// kretprobes are those that are registered, or have calls on their way.
	kretprobes = make(map[*Kretprobe]bool)
	// leaving are those of them that have been unregistered: few, which are looked at often.
	leaving = make(map[*Kretprobe]bool)
)

// Where things are, for the trap path.
var (
	trampolineAddr uintptr
	returnsOffset  uintptr // in a g: of the word for return probes
)

// startReturns prepares return probes. mu is held.
var startReturns = sync.OnceValue(func() error {
	if goruntime.HookReturns == nil {
		return errors.New("this runtime cannot do with replaced return addresses")
	}
	var err error
	g := goruntime.SystemG()
	returnsOffset = uintptr(refTo(goruntime.Returns(g))) - g
	if trampoline, err = amd64.NewTrampoline(returnsOffset, uintptr(refTo(&noList)), &findInstanceFunc); err != nil {
		return err
	}
	trampolineAddr, _ = trampoline.Range()
	goruntime.HookReturns(trampolineAddr, realReturn, noReturn)
	return nil
})

// noList is hit while the trampoline looks for the instance.
var noList = probeList{probes: []*Kprobe{nil}}

// RegisterKretprobe probes the returns of a function. Goroutine context.
func RegisterKretprobe(rp *Kretprobe) error { return RegisterKretprobes([]*Kretprobe{rp}) }

// RegisterKretprobes registers several, or none of them if one cannot be. Goroutine
// context.
func RegisterKretprobes(rps []*Kretprobe) error {
	ps := make([]*Kprobe, len(rps))
	for i, rp := range rps {
		if err := rp.setUp(); err != nil {
			return err
		}
		ps[i] = &rp.Kprobe
	}
	mu.Lock()
	for _, rp := range rps {
		kretprobes[rp] = true
	}
	mu.Unlock()
	err := RegisterAll(ps)
	if err != nil {
		mu.Lock()
		for _, rp := range rps {
			if rp.site == nil {
				delete(kretprobes, rp)
			}
		}
		mu.Unlock()
	}
	return err
}

// RegisterEachKretprobe registers those of several that can be, in the time that a batch takes.
// It returns an error for each that cannot be, and nil for the others. Goroutine context.
func RegisterEachKretprobe(rps []*Kretprobe) []error {
	errs := make([]error, len(rps))
	ps := make([]*Kprobe, 0, len(rps))
	at := make([]int, 0, len(rps))
	for i, rp := range rps {
		if errs[i] = rp.setUp(); errs[i] == nil {
			ps, at = append(ps, &rp.Kprobe), append(at, i)
			mu.Lock()
			kretprobes[rp] = true
			mu.Unlock()
		}
	}
	for i, err := range RegisterEach(ps) {
		if err != nil {
			rp := rps[at[i]]
			errs[at[i]] = err
			mu.Lock()
			if rp.site == nil {
				delete(kretprobes, rp)
			}
			mu.Unlock()
		}
	}
	return errs
}

// UnregisterKretprobe takes the probe away. When it returns, none of its handlers runs or
// will run; calls on their way return as they would have. Goroutine context.
func UnregisterKretprobe(rp *Kretprobe) error { return UnregisterKretprobes([]*Kretprobe{rp}) }

// UnregisterKretprobes unregisters several. The error is about those that are not
// registered; the others are unregistered all the same. Goroutine context.
func UnregisterKretprobes(rps []*Kretprobe) error {
	ps := make([]*Kprobe, len(rps))
	for i, rp := range rps {
		ps[i] = &rp.Kprobe
		mu.Lock()
		if rp.site != nil {
			rp.gone = true
			leaving[rp] = true
			rp.returns.Off[offGone] = 1
		}
		mu.Unlock()
	}
	err := UnregisterAll(ps) // synchronizes
	mu.Lock()
	forgetReturned()
	mu.Unlock()
	return err
}

// forgetReturned lets go of kretprobes that are gone and have no calls on their way: as long
// as the probe is in place a call may begin. mu is held.
func forgetReturned() {
	for rp := range leaving {
		switch {
		case !rp.gone: // it has been registered again
			delete(leaving, rp)
		case rp.site == nil && !rp.active():
			delete(leaving, rp)
			delete(kretprobes, rp)
		}
	}
}

// active reports whether calls are on their way of a kretprobe that is not registered. mu is
// held.
func (rp *Kretprobe) active() bool { return rp.returns.NumFree() < len(rp.instances) }

// setUp prepares rp for registration.
func (rp *Kretprobe) setUp() error {
	const op = "register"
	p := &rp.Kprobe
	mu.Lock()
	defer mu.Unlock()
	if err := started(op, p); err != nil {
		return err
	}
	if err := startReturns(); err != nil {
		return failed(op, p, syscall.ENOSYS, "%v", err)
	}
	switch {
	case p.site != nil:
		return failed(op, p, syscall.EBUSY, "the probe is already registered")
	case rp.active():
		return failed(op, p, syscall.EBUSY, "calls from before are still on their way")
	case rp.DataSize < 0 || rp.MaxActive < 0:
		return failed(op, p, syscall.EINVAL, "DataSize or MaxActive is negative")
	case p.PostHandler != nil || p.PreHandler != nil && code(p.PreHandler) != code(enterCall):
		return failed(op, p, syscall.EINVAL, "a kretprobe has no pre handler and no post handler")
	}
	addr, fn, err := p.resolve(op)
	if err != nil {
		return err
	}
	if addr != fn.Entry() {
		return failed(op, p, syscall.EINVAL, "a return probe has to be at the function's entry")
	}
	if reason := noReturnProbe(fn); reason != "" {
		return failed(op, p, syscall.EINVAL, "%s", reason)
	}
	n := rp.MaxActive
	if n == 0 {
		n = max(10, 2*amd64.NumCPU())
	}
	rp.instances = make([]KretprobeInstance, n)
	data := make([]byte, n*rp.DataSize)
	for i := range rp.instances {
		ri := &rp.instances[i]
		*ri = KretprobeInstance{
			Data: data[i*rp.DataSize : (i+1)*rp.DataSize : (i+1)*rp.DataSize],
			rp:   rp,
		}
	}
	rp.gone = false
	rp.ended.Store(0)
	p.PreHandler = enterCall
	p.isReturn = true
	p.entryCode = 0
	if rp.EntryHandler != nil {
		p.entryCode = code(rp.EntryHandler)
	}
	rp.handle = rp.Handler
	if rp.Handler != nil && usesOf(code(rp.Handler))&useSSE != 0 {
		rp.handle = handleSaved
	}
	rp.list = &probeList{probes: []*Kprobe{p, nil}, detour: trampoline, locks: true}
	rp.returns = amd64.ReturnProbe{
		Guard:   uintptr(refTo(rp.list)),
		Current: uintptr(refTo(rp.list.first())),
	}
	if rp.handle == nil {
		rp.returns.Off[offNone] = 1
	} else {
		rp.returns.Handler = uintptr(amd64.FuncPointer(&rp.handle))
	}
	for i := range rp.instances {
		ri := &rp.instances[i]
		ri.call.Word = uint64(refTo(&ri.call))
		ri.call.Probe = uintptr(refTo(&rp.returns))
		ri.call.Put()
	}
	return nil
}

// kretprobe returns the kretprobe that p is a part of, nil if it is none.
//
//go:nosplit
func (p *Kprobe) kretprobe() *Kretprobe {
	if !p.isReturn {
		return nil
	}
	return kretprobeOf(p)
}

// follow returns what makes a detour follow the calls of l's one probe to their returns; nil if
// that takes more than machine code.
func (l *probeList) follow() *amd64.Follow {
	if len(l.probes) != 2 || l.post || l.faults {
		return nil
	}
	rp := l.probes[0].kretprobe()
	if rp == nil || rp.EntryHandler != nil {
		return nil
	}
	return &amd64.Follow{Probe: uintptr(refTo(&rp.returns)), Trampoline: trampolineAddr, Returns: returnsOffset}
}
