// Command image is an image for tests: it does what its first argument says.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"tamaprobe/arch/amd64"
	"tamaprobe/boot/board"
	"tamaprobe/trap"
)

var actions = map[string]func(args []string){
	"args": func([]string) {
		fmt.Printf("%q %q\n", os.Args, os.Environ())
	},
	"clock": func([]string) {
		fmt.Println("tsc", board.TSC())
		fmt.Println("time", time.Now().UTC().Format(time.RFC3339))
	},
	"cpus": func([]string) {
		fmt.Println(runtime.NumCPU(), runtime.GOMAXPROCS(0))
	},
	"memory": func([]string) {
		var total uint64
		for _, m := range board.Info().Memory {
			if m.Type == 1 {
				total += m.Size
			}
		}
		start, end := runtime.MemRegion()
		fmt.Println("ram", total>>20, "runtime", (end-start)>>20)
	},
	"modules": func([]string) {
		for _, m := range board.Info().Modules {
			runtime.GC()
			fmt.Printf("%d %q\n", len(m.Data), m.Data[:min(len(m.Data), 40)])
		}
	},
	"exit": func(args []string) {
		n, _ := strconv.Atoi(args[0])
		os.Exit(n)
	},
	"reboot":     func([]string) { board.Reboot() },
	"panic":      func([]string) { panic("on purpose") },
	"recover":    recovers,
	"breakpoint": func([]string) { runtime.Breakpoint() },
	"undefined":  func([]string) { undefined() },
	"protection": func([]string) { fmt.Println(*pointer(1 << 63)) },
	"pagefault":  func([]string) { fmt.Println(*pointer(0x123456789000)) },
	"divide":     func([]string) { divide() },
	"badstack":   func([]string) { badStack(0x123456789000) },
	"badstack2":  func([]string) { badStack(1 << 63) },
	"overrun":    func([]string) { overrun() },
	"recursion": func([]string) {
		debug.SetMaxStack(1 << 20)
		fmt.Println(recurse(1))
	},
	"othercpu": otherCPU,
	"wait":     func([]string) { amd64.ReportNMI(true); fmt.Println("waiting"); select {} },
	"syscall":  func([]string) { fmt.Println(os.Getpid(), os.Getuid()); _, err := os.Open("/x"); fmt.Println(err) },
}

func main() {
	if err := trap.Install(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if len(os.Args) < 2 || actions[os.Args[1]] == nil {
		fmt.Println("no such action")
		os.Exit(1)
	}
	actions[os.Args[1]](os.Args[2:])
}

func pointer(addr uintptr) *int { return *(**int)(unsafe.Pointer(&addr)) }

//go:noinline
func recurse(n int) int {
	if n == 0 {
		return 0 // never: n grows
	}
	var pad [64]int
	pad[n%64] = n
	return recurse(n+1) + pad[(n+1)%64]
}

type node struct {
	_    [100]int
	next *node
}

//go:noinline
func follow(n *node) *node { return n.next }

// recovers panics in ways that arrive as exceptions, many times, on all
// processors.
func recovers([]string) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 2000 {
				func() {
					defer func() {
						err, ok := recover().(runtime.Error)
						if !ok || err.Error() != "runtime error: invalid memory address or nil pointer dereference" {
							fmt.Println("recovered", err)
							os.Exit(1)
						}
					}()
					if i%2 == 0 {
						follow(nil)
					} else {
						var f func()
						f()
					}
				}()
			}
		})
	}
	wg.Wait()
	func() {
		defer func() { fmt.Println(recover()) }()
		divide()
	}()
	fmt.Println("recovered all")
}

// otherCPU crashes on two processors at the same time.
func otherCPU([]string) {
	for range 2 {
		go func() {
			for t := time.Now(); time.Since(t) < 20*time.Millisecond; {
			}
			runtime.Breakpoint()
		}()
	}
	select {}
}

// Implemented in image_amd64.s.
func undefined()
func divide()
func badStack(sp uintptr)
func overrun()
