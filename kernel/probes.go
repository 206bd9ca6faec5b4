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
	kprobes.Kprobe
	number  int
	printer *printer

	own  atomic.Uint64 // hits by the printing goroutine itself
	lost atomic.Uint64 // hits for which there was no room
	told uint64        // of lost, what has been told
}

func (e *printed) name() string { return fmt.Sprintf("p%d", e.number) }

// place is where the probe is, as symbol+offset.
func (e *printed) place() string { return place(e.Addr) }

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
	ps := &c.probes
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.printer == nil {
		ps.printer = newPrinter(ps.out)
	}
	e := &printed{number: ps.next + 1, printer: ps.printer}
	if err := parsePlace(args[0], &e.Kprobe); err != nil {
		return err
	}
	e.PreHandler = e.hit
	ps.printer.add(e)
	if err := kprobes.Register(&e.Kprobe); err != nil {
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
	if goid == e.printer.goid {
		e.own.Add(1)
	} else if !e.printer.rings[r.CPU].put(record{
		event: e.number,
		goid:  goid,
		time:  board.Nanotime(),
		pc:    uintptr(r.PC),
		args:  [amd64.NumArgs]uint64{r.AX, r.BX, r.CX, r.DI, r.SI, r.R8, r.R9, r.R10, r.R11},
	}) {
		e.lost.Add(1)
	}
	return false
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
		w.printf("%016x  k  %s    #%d hits %d missed %d\n", e.Addr, e.place(), e.number, e.Nhit(), e.Nmissed())
	}
	w.flush()
	return nil
}

// remove removes the probe with a number, or all at a place.
func (c *console) remove(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	ps := &c.probes
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var which []*printed
	number := strings.TrimPrefix(args[0], "p")
	if n, err := parseNumber(number); err == nil {
		for _, e := range ps.list {
			if uint64(e.number) == n || uint64(e.Addr) == n {
				which = append(which, e)
			}
		}
	} else {
		for _, e := range ps.list {
			if p := e.place(); p == args[0] || strings.TrimSuffix(p, "+0x0") == args[0] || e.symbolOff() == args[0] {
				which = append(which, e)
			}
		}
	}
	if len(which) == 0 {
		return fmt.Errorf("%s: no such probe", args[0])
	}
	var errs []error
	for _, e := range which {
		errs = append(errs, ps.removeOne(c, e))
	}
	return errors.Join(errs...)
}

// symbolOff is how the user named the place.
func (e *printed) symbolOff() string {
	if e.Offset != 0 {
		return fmt.Sprintf("%s+%d", e.Symbol, e.Offset)
	}
	return e.Symbol
}

func (ps *probes) removeOne(c *console, e *printed) error {
	if err := kprobes.Unregister(&e.Kprobe); err != nil {
		return err
	}
	ps.printer.drop(e)
	for i := range ps.list {
		if ps.list[i] == e {
			ps.list = append(ps.list[:i], ps.list[i+1:]...)
			break
		}
	}
	c.printf("%s: removed, %d hits, %d missed, %d not printed\n", e.name(), e.Nhit(), e.Nmissed(), e.own.Load()+e.lost.Load())
	return nil
}

// at returns the names of the probes by address.
func (ps *probes) at() map[uintptr][]string {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	m := make(map[uintptr][]string)
	for _, e := range ps.list {
		m[e.Addr] = append(m[e.Addr], e.name())
	}
	return m
}
