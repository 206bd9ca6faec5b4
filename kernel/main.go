// Command kernel is Tamaprobe, the unikernel.
package main

import (
	"fmt"
	"os"
	"runtime"

	"tamaprobe/boot/board"
	"tamaprobe/trap"
)

func main() {
	if err := trap.Install(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("Tamaprobe on %s, %d CPUs, TSC %d MHz\n", runtime.CPU(), runtime.NumCPU(), board.TSC()/1e6)
}
