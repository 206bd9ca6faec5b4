// Command trace is a unikernel that traces itself: all that it takes besides the program's own code.
//
//	scripts/metal.sh build -o build/trace ./examples/trace
//	INITRD=build/trace scripts/qemu.sh build/trace
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"tamaprobe/boot/board"
	"tamaprobe/kprobes/tracer"
)

//go:noinline
func greet(name string, times int) string { return strings.Repeat("hello "+name+" ", times) }

func main() {
	t, err := tracer.New(tracer.Config{Now: board.Nanotime, Image: board.Image(), MemoryEnd: board.MemoryEnd()})
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range []string{"p main.greet name times", "r main.greet len=len($ret0) $dur if len > 20"} {
		if _, err := t.Define(line); err != nil {
			log.Fatal(err)
		}
	}
	repeats, err := t.Aggregate("latency strings.Repeat")
	if err != nil {
		log.Fatal(err)
	}
	for i, name := range []string{"gopher", "world", "unikernel"} {
		fmt.Println(greet(name, i+1))
	}
	t.WriteTrace(os.Stdout)
	os.Stdout.Write(repeats.Append(nil, tracer.View{}))
}
