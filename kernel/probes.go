package main

import (
	"slices"

	"tamaprobe/kernel/shell"
	"tamaprobe/kprobes"
	"tamaprobe/kprobes/tracer"
	"tamaprobe/symtab"
)

// Commands about the probes that events consist of.

var probeCommands = []command{
	{name: "list", help: "list the probes: address, type, place, flags", run: noArgs((*console).list)},
	{name: "enabled", args: "[0|1]", help: "whether probes are armed at all", run: knob(
		func(*console) bool { return kprobes.Enabled() }, func(_ *console, on bool) { kprobes.SetEnabled(on) })},
	{name: "optimization", args: "[0|1|-v]", help: "whether probes are optimized; which are not, and why", run: (*console).optimization},
	{name: "blacklist", help: "functions that cannot be probed, and why", run: noArgs((*console).blacklist)},
}

// list prints the probes in the form of Linux's kprobes/list: address, type, symbol+offset, flags;
// then the event and the counts.
func (c *console) list(x *shell.Context) error {
	w := lineWriter{w: x}
	defer w.flush()
	for _, e := range c.tracer.Events() {
		typ := e.Type()
		if typ == "p" {
			typ = "k"
		}
		for _, p := range e.Kprobes() {
			w.printf("%016x  %s  %s    %s%s hits %d missed %d\n", p.Addr, typ, tracer.Place(p.Addr), flags(p), e.Name(), p.Nhit(), p.Nmissed())
		}
	}
	return nil
}

// flags are a probe's flags in the form of Linux's kprobes/list.
func flags(p *kprobes.Kprobe) (s string) {
	state := p.State()
	for _, f := range []struct {
		flag kprobes.Flags
		name string
	}{
		{kprobes.FlagFaulted, "[FAULTED]"},
		{kprobes.FlagDisabled, "[DISABLED]"},
		{kprobes.FlagOptimized, "[OPTIMIZED]"},
	} {
		if state&f.flag != 0 {
			s += f.name
		}
	}
	if s != "" {
		s += " "
	}
	return s
}

// optimization shows or sets whether probes are optimized, or says for each why it is not.
func (c *console) optimization(x *shell.Context, args []string) error {
	if len(args) != 1 || args[0] != "-v" {
		return knob(func(*console) bool { return kprobes.Optimization() },
			func(_ *console, on bool) { kprobes.SetOptimization(on) })(c, x, args)
	}
	w := lineWriter{w: x}
	defer w.flush()
	for _, e := range c.tracer.Events() {
		for _, p := range e.Kprobes() {
			state := "optimized"
			if err := kprobes.Unoptimizable(p); err != nil {
				state = err.Error()
			} else if p.State()&kprobes.FlagOptimized == 0 {
				state = "about to be optimized"
			}
			w.printf("%s: %s: %s\n", e.Name(), tracer.Place(p.Addr), state)
		}
	}
	return nil
}

// blacklist lists the functions that cannot be probed.
func (c *console) blacklist(x *shell.Context) error {
	list, err := kprobes.Blacklist()
	if err != nil {
		return err
	}
	w := lineWriter{w: x}
	defer w.flush()
	for _, b := range list {
		w.printf("%#016x-%#016x  %s    %s\n", b.Func.Entry(), b.Func.End(), b.Func.Name(), b.Reason)
	}
	return nil
}

// probed returns the events' probes by address.
func (c *console) probed() map[uintptr][]probe {
	m := make(map[uintptr][]probe)
	for _, e := range c.tracer.Events() {
		for _, p := range e.Kprobes() {
			m[p.Addr] = append(m[p.Addr], probe{e, p})
		}
	}
	return m
}

// A probe is one of an event's.
type probe struct {
	event *tracer.Event
	*kprobes.Kprobe
}

// functionNames are the names of all functions, sorted.
func functionNames() []string {
	names := make([]string, 0, symtab.Len())
	for fn := range symtab.All() {
		names = append(names, fn.Name())
	}
	slices.Sort(names)
	return slices.Compact(names)
}
