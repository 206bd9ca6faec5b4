// Package harness probes a test binary from inside: before the first test it puts
// probes on the image's functions, and when the program exits it takes them away and
// checks that every hit is accounted for.
//
// The go command links it into the tests of standard packages, because package
// testing/internal/testdeps imports it there (see command stdtest), and with it the board,
// without which there is no machine to run on. It knows nothing of the tests, and must not import
// package testing.
package harness

import (
	"fmt"
	"os"
	"syscall"

	_ "tamaprobe/boot/board" // the machine
	"tamaprobe/stdtest/way"
	"tamaprobe/trap"
)

// exitUnaccounted is the exit code when the probes' accounting is wrong.
const exitUnaccounted = 3

// probes are what Start put in place; nil if there are none.
var probes *set

// Start makes the machine what the kernel makes it, where a nil dereference is a panic, and puts
// the probes in place. pkg is the import path of the package under test. Goroutine context,
// before the first test.
func Start(pkg string) {
	err := trap.Install()
	if err != nil {
		stop(err)
	}
	switch w := os.Getenv(way.Variable); w {
	case "", way.Bare:
	case way.Jump:
		probes, err = everyFunction()
	case way.Int3:
		probes, err = everyBreakpoint(pkg)
	default:
		err = fmt.Errorf("%s=%s: want %s, %s or %s", way.Variable, w, way.Bare, way.Jump, way.Int3)
	}
	if err != nil {
		stop(err)
	}
}

// Finish takes the probes away and prints what they counted. If that does not add up, the
// program ends here, with another exit code. Goroutine context, at exit.
func Finish() {
	if probes == nil {
		return
	}
	sums, err := probes.finish()
	say("%s%v", way.Prefix, sums)
	if err != nil {
		stop(err)
	}
}

// stop ends the program from an exit hook, too, where os.Exit cannot be called.
func stop(err error) {
	say("%s%v", way.Wrong, err)
	syscall.Exit(exitUnaccounted)
}

// say prints a line of its own on the console, which tests cannot redirect.
func say(format string, args ...any) {
	line := fmt.Sprintf("\n"+format+"\n", args...)
	syscall.Write(syscall.Stderr, []byte(line)) // to the console, it does not fail
}
