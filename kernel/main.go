// Command kernel is Tamaprobe, the unikernel: it boots, takes over its own
// exceptions, and gives a console for probing itself.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"tamaprobe/arch/amd64"
	"tamaprobe/boot/board"
	"tamaprobe/kprobes"
	"tamaprobe/kprobes/tracer"
	"tamaprobe/trap"
)

func main() {
	start, end := runtime.MemRegion()
	// The runtime's own limit, 1 GB, is more than the machine has: endless
	// recursion would end for want of memory, which says less.
	debug.SetMaxStack(int(end-start) / 8)
	if err := trap.Install(); err != nil {
		fmt.Fprintln(os.Stderr, "tamaprobe:", err)
		os.Exit(1)
	}
	t, err := tracer.New(tracer.Config{
		Now:       board.Nanotime,
		Image:     board.Image(),
		MemoryEnd: board.MemoryEnd(),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "tamaprobe:", err)
		os.Exit(1)
	}
	c := newConsole(board.Console(), t)
	kprobes.Log = func(line string) { fmt.Fprintln(c, line) }
	c.Printf("Tamaprobe: %s\nType help for help.\n", machine())
	for _, option := range os.Args[1:] {
		if option == "nmi=report" {
			amd64.ReportNMI(true)
		} else {
			c.boot(option)
		}
	}
	c.Serve(context.Background())
}
