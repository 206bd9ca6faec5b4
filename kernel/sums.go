package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"tamaprobe/kernel/shell"
	"tamaprobe/kprobes/tracer"
)

// Commands that add hits up instead of recording them.

var sumCommands = []command{
	{name: "count", match: prefixed("count"), args: "[:NAME] PLACE [KEY...] [if EXPR]", help: "count hits, by keys",
		whole: (*console).sum, complete: completeDefinition,
		examples: []string{"count sort.*", "count main.fib n", "count:allocs runtime.mallocgc size $caller:symbol"}},
	{name: "hist", match: prefixed("hist"), args: "[:NAME] [-l LOW,HIGH,STEP] PLACE VALUE [KEY...] [if EXPR]", help: "a histogram of a value, by keys",
		whole: (*console).sum, complete: completeDefinition,
		examples: []string{"hist runtime.mallocgc size", "hist -l 0,30,1 main.fib n"}},
	{name: "latency", match: prefixed("latency"), args: "[:NAME] SYMBOL [KEY...] [if EXPR]", help: "a histogram of how long a function takes",
		whole: (*console).sum, complete: completeDefinition,
		examples: []string{"latency main.runJSON", "latency main.handle err"}},
	{name: "stacks", match: prefixed("stacks"), args: "[:NAME] PLACE [if EXPR]", help: "count the call stacks that lead to a place",
		whole: (*console).sum, complete: completeDefinition,
		examples: []string{"stacks runtime.mallocgc if size > 4096"}},
	{name: "view", args: "[-n TOP] [EVENT...]", help: "show sums, again every second until a key", run: (*console).view, complete: completeEvents,
		examples: []string{"view", "view -n 5 count_*"}},
	{name: "print", args: "[-n TOP] [EVENT...]", help: "print sums once", run: (*console).print, complete: completeEvents},
	{name: "clear", args: "EVENT...", help: "let sums start at nothing", run: (*console).clearSums, complete: completeEvents},
}

func (c *console) sum(x *shell.Context, line string) error {
	defer c.tracer.Quiet()()
	e, err := c.tracer.Aggregate(line)
	if err != nil {
		return explained(err)
	}
	told(x, e)
	return nil
}

const viewInterval = time.Second

// sums returns the aggregations that arguments name, all without.
func (c *console) sums(args []string) (es []*tracer.Event, top int, err error) {
	top = 20
	if len(args) > 0 && args[0] == "-n" {
		if len(args) < 2 {
			return nil, 0, shell.ErrUsage
		}
		if top, err = strconv.Atoi(args[1]); err != nil || top < 1 {
			return nil, 0, fmt.Errorf("%s: not a number of lines", args[1])
		}
		args = args[2:]
	}
	if len(args) == 0 {
		for _, e := range c.tracer.Events() {
			if e.IsAggregation() {
				es = append(es, e)
			}
		}
		if len(es) == 0 {
			return nil, 0, errors.New("nothing is added up: count, hist, latency and stacks do that; help sums")
		}
		return es, top, nil
	}
	err = c.forEach(args, func(all []*tracer.Event) error {
		for _, e := range all {
			if !e.IsAggregation() {
				return fmt.Errorf("%s adds nothing up: trace shows its hits", e.Name())
			}
		}
		es = all
		return nil
	})
	return es, top, err
}

func (c *console) view(x *shell.Context, args []string) error {
	es, top, err := c.sums(args)
	if err != nil {
		return err
	}
	defer c.tracer.Quiet()()
	x.Live(viewInterval, func(w io.Writer) { writeSums(x, w, es, top) })
	return nil
}

func (c *console) print(x *shell.Context, args []string) error {
	es, top, err := c.sums(args)
	if err != nil {
		return err
	}
	defer c.tracer.Quiet()()
	writeSums(x, x, es, top)
	return nil
}

func writeSums(x *shell.Context, w io.Writer, es []*tracer.Event, top int) {
	v := tracer.View{Top: top, Color: !x.Plain()}
	if !x.Plain() {
		_, cols := x.Size()
		v.Width = cols - 1 // a view leaves the last column free
	}
	for _, e := range es {
		b := fmt.Appendf(nil, "%s\n", x.Paint(shell.Bold, e.Name()))
		w.Write(e.Append(b, v))
	}
}

func (c *console) clearSums(_ *shell.Context, args []string) error {
	return c.forEach(args, func(es []*tracer.Event) error {
		for _, e := range es {
			e.Clear()
		}
		return nil
	})
}
