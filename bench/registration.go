package main

import (
	"sync"

	"tamaprobe/arch/amd64"
	"tamaprobe/arch/amd64/inst"
	"tamaprobe/bench/budget"
	"tamaprobe/kprobes"
	"tamaprobe/symtab"
)

// registration measures what it takes to put probes in place and to take them away, on one
// processor.
func registration() {
	one, gone := registerOne()
	report("register_1", one, budget.Insn)
	report("unregister_1", gone, budget.Insn)
	registered, optimized, gone := registerBatch()
	report("register_1000", registered, budget.Insn)
	report("optimize_1000", optimized, budget.Insn)
	report("unregister_1000", gone, budget.Insn)
}

// registerOne measures a probe by itself, the least of several rounds.
func registerOne() (registered, unregistered float64) {
	p := &kprobes.Kprobe{Symbol: "main.plain", PreHandler: count}
	least := [2]uint64{^uint64(0), ^uint64(0)}
	for range rounds {
		p.Addr = 0
		start := tsc()
		err := kprobes.Register(p)
		least[0] = min(least[0], tsc()-start)
		check(err)
		start = tsc()
		err = kprobes.Unregister(p)
		least[1] = min(least[1], tsc()-start)
		check(err)
	}
	return float64(least[0]), float64(least[1])
}

// registerBatch measures a probe of a batch of 1,000: to register it, to have it optimized, and
// to unregister it. The least of three batches, at other places: the garbage collector may run
// in the middle of one.
func registerBatch() (registered, optimized, unregistered float64) {
	const n, batches = 1000, 3
	all := places()
	var least [3]uint64
	for b := range batches {
		ps := make([]*kprobes.Kprobe, n)
		for i := range ps {
			ps[i] = &kprobes.Kprobe{Addr: all[i*len(all)/n+b], PreHandler: count}
		}
		for i, step := range []func(){
			func() { check(kprobes.RegisterAll(ps)) },
			kprobes.WaitOptimizer,
			func() { check(kprobes.UnregisterAll(ps)) },
		} {
			start := tsc()
			step()
			if cost := tsc() - start; b == 0 || cost < least[i] {
				least[i] = cost
			}
		}
	}
	return float64(least[0]) / n, float64(least[1]) / n, float64(least[2]) / n
}

// probesInside returns n probes at instructions that are no function's entry.
func probesInside(n int) []*kprobes.Kprobe {
	ps := make([]*kprobes.Kprobe, n)
	for i, addr := range places()[:n] {
		ps[i] = &kprobes.Kprobe{Addr: addr, PreHandler: count}
	}
	return ps
}

// places are 10,000 instructions that take a probe and are no function's entry.
var places = sync.OnceValue(func() []uintptr {
	const n, perFunction = 10_000, 40
	var ps []*kprobes.Kprobe
	for fn := range symtab.All() {
		inFunc := 0
		for pc := fn.Entry(); pc < fn.End() && inFunc < perFunction; {
			i, err := inst.Decode(amd64.OriginalText(pc))
			if err != nil {
				break
			}
			pc += uintptr(i.Len)
			if pc >= fn.End() || len(ps) == n {
				break
			}
			p := &kprobes.Kprobe{Addr: pc, Flags: kprobes.FlagDisabled}
			if kprobes.Register(p) == nil {
				ps = append(ps, p)
				inFunc++
			}
		}
	}
	check(kprobes.UnregisterAll(ps))
	list := make([]uintptr, len(ps))
	for i, p := range ps {
		list[i] = p.Addr
	}
	return list
})
