package main

import (
	"fmt"

	"tamaprobe/arch/amd64"
	"tamaprobe/kprobes"
)

const (
	calls  = 1000
	rounds = 20
)

// measure returns the instructions of a call, or its time, the least of several rounds: some are
// interrupted by the tick.
func measure(f func()) float64 {
	best := ^uint64(0)
	for range rounds {
		start := tsc()
		for range calls {
			f()
		}
		best = min(best, tsc()-start)
	}
	return float64(best) / calls
}

// counter is what handlers add to.
var counter int

func count(*kprobes.Kprobe, *amd64.Regs) bool {
	counter++
	return false
}

func countPost(*kprobes.Kprobe, *amd64.Regs, uint64) { counter++ }

func countReturn(*kprobes.KretprobeInstance, *amd64.Regs) { counter++ }

// callInner is a handler inside of which another probe is hit.
func callInner(*kprobes.Kprobe, *amd64.Regs) bool {
	inner()
	return false
}

// register places probes, all at one symbol, and waits until they are as they will stay.
func register(symbol string, probes []kprobes.Kprobe) {
	for i := range probes {
		probes[i].Symbol = symbol
		probes[i].Addr = 0
		check(kprobes.Register(&probes[i]))
	}
	for i := range probes {
		settle(&probes[i])
	}
}

// settle waits for the optimizer. A probe that is not optimized then, and should be, has
// nothing measured.
func settle(p *kprobes.Kprobe) {
	kprobes.WaitOptimizer()
	optimized := p.State()&kprobes.FlagOptimized != 0
	if optimized != kprobes.Optimization() && p.PostHandler == nil {
		check(fmt.Errorf("%s: optimized %v: %v", p.Symbol, optimized, kprobes.Unoptimizable(p)))
	}
}

func unregister(probes []kprobes.Kprobe) {
	for i := range probes {
		check(kprobes.Unregister(&probes[i]))
	}
}
