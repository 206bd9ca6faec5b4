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
	_ "tamaprobe/boot/board"
	"tamaprobe/kprobes"
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

func register(symbol string, probes []kprobes.Kprobe) {
	for i := range probes {
		probes[i].Symbol = symbol
		probes[i].Addr = 0
		if err := kprobes.Register(&probes[i]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

func unregister(probes []kprobes.Kprobe) {
	for i := range probes {
		if err := kprobes.Unregister(&probes[i]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
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

func main() {
	for _, b := range benchmarks {
		fmt.Printf("bench %s %.1f insn\n", b.name, b.run())
	}
	fmt.Printf("bench missed %.1f insn\n", missed())
	if counter == 0 {
		fmt.Println("no handler was called")
		os.Exit(1)
	}
}
