package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"tamaprobe/arch/amd64"
	"tamaprobe/boot/board"
	"tamaprobe/goruntime"
	"tamaprobe/kprobes"
	"tamaprobe/symtab"
)

// probes are the probes that the console placed.
type probes struct {
	out io.Writer

	mu      sync.Mutex
	list    []*printed // in the order of their numbers
	next    int
	printer *printer
}

// A printed probe records its hits to be printed.
type printed struct {
	*kprobes.Kprobe
	number  int
	printer *printer

	returns *kprobes.Kretprobe // of a return probe, which Kprobe is a part of

	// Of a jprobe:
	mirrored string // the function, at whose entry the probe is
	format   string // of the arguments

	own  atomic.Uint64 // hits by the printing goroutine itself
	lost atomic.Uint64 // hits for which there was no room
	told uint64        // of lost, what has been told
}

func (e *printed) name() string { return fmt.Sprintf("p%d", e.number) }

// place is where the probe is, as symbol+offset.
func (e *printed) place() string {
	if e.mirrored != "" {
		return e.mirrored + "+0x0"
	}
	return place(e.Addr)
}

func place(addr uintptr) string {
	name, base := symtab.Symname(uint64(addr))
	return fmt.Sprintf("%s+%#x", name, uint64(addr)-base)
}

// parsePlace reads SYMBOL[+OFF] or ADDR into where a probe goes.
func parsePlace(s string, p *kprobes.Kprobe) error {
	if isNumber(s) {
		addr, err := parseNumber(s)
		if err != nil {
			return err
		}
		if addr == 0 {
			return fmt.Errorf("%s: the address is not in the text", s)
		}
		p.Addr = uintptr(addr)
		return nil
	}
	p.Symbol = s
	if i := strings.LastIndexByte(s, '+'); i > 0 && isNumber(s[i+1:]) {
		off, err := parseNumber(s[i+1:])
		if err != nil {
			return err
		}
		p.Symbol, p.Offset = s[:i], uintptr(off)
	}
	return nil
}

func (c *console) probe(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	return c.place(func(e *printed) error {
		e.Kprobe = &kprobes.Kprobe{PreHandler: e.hit}
		if err := parsePlace(args[0], e.Kprobe); err != nil {
			return err
		}
		return kprobes.Register(e.Kprobe)
	})
}

// place adds a probe that register registers, and sets the Kprobe of.
func (c *console) place(register func(*printed) error) error {
	ps := &c.probes
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.printer == nil {
		ps.printer = newPrinter(ps.out)
	}
	e := &printed{number: ps.next + 1, printer: ps.printer}
	ps.printer.add(e)
	if err := register(e); err != nil {
		ps.printer.drop(e)
		return err
	}
	ps.next = e.number
	ps.list = append(ps.list, e)
	c.printf("%s: %s\n", e.name(), e.place())
	return nil
}

// hit is the pre handler: it records the hit to be printed. What printing itself
// does is counted only, or printing would go on for ever.
func (e *printed) hit(_ *kprobes.Kprobe, r *amd64.Regs) bool {
	goid := goruntime.Goid(r.G)
	e.put(int(r.CPU), record{
		event: e.number,
		goid:  goid,
		time:  board.Nanotime(),
		args:  [amd64.NumArgs]uint64{r.AX, r.BX, r.CX, r.DI, r.SI, r.R8, r.R9, r.R10, r.R11},
	})
	return false
}

// put adds a record to those to be printed. Handler context.
func (e *printed) put(cpu int, r record) {
	if r.goid == e.printer.goid {
		e.own.Add(1)
	} else if !e.printer.rings[cpu].put(r) {
		e.lost.Add(1)
	}
}

// list prints the probes in the form of Linux's kprobes/list: address, type,
// symbol+offset, flags; then the number by which to remove it and the counts.
func (c *console) list(args []string) error {
	if len(args) != 0 {
		return errUsage
	}
	ps := &c.probes
	ps.mu.Lock()
	defer ps.mu.Unlock()
	w := lineWriter{w: c}
	for _, e := range ps.list {
		w.printf("%016x  %s  %s    %s#%d hits %d missed %d\n", e.Addr, e.kind(), e.place(), flags(e.State()), e.number, e.Nhit(), e.missed())
	}
	w.flush()
	return nil
}

// kind is the probe's letter in the list.
func (e *printed) kind() string {
	if e.mirrored != "" {
		return "j"
	}
	if e.returns != nil {
		return "r"
	}
	return "k"
}

// missed is how many hits or returns the handlers did not see.
func (e *printed) missed() uint64 {
	if e.returns != nil {
		return e.Nmissed() + e.returns.Nlost()
	}
	return e.Nmissed()
}

func (e *printed) unregister() error {
	if e.returns != nil {
		return kprobes.UnregisterKretprobe(e.returns)
	}
	return kprobes.Unregister(e.Kprobe)
}

// flags are the flags as the list has them.
func flags(f kprobes.Flags) (s string) {
	for _, flag := range []struct {
		f    kprobes.Flags
		name string
	}{
		{kprobes.FlagDisabled, "[DISABLED]"},
		{kprobes.FlagFaulted, "[FAULTED]"},
		{kprobes.FlagOptimized, "[OPTIMIZED]"},
	} {
		if f&flag.f != 0 {
			s += flag.name
		}
	}
	if s != "" {
		s += " "
	}
	return s
}

// forEach calls f for the probes that the one argument means.
func (c *console) forEach(args []string, f func(*printed) error) error {
	if len(args) != 1 {
		return errUsage
	}
	ps := &c.probes
	ps.mu.Lock()
	defer ps.mu.Unlock()
	which, err := ps.find(args[0])
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range which {
		errs = append(errs, f(e))
	}
	return errors.Join(errs...)
}

func (c *console) enable(args []string) error {
	return c.forEach(args, func(e *printed) error { return kprobes.Enable(e.Kprobe) })
}

func (c *console) disable(args []string) error {
	return c.forEach(args, func(e *printed) error { return kprobes.Disable(e.Kprobe) })
}

// enabled shows or sets whether probes are armed at all.
func (c *console) enabled(args []string) error {
	return c.knob(args, kprobes.Enabled, kprobes.SetEnabled)
}

// knob shows something that is on or off, or sets it.
func (c *console) knob(args []string, get func() bool, set func(bool)) error {
	switch {
	case len(args) == 0:
		n := 0
		if get() {
			n = 1
		}
		c.printf("%d\n", n)
	case len(args) == 1 && (args[0] == "0" || args[0] == "1"):
		set(args[0] == "1")
	default:
		return errUsage
	}
	return nil
}

// optimization shows or sets whether probes are optimized, or says for each why it is not.
func (c *console) optimization(args []string) error {
	if len(args) != 1 || args[0] != "-v" {
		return c.knob(args, kprobes.Optimization, kprobes.SetOptimization)
	}
	ps := &c.probes
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, e := range ps.list {
		state := "optimized"
		if err := kprobes.Unoptimizable(e.Kprobe); err != nil {
			state = err.Error()
		} else if e.State()&kprobes.FlagOptimized == 0 {
			state = "about to be optimized"
		}
		c.printf("%s: %s: %s\n", e.name(), e.place(), state)
	}
	return nil
}

// blacklist lists the functions that cannot be probed.
func (c *console) blacklist(args []string) error {
	if len(args) != 0 {
		return errUsage
	}
	list, err := kprobes.Blacklist()
	if err != nil {
		return err
	}
	w := lineWriter{w: c}
	for _, b := range list {
		w.printf("%#016x-%#016x  %s    %s\n", b.Func.Entry(), b.Func.End(), b.Func.Name(), b.Reason)
	}
	w.flush()
	return nil
}

// remove removes the probe with a number, or all at a place.
func (c *console) remove(args []string) error {
	return c.forEach(args, func(e *printed) error { return c.probes.removeOne(c, e) })
}

// find returns the probes with a number, an address, or at a place. mu is held.
func (ps *probes) find(s string) (which []*printed, err error) {
	if n, err := parseNumber(strings.TrimPrefix(s, "p")); err == nil {
		for _, e := range ps.list {
			if uint64(e.number) == n || uint64(e.Addr) == n {
				which = append(which, e)
			}
		}
	} else {
		for _, e := range ps.list {
			if p := e.place(); p == s || strings.TrimSuffix(p, "+0x0") == s || e.symbolOff() == s {
				which = append(which, e)
			}
		}
	}
	if len(which) == 0 {
		return nil, fmt.Errorf("%s: no such probe", s)
	}
	return which, nil
}

// symbolOff is how the user named the place.
func (e *printed) symbolOff() string {
	if e.Offset != 0 {
		return fmt.Sprintf("%s+%d", e.Symbol, e.Offset)
	}
	return e.Symbol
}

func (ps *probes) removeOne(c *console, e *printed) error {
	if err := e.unregister(); err != nil {
		return err
	}
	ps.printer.drop(e)
	for i := range ps.list {
		if ps.list[i] == e {
			ps.list = append(ps.list[:i], ps.list[i+1:]...)
			break
		}
	}
	c.printf("%s: removed, %d hits, %d missed, %d not printed\n", e.name(), e.Nhit(), e.missed(), e.own.Load()+e.lost.Load())
	return nil
}

// at returns the probes by address.
func (ps *probes) at() map[uintptr][]*printed {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	m := make(map[uintptr][]*printed)
	for _, e := range ps.list {
		m[e.Addr] = append(m[e.Addr], e)
	}
	return m
}
