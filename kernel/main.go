// Command kernel is Tamaprobe, the unikernel: it boots, takes over its own
// exceptions, and gives a console for probing itself.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"tamaprobe/arch/amd64"
	"tamaprobe/boot/board"
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
	for _, option := range os.Args[1:] {
		switch option {
		case "nmi=report":
			amd64.ReportNMI(true)
		default:
			fmt.Fprintf(os.Stderr, "tamaprobe: unknown option %q on the kernel command line\n", option)
		}
	}
	c := newConsole(board.Console())
	c.printf("Tamaprobe: %s\nType help for help.\n", machine())
	c.serve()
}
