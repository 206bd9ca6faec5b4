// Command run runs the bench in all its ways and measures the boot, and prints what they cost
// as a Markdown table. It fails if a case costs more than its budget.
//
// It is started at the root of the project, with the kernel and the bench built in build/ (make
// bench).
package main

import (
	"fmt"
	"maps"
	"os"
	"strings"

	"tamaprobe/bench/budget"
)

const (
	benchImage  = "build/bench"
	kernelImage = "build/tamaprobe"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	results := make(budget.Results)
	for _, way := range []budget.Run{budget.One, budget.Two, budget.Plain} {
		r, err := bench(way)
		if err != nil {
			return fmt.Errorf("run %s: %w", way, err)
		}
		maps.Copy(results, r)
	}
	b, err := measureBoot()
	if err != nil {
		return fmt.Errorf("boot: %w", err)
	}
	fmt.Printf("\n%s", results.Table())
	fmt.Print(b.rows())
	if lines := results.Exceeded(); len(lines) > 0 {
		return fmt.Errorf("over the budget: %s", strings.Join(lines, "; "))
	}
	return nil
}
