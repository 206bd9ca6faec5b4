package main

import (
	"tamaprobe/bench/budget"
	"tamaprobe/kprobes"
)

// times measures how long probed calls take, as a multiple of a call that is not probed.
func times() {
	bare := measure(plain)
	ratio := func(name string, cost float64) { report(name, 1+cost/bare, budget.Times) }
	kprobes.SetOptimization(false)
	boost := benchmark{"", plain, "main.plain", []kprobes.Kprobe{{PreHandler: count}}}
	ratio("time_boost", boost.cost())
	kprobes.SetOptimization(true)
	ratio("time_opt", boost.cost())
	counting := benchmark{"", plain, "main.plain", []kprobes.Kprobe{{}}}
	ratio("time_count", counting.cost())
	ratio("time_ret_opt", ret())
	ratio("time_event3", (&eventCase{"time_event3", plain, "p main.plain " + arguments3}).cost(newTracer()))
	ratio("time_opt_smp2", shared())
}

// shared returns the cost of a hit while another processor hits the same probe.
func shared() float64 {
	bare := measure(inner)
	probe := []kprobes.Kprobe{{PreHandler: count}}
	register("main.inner", probe)
	stop := hitInner()
	probed := measure(inner)
	stop()
	if probe[0].Nhit() < calls*rounds+calls {
		check(errNotBeside)
	}
	unregister(probe)
	return probed - bare
}
