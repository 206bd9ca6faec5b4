package main

import (
	"errors"
	"sync"
	"sync/atomic"

	"tamaprobe/bench/budget"
	"tamaprobe/kprobes"
)

// twoProcessors measures while there is another processor: hits while that hits another probe,
// registration while it sleeps.
func twoProcessors() {
	report("opt_smp2", besideAnother(), budget.Insn)
	kprobes.SetOptimization(false)
	report("boost_smp2", besideAnother(), budget.Insn)
	kprobes.SetOptimization(true)
	one, _ := registerOne()
	report("register_1_smp2", one, budget.Insn)
	registered, optimized, _ := registerBatch()
	report("register_1000_smp2", registered, budget.Insn)
	report("optimize_1000_smp2", optimized, budget.Insn)
}

// besideAnother returns the cost of a hit while another processor hits another probe.
// QEMU with -icount runs that one only while this one pauses: between two calls.
func besideAnother() float64 {
	mine, others := []kprobes.Kprobe{{PreHandler: count}}, []kprobes.Kprobe{{PreHandler: count}}
	bare := measureEach(plain)
	register("main.plain", mine)
	register("main.inner", others)
	stop := hitInner()
	probed := measureEach(plain)
	stop()
	if others[0].Nhit() < calls {
		check(errNotBeside)
	}
	unregister(mine)
	unregister(others)
	return probed - bare
}

var errNotBeside = errors.New("the other processor did not hit its probe")

// measureEach is measure call by call, with a pause in between.
func measureEach(f func()) float64 {
	best := ^uint64(0)
	for range calls {
		pause()
		start := tsc()
		f()
		best = min(best, tsc()-start)
	}
	return float64(best)
}

// hitInner has another processor call inner until stop is called. It returns when that has begun.
func hitInner() (stop func()) {
	var stopped atomic.Bool
	var wg sync.WaitGroup
	var begun atomic.Bool
	wg.Go(func() {
		for !stopped.Load() {
			callAndPause(inner)
			begun.Store(true)
		}
	})
	for !begun.Load() {
		callAndPause(pause)
	}
	return func() {
		stopped.Store(true)
		wg.Wait()
	}
}

// callAndPause is no leaf: a goroutine that waits to stop the world gets on.
//
//go:noinline
func callAndPause(f func()) {
	f()
	pause()
}
