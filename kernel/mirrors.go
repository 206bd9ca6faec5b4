package main

import (
	"fmt"

	"tamaprobe/kernel/shell"
)

// A mirror is a function for the console's jprobes: of the same signature as the one
// it mirrors, it records arguments.
type mirror struct {
	symbol string
	help   string                                  // the parameters that it shows
	args   string                                  // what it records, of the two words that record takes
	new    func(record func(a, b uint64)) (fn any) // makes the function
}

var mirrors = []mirror{
	{"main.fib", "n int", "n=%ax:s64", func(record func(a, b uint64)) any {
		return func(n int) int {
			record(uint64(n), 0)
			return 0
		}
	}},
	{"main.runSort", "i int", "i=%ax:s64", func(record func(a, b uint64)) any {
		return func(i int) string {
			record(uint64(i), 0)
			return ""
		}
	}},
	{"crypto/sha256.Sum256", "data []byte", "length=%ax:s64", func(record func(a, b uint64)) any {
		return func(data []byte) (sum [32]byte) {
			record(uint64(len(data)), 0)
			return sum
		}
	}},
	{"encoding/json.Unmarshal", "data []byte, v any", "length=%ax:s64 first=%bx:char", func(record func(a, b uint64)) any {
		return func(data []byte, v any) error {
			var first byte
			if len(data) > 0 {
				first = data[0]
			}
			record(uint64(len(data)), uint64(first))
			return nil
		}
	}},
}

// mirrored defines an event by one of the mirrors, or lists those.
func (c *console) mirrored(x *shell.Context, args []string) error {
	if len(args) > 1 {
		return shell.ErrUsage
	}
	if len(args) == 0 {
		for _, m := range mirrors {
			x.Printf("%s(%s)\n", m.symbol, m.help)
		}
		return nil
	}
	for _, m := range mirrors {
		if m.symbol == args[0] {
			e, err := c.tracer.DefineMirror("p:jprobes/ "+m.symbol+" "+m.args, m.new)
			if err != nil {
				return explained(err)
			}
			told(x, e)
			return nil
		}
	}
	return fmt.Errorf("%s: this kernel has no mirror function for it; jp lists those it has", args[0])
}
