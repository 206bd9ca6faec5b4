package main

import (
	"tamaprobe/bench/budget"
	"tamaprobe/kprobes"
)

// A benchmark measures one way of a hit.
type benchmark struct {
	name   string
	call   func()           // hits the probes once
	symbol string           // where they are
	probes []kprobes.Kprobe // in order of registration
}

// cost returns the cost of a hit: what a call costs more than without the probes.
func (b *benchmark) cost() float64 {
	bare := measure(b.call)
	register(b.symbol, b.probes)
	probed := measure(b.call)
	unregister(b.probes)
	return probed - bare
}

func (b *benchmark) run() { report(b.name, b.cost(), budget.Insn) }

// breakpoints measures hits by breakpoint.
func breakpoints() {
	kprobes.SetOptimization(false)
	defer kprobes.SetOptimization(true)
	for _, b := range []benchmark{
		{"step", plain, "main.plain", []kprobes.Kprobe{{PreHandler: count, PostHandler: countPost}}},
		{"boost", plain, "main.plain", []kprobes.Kprobe{{PreHandler: count}}},
		{"emulate", jump, "main.jump", []kprobes.Kprobe{{PreHandler: count}}},
		{"entry", callEntry, "main.entry", []kprobes.Kprobe{{PreHandler: count}}},
		{"boost2", plain, "main.plain", []kprobes.Kprobe{{PreHandler: count}, {PreHandler: count}}},
	} {
		b.run()
	}
	report("missed", missed(), budget.Insn)
	report("jprobe", jprobe(), budget.Insn)
	report("ret", ret(), budget.Insn)
	among("boost_100", 100)
	among("boost_1000", 1000)
	among("boost_10000", 10_000)
}

// jumps measures hits by a jump.
func jumps() {
	for _, b := range []benchmark{
		{"opt", plain, "main.plain", []kprobes.Kprobe{{PreHandler: count}}},
		{"opt2", plain, "main.plain", []kprobes.Kprobe{{PreHandler: count}, {PreHandler: count}}},
		{"opt_entry", callEntry, "main.entry", []kprobes.Kprobe{{PreHandler: count}}},
		{"count", plain, "main.plain", []kprobes.Kprobe{{}}},
	} {
		b.run()
	}
	report("missed_opt", missed(), budget.Insn)
	report("ret_opt", ret(), budget.Insn)
	among("opt_10000", 10_000)
}

// missed measures the reentrant hit of an inner probe, in an outer probe's handler.
func missed() float64 {
	outer := []kprobes.Kprobe{{PreHandler: callInner}}
	register("main.plain", outer)
	inside := benchmark{"", plain, "main.inner", []kprobes.Kprobe{{PreHandler: count}}}
	cost := inside.cost()
	unregister(outer)
	return cost
}

// jprobe measures a mirror function at a function's entry.
func jprobe() float64 {
	call := func() { counter += mirrored(1, 2) }
	bare := measure(call)
	j, err := kprobes.RegisterJprobe("main.mirrored", func(a, b int) int {
		counter += a
		return 0
	})
	check(err)
	settle(&j.Kprobe)
	probed := measure(call)
	check(kprobes.UnregisterJprobe(j))
	return probed - bare
}

// ret measures a return probe, entry and return together.
func ret() float64 {
	bare := measure(plain)
	rp := &kprobes.Kretprobe{Kprobe: kprobes.Kprobe{Symbol: "main.plain"}, Handler: countReturn}
	check(kprobes.RegisterKretprobe(rp))
	settle(&rp.Kprobe)
	probed := measure(plain)
	check(kprobes.UnregisterKretprobe(rp))
	return probed - bare
}

// among measures a hit of one of n probes.
func among(name string, n int) {
	others := probesInside(n - 1)
	check(kprobes.RegisterAll(others))
	b := benchmark{name, plain, "main.plain", []kprobes.Kprobe{{PreHandler: count}}}
	b.run()
	check(kprobes.UnregisterAll(others))
}
