// Command bench measures what probes cost. It prints lines
//
//	bench CASE VALUE UNIT
//
// To be run with QEMU's -icount shift=0 on one processor (make bench): an
// instruction then takes a nanosecond, and the time stamp counter counts
// instructions.
package main

import (
	"fmt"
	"os"

	"tamaprobe/arch/amd64"
	"tamaprobe/arch/amd64/inst"
	_ "tamaprobe/boot/board"
	"tamaprobe/kprobes"
	"tamaprobe/symtab"
)

// A benchmark measures one way of a hit.
type benchmark struct {
	name   string
	call   func()           // hits the probes once
	symbol string           // where they are
	probes []kprobes.Kprobe // in order of registration
}

var counter int

func count(*kprobes.Kprobe, *amd64.Regs) bool {
	counter++
	return false
}

func countPost(*kprobes.Kprobe, *amd64.Regs, uint64) { counter++ }

func callInner(*kprobes.Kprobe, *amd64.Regs) bool {
	inner()
	return false
}

var benchmarks = []benchmark{
	{"step", plain, "main.plain", []kprobes.Kprobe{{PreHandler: count, PostHandler: countPost}}},
	{"boost", plain, "main.plain", []kprobes.Kprobe{{PreHandler: count}}},
	{"emulate", jump, "main.jump", []kprobes.Kprobe{{PreHandler: count}}},
	{"entry", func() { entry(1) }, "main.entry", []kprobes.Kprobe{{PreHandler: count}}},
	{"boost2", plain, "main.plain", []kprobes.Kprobe{{PreHandler: count}, {PreHandler: count}}},
}

// optimized are measured with the breakpoint replaced by a jump.
var optimized = []benchmark{
	{"opt", plain, "main.plain", []kprobes.Kprobe{{PreHandler: count}}},
	{"opt2", plain, "main.plain", []kprobes.Kprobe{{PreHandler: count}, {PreHandler: count}}},
	{"opt_entry", func() { entry(1) }, "main.entry", []kprobes.Kprobe{{PreHandler: count}}},
	{"count", plain, "main.plain", []kprobes.Kprobe{{}}},
}

//go:noinline
func entry(x int) int {
	var pad [8]int
	pad[x&7] = x
	return use(&pad)
}

//go:noinline
func use(p *[8]int) int { return p[3] }

// Implemented in target_amd64.s.
func plain()
func jump()
func inner()
func tsc() uint64

const (
	calls  = 1000
	rounds = 20
)

// measure returns the instructions of a call, the least of several rounds: some are
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

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func register(symbol string, probes []kprobes.Kprobe) {
	for i := range probes {
		probes[i].Symbol = symbol
		probes[i].Addr = 0
		check(kprobes.Register(&probes[i]))
	}
	kprobes.WaitOptimizer()
	for i := range probes {
		if optimized := probes[i].State()&kprobes.FlagOptimized != 0; optimized != kprobes.Optimization() && probes[i].PostHandler == nil {
			fmt.Printf("%s: optimized %v\n", symbol, optimized)
			os.Exit(1)
		}
	}
}

func unregister(probes []kprobes.Kprobe) {
	for i := range probes {
		check(kprobes.Unregister(&probes[i]))
	}
}

func (b *benchmark) run() float64 {
	bare := measure(b.call)
	register(b.symbol, b.probes)
	probed := measure(b.call)
	unregister(b.probes)
	return probed - bare
}

// missed measures the reentrant hit of an inner probe, in an outer probe's handler.
func missed() float64 {
	outer := []kprobes.Kprobe{{PreHandler: callInner}}
	register("main.plain", outer)
	bare := measure(plain)
	innerProbes := []kprobes.Kprobe{{PreHandler: count}}
	register("main.inner", innerProbes)
	probed := measure(plain)
	unregister(innerProbes)
	unregister(outer)
	return probed - bare
}

//go:noinline
func mirrored(a, b int) int { return a + b }

// jprobe measures a mirror function at a function's entry.
func jprobe() float64 {
	call := func() { counter += mirrored(1, 2) }
	bare := measure(call)
	j, err := kprobes.RegisterJprobe("main.mirrored", func(a, b int) int {
		counter += a
		return 0
	})
	check(err)
	probed := measure(call)
	check(kprobes.UnregisterJprobe(j))
	return probed - bare
}

// ret measures a kretprobe, entry and return together.
func ret() float64 {
	bare := measure(plain)
	rp := &kprobes.Kretprobe{Kprobe: kprobes.Kprobe{Symbol: "main.plain"}, Handler: countReturn}
	check(kprobes.RegisterKretprobe(rp))
	kprobes.WaitOptimizer()
	probed := measure(plain)
	check(kprobes.UnregisterKretprobe(rp))
	return probed - bare
}

func countReturn(*kprobes.KretprobeInstance, *amd64.Regs) { counter++ }

// inside returns disabled probes at n instructions that are no function's entry.
func inside(n int) []*kprobes.Kprobe {
	var ps []*kprobes.Kprobe
	for fn := range symtab.All() {
		inFunc := 0
		for pc := fn.Entry(); pc < fn.End() && inFunc < 40; {
			i, err := inst.Decode(amd64.OriginalText(pc))
			if err != nil {
				break
			}
			pc += uintptr(i.Len)
			if pc >= fn.End() || len(ps) == n {
				break
			}
			p := &kprobes.Kprobe{Addr: pc, PreHandler: count, Flags: kprobes.FlagDisabled}
			if kprobes.Register(p) == nil {
				check(kprobes.Unregister(p))
				ps = append(ps, p)
				inFunc++
			}
		}
	}
	return ps
}

// boost10000 measures a boosted hit with many probes registered.
func boost10000() float64 {
	others := inside(9999)
	for _, p := range others {
		p.Flags = 0
	}
	check(kprobes.RegisterAll(others))
	cost := benchmarks[1].run()
	check(kprobes.UnregisterAll(others))
	return cost
}

// register1000 measures what a probe costs to register in a batch.
func register1000() float64 {
	const n = 1000
	all := inside(10 * n)
	var ps []*kprobes.Kprobe
	for i := 0; i < n; i++ {
		p := all[i*10]
		p.Flags = 0
		p.PreHandler = func(*kprobes.Kprobe, *amd64.Regs) bool { return false }
		ps = append(ps, p)
	}
	start := tsc()
	err := kprobes.RegisterAll(ps)
	cost := tsc() - start
	check(err)
	check(kprobes.UnregisterAll(ps))
	return float64(cost) / n
}

func main() {
	kprobes.SetOptimization(false)
	for _, b := range benchmarks {
		fmt.Printf("bench %s %.1f insn\n", b.name, b.run())
	}
	fmt.Printf("bench missed %.1f insn\n", missed())
	fmt.Printf("bench jprobe %.1f insn\n", jprobe())
	fmt.Printf("bench ret %.1f insn\n", ret())
	fmt.Printf("bench boost_10000 %.1f insn\n", boost10000())
	fmt.Printf("bench register_1000 %.1f insn\n", register1000())
	kprobes.SetOptimization(true)
	for _, b := range optimized {
		fmt.Printf("bench %s %.1f insn\n", b.name, b.run())
	}
	fmt.Printf("bench missed_opt %.1f insn\n", missed())
	fmt.Printf("bench ret_opt %.1f insn\n", ret())
	if counter == 0 {
		fmt.Println("no handler was called")
		os.Exit(1)
	}
}
