// Command bench measures what probes cost. It prints lines
//
//	bench CASE VALUE UNIT
//
// for the cases that package budget lists for the run that its argument names:
//
//	one    what a hit and a registration cost on one processor
//	two    the same while there is another processor
//	plain  how long calls take
//
// The first two are for QEMU's -icount shift=0: an instruction then takes a nanosecond, and
// the time stamp counter counts instructions. make bench runs all (bench/run).
package main

import (
	"fmt"
	"os"

	"tamaprobe/bench/budget"
	_ "tamaprobe/boot/board"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Println("usage: bench one|two|plain")
		os.Exit(2)
	}
	switch budget.Run(os.Args[1]) {
	case budget.One:
		breakpoints()
		jumps()
		events()
		registration()
	case budget.Two:
		twoProcessors()
	case budget.Plain:
		times()
	default:
		fmt.Println("bench: there are one, two and plain")
		os.Exit(2)
	}
	if counter == 0 {
		fmt.Println("no handler was called")
		os.Exit(1)
	}
}

// report prints a result.
func report(name string, value float64, unit string) {
	fmt.Printf("bench %s %.1f %s\n", name, value, unit)
}

// check ends the bench if something cannot be measured.
func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
