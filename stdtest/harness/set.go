package harness

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"tamaprobe/arch/amd64"
	"tamaprobe/kprobes"
	"tamaprobe/symtab"
)

// maxActive is how many calls of one function can be followed at the same time.
const maxActive = 32

// maxErrors is how many probes that are wrong are named.
const maxErrors = 10

// A probe is a kprobe with a count of its own, to compare with the engine's. The Kprobe is
// first: a handler gets its address.
type probe struct {
	kprobes.Kprobe
	handled atomic.Uint64
}

// countHit is the pre handler. Handler context.
func countHit(p *kprobes.Kprobe, _ *amd64.Regs) bool {
	(*probe)(unsafe.Pointer(p)).handled.Add(1)
	return false
}

// A returnProbe is a kretprobe with a count of its own. The Kretprobe is first.
type returnProbe struct {
	kprobes.Kretprobe
	handled atomic.Uint64
}

// countReturn is the return handler. Handler context.
func countReturn(ri *kprobes.KretprobeInstance, _ *amd64.Regs) {
	(*returnProbe)(unsafe.Pointer(ri.Kretprobe())).handled.Add(1)
}

// A set is the probes of one run.
type set struct {
	functions int // that were to be probed
	batches   []batch
	optimized int
}

// A batch is the probes on some functions. The engine is given the probes to optimize a
// batch at a time, because its own functions are probed as well: while a batch is
// optimized, all but its own are jumps, which take far less time than breakpoints.
type batch struct {
	entries []*probe
	returns []*returnProbe
}

// batchSize is the number of a batch's functions.
const batchSize = 64

// everyFunction puts a kprobe and a kretprobe on every function of the image that takes
// them, and has them optimized.
func everyFunction() (*set, error) {
	fns := inOrder()
	s := &set{functions: len(fns)}
	entries, returns, err := probeable(fns)
	if err != nil {
		return s, err
	}
	for part := range slices.Chunk(fns, batchSize) {
		var b batch
		for _, fn := range part {
			if entries[fn] {
				b.addEntry(fn)
			}
			if returns[fn] {
				b.addReturn(fn)
			}
		}
		if err := s.register(b); err != nil {
			return s, err
		}
		kprobes.WaitOptimizer()
	}
	for p := range s.entries() {
		if p.State()&kprobes.FlagOptimized != 0 {
			s.optimized++
		}
	}
	return s, nil
}

// everyBreakpoint puts a kprobe on every function of the package pkg and of its external
// tests that takes one, and keeps them from being optimized.
func everyBreakpoint(pkg string) (*set, error) {
	kprobes.SetOptimization(false)
	var fns []symtab.Func
	for fn := range symtab.All() {
		if belongsTo(fn.Name(), pkg) {
			fns = append(fns, fn)
		}
	}
	s := &set{functions: len(fns)}
	entries, _, err := probeable(fns)
	if err != nil {
		return s, err
	}
	var b batch
	for _, fn := range fns {
		if entries[fn] {
			b.addEntry(fn)
		}
	}
	return s, s.register(b)
}

// probeable finds out which functions take a kprobe and which a kretprobe, by trying, while
// no probe is armed.
func probeable(fns []symtab.Func) (entries, returns map[symtab.Func]bool, err error) {
	entries, returns = make(map[symtab.Func]bool), make(map[symtab.Func]bool)
	var ps []*kprobes.Kprobe
	var rps []*kprobes.Kretprobe
	for _, fn := range fns {
		p := &kprobes.Kprobe{Addr: fn.Entry(), Flags: kprobes.FlagDisabled}
		if kprobes.Register(p) == nil {
			entries[fn] = true
			ps = append(ps, p)
		}
		rp := &kprobes.Kretprobe{
			Kprobe: kprobes.Kprobe{Addr: fn.Entry(), Flags: kprobes.FlagDisabled}, MaxActive: 1,
		}
		if kprobes.RegisterKretprobe(rp) == nil {
			returns[fn] = true
			rps = append(rps, rp)
		}
	}
	return entries, returns, errors.Join(kprobes.UnregisterAll(ps), kprobes.UnregisterKretprobes(rps))
}

// inOrder returns the functions of the image in the order in which they are best probed:
// those that registering a probe calls come last.
func inOrder() []symtab.Func {
	var first, last []symtab.Func
	for fn := range symtab.All() {
		name := fn.Name()
		if strings.HasPrefix(name, "tamaprobe/") || strings.HasPrefix(name, "runtime") || strings.HasPrefix(name, "internal/") {
			last = append(last, fn)
		} else {
			first = append(first, fn)
		}
	}
	return append(first, last...)
}

func (b *batch) addEntry(fn symtab.Func) {
	b.entries = append(b.entries, &probe{Kprobe: kprobes.Kprobe{Addr: fn.Entry(), PreHandler: countHit}})
}

func (b *batch) addReturn(fn symtab.Func) {
	b.returns = append(b.returns, &returnProbe{Kretprobe: kprobes.Kretprobe{
		Kprobe: kprobes.Kprobe{Addr: fn.Entry()}, Handler: countReturn, MaxActive: maxActive,
	}})
}

// register puts the batch's probes in place.
func (s *set) register(b batch) error {
	if err := kprobes.RegisterAll(entriesOf(b.entries)); err != nil {
		return err
	}
	if err := kprobes.RegisterKretprobes(returnsOf(b.returns)); err != nil {
		return err
	}
	s.batches = append(s.batches, b)
	return nil
}

func entriesOf(ps []*probe) []*kprobes.Kprobe {
	list := make([]*kprobes.Kprobe, len(ps))
	for i, p := range ps {
		list[i] = &p.Kprobe
	}
	return list
}

func returnsOf(rps []*returnProbe) []*kprobes.Kretprobe {
	list := make([]*kprobes.Kretprobe, len(rps))
	for i, rp := range rps {
		list[i] = &rp.Kretprobe
	}
	return list
}

// unregister takes the probes away. They are disarmed before, all at once, because what takes
// them away is probed.
func (s *set) unregister() error {
	kprobes.SetEnabled(false)
	defer kprobes.SetEnabled(true)
	var errs []error
	for _, b := range s.batches {
		errs = append(errs, kprobes.UnregisterAll(entriesOf(b.entries)), kprobes.UnregisterKretprobes(returnsOf(b.returns)))
	}
	return errors.Join(errs...)
}

func (s *set) entries() iter.Seq[*probe] {
	return func(yield func(*probe) bool) {
		for _, b := range s.batches {
			for _, p := range b.entries {
				if !yield(p) {
					return
				}
			}
		}
	}
}

func (s *set) returns() iter.Seq[*returnProbe] {
	return func(yield func(*returnProbe) bool) {
		for _, b := range s.batches {
			for _, rp := range b.returns {
				if !yield(rp) {
					return
				}
			}
		}
	}
}

// belongsTo reports whether a function is one of the package pkg, or of its external
// tests. In symbols, dots behind the path's last slash are escaped.
func belongsTo(function, pkg string) bool {
	rest, ok := strings.CutPrefix(function, pkg)
	if !ok {
		return false
	}
	rest = strings.TrimPrefix(rest, "_test")
	return strings.HasPrefix(rest, ".")
}

// Sums are what the probes of one run counted together.
type Sums struct {
	Functions, Kprobes, Optimized, Kretprobes    int
	Hits, Missed                                 uint64 // of the kprobes
	Calls, Returned, Abandoned, Lost, Unfinished uint64 // of the kretprobes, missed calls aside
}

func (n Sums) String() string {
	return fmt.Sprintf("%d functions: %d kprobes (%d optimized), %d hits, %d missed; "+
		"%d kretprobes, %d calls: %d returned, %d abandoned, %d lost, %d on their way",
		n.Functions, n.Kprobes, n.Optimized, n.Hits, n.Missed,
		n.Kretprobes, n.Calls, n.Returned, n.Abandoned, n.Lost, n.Unfinished)
}

// finish unregisters the probes and adds up their counts. The error says what does not add
// up.
func (s *set) finish() (n Sums, err error) {
	n = Sums{Functions: s.functions, Optimized: s.optimized}
	var errs []error
	wrong := func(p *kprobes.Kprobe, format string, args ...any) {
		fn, _ := symtab.Find(p.Addr)
		errs = append(errs, fmt.Errorf("%s: "+format, append([]any{fn.Name()}, args...)...))
	}
	for p := range s.entries() {
		n.Kprobes++
		if p.State()&kprobes.FlagFaulted != 0 {
			wrong(&p.Kprobe, "the handler failed")
		}
	}
	for rp := range s.returns() {
		n.Kretprobes++
		if rp.State()&kprobes.FlagFaulted != 0 {
			wrong(&rp.Kprobe, "the return handler failed")
		}
		// Calls return meanwhile; each processor may be between one count and the other.
		atLeast, handled, atMost := rp.Nreturned(), rp.handled.Load(), rp.Nreturned()
		cpus := uint64(runtime.NumCPU())
		if handled+cpus < atLeast || handled > atMost+cpus {
			wrong(&rp.Kprobe, "%d to %d calls returned, the handler was called %d times", atLeast, atMost, handled)
		}
	}
	if err := s.unregister(); err != nil {
		errs = append(errs, err)
	}
	// The hits stand still from here on; calls that are on their way may return, without
	// a handler.
	for p := range s.entries() {
		hits, missed := p.Nhit(), p.Nmissed()
		n.Hits += hits
		n.Missed += missed
		if handled := p.handled.Load(); handled+missed != hits {
			wrong(&p.Kprobe, "%d hits, but %d handled and %d missed", hits, handled, missed)
		}
	}
	for rp := range s.returns() {
		calls := rp.Nhit() - rp.Nmissed()
		abandoned, lost, returned := rp.Nabandoned(), rp.Nlost(), rp.Nreturned()
		n.Calls += calls
		n.Abandoned += abandoned
		n.Lost += lost
		n.Returned += returned
		known := abandoned + lost + returned + rp.Nskipped()
		if known > calls || calls-known > maxActive {
			wrong(&rp.Kprobe, "%d calls, but %d returned, %d abandoned, %d lost", calls, returned, abandoned, lost)
			continue
		}
		n.Unfinished += calls - known
	}
	if n.Hits == 0 {
		errs = append(errs, errors.New("no hits"))
	}
	if len(errs) > maxErrors {
		errs = append(errs[:maxErrors], fmt.Errorf("and %d more", len(errs)-maxErrors))
	}
	return n, errors.Join(errs...)
}
