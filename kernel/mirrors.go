package main

import (
	"fmt"

	"tamaprobe/arch/amd64"
	"tamaprobe/boot/board"
	"tamaprobe/goruntime"
	"tamaprobe/kprobes"
)

// A mirror is a function for the console's jprobes: of the same signature as the one
// it mirrors, it records the arguments.
type mirror struct {
	symbol string
	help   string                    // the parameters that it shows
	format string                    // of what it records
	new    func(e *printed) (fn any) // makes the function, which records for e
}

var mirrors = []mirror{
	{"main.fib", "n int", "n=%d", func(e *printed) any {
		return func(n int) int {
			e.record(uint64(n))
			return 0
		}
	}},
	{"main.runSort", "i int", "i=%d", func(e *printed) any {
		return func(i int) string {
			e.record(uint64(i))
			return ""
		}
	}},
	{"crypto/sha256.Sum256", "data []byte", "len(data)=%d", func(e *printed) any {
		return func(data []byte) (sum [32]byte) {
			e.record(uint64(len(data)))
			return sum
		}
	}},
	{"encoding/json.Unmarshal", "data []byte, v any", "len(data)=%d data[0]=%q", func(e *printed) any {
		return func(data []byte, v any) error {
			var first byte
			if len(data) > 0 {
				first = data[0]
			}
			e.record(uint64(len(data)), uint64(first))
			return nil
		}
	}},
}

// record records a call by its arguments. Handler context.
func (e *printed) record(args ...uint64) {
	r := record{event: e.number, goid: goruntime.Goid(goruntime.SystemG()), time: board.Nanotime()}
	copy(r.args[:], args)
	e.put(amd64.CPUNumber(), r)
}

// mirrored places a jprobe with one of the mirrors, or lists those.
func (c *console) mirrored(args []string) error {
	if len(args) > 1 {
		return errUsage
	}
	if len(args) == 0 {
		for _, m := range mirrors {
			c.printf("%s(%s)\n", m.symbol, m.help)
		}
		return nil
	}
	for _, m := range mirrors {
		if m.symbol == args[0] {
			return c.place(func(e *printed) error {
				e.format, e.mirrored = m.format, m.symbol
				j, err := kprobes.RegisterJprobe(m.symbol, m.new(e))
				if err == nil {
					e.Kprobe = &j.Kprobe
				}
				return err
			})
		}
	}
	return fmt.Errorf("%s: this kernel has no mirror function for it; jp lists those it has", args[0])
}
