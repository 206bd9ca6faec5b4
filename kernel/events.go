package main

import (
	"errors"
	"strings"

	"tamaprobe/kernel/shell"
	"tamaprobe/kprobes/event"
	"tamaprobe/kprobes/tracer"
)

// Commands that define and list events.

var eventCommands = []command{
	{name: "p", match: isDefinition('p'), args: "[:[GRP/]EVENT] [-inline] PLACE [ARG...] [if EXPR]", help: "define a probe event",
		whole: (*console).define, complete: completeDefinition, text: topicText("places"),
		examples: []string{"p main.runSort i", "p:json/encode encoding/json.Marshal v", "p main.fib n if n > 20", "p sort.*", "p workload.go:47 j"}},
	{name: "r", match: isDefinition('r'), args: "[MAXACTIVE][:[GRP/]EVENT] SYMBOL [ARG...] [if EXPR]", help: "define a return event",
		whole: (*console).define, complete: completeDefinition,
		examples: []string{"r main.runJSON $ret0 $dur", "r:slow main.handle req.Path err $dur if dur > 1ms"}},
	{name: "-", match: func(first string) bool { return strings.HasPrefix(first, "-:") }, args: "EVENT | -:[GRP/]EVENT", help: "remove events",
		whole: (*console).remove, complete: completeEvents,
		examples: []string{"-:p_main_fib_0", "- json/*", "- *"}},
	{name: "jp", args: "[SYMBOL]", help: "define an event by a mirror function; list those there are", run: (*console).mirrored, complete: completeMirrors},
	{name: "events", help: "list the events", run: noArgs((*console).events)},
	{name: "enable", args: "EVENT...", help: "let events be hit again", run: disabling(false), complete: completeEvents},
	{name: "disable", args: "EVENT...", help: "let events stay, but not be hit", run: disabling(true), complete: completeEvents},
	{name: "profile", help: "hits and misses of the events", run: noArgs((*console).profile)},
	{name: "error_log", args: "[clear]", help: "the last definitions that were refused, and why", run: (*console).errorLog},
	{name: "save", help: "print the definitions, to be typed again or for the kernel command line", run: noArgs((*console).save)},
}

// isDefinition recognizes the first word of a definition of a kind: with a name, or a maximum of
// active calls.
func isDefinition(kind byte) func(first string) bool {
	return func(first string) bool {
		if first[0] != kind {
			return false
		}
		rest := strings.TrimLeft(first[1:], "0123456789")
		return rest == "" || rest[0] == ':'
	}
}

// define executes a definition.
func (c *console) define(x *shell.Context, line string) error {
	defer c.tracer.Quiet()() // to read debugging information is much work
	e, err := c.tracer.Define(line)
	if err != nil {
		return explained(err)
	}
	if e != nil {
		told(x, e)
	}
	return nil
}

// told says that an event is there, and what is to be known about it.
func told(x *shell.Context, e *tracer.Event) {
	x.Printf("%s\n", e.Name())
	for _, note := range e.Notes {
		x.Printf("  %s\n", note)
	}
}

// explained is an error with the place in the line.
func explained(err error) error {
	var e *event.Error
	if errors.As(err, &e) {
		return errors.New(e.Caret())
	}
	return err
}

// remove removes events, by -:[GRP/]EVENT or by names and patterns.
func (c *console) remove(x *shell.Context, line string) error {
	if strings.HasPrefix(line, "-:") {
		return c.define(x, line)
	}
	return c.forEach(x.Args(), func(es []*tracer.Event) error { return c.tracer.RemoveEvents(es) })
}

// forEach calls f for the events that names mean, if all of them mean some.
func (c *console) forEach(names []string, f func([]*tracer.Event) error) error {
	if len(names) == 0 {
		return shell.ErrUsage
	}
	var all []*tracer.Event
	seen := make(map[*tracer.Event]bool)
	for _, name := range names {
		es, err := c.tracer.Find(name)
		if err != nil {
			return err
		}
		for _, e := range es {
			if !seen[e] {
				seen[e] = true
				all = append(all, e)
			}
		}
	}
	return f(all)
}

// disabling is enable or disable.
func disabling(disabled bool) func(*console, *shell.Context, []string) error {
	return func(c *console, _ *shell.Context, args []string) error {
		return c.forEach(args, func(es []*tracer.Event) error {
			var errs []error
			for _, e := range es {
				errs = append(errs, e.SetDisabled(disabled))
			}
			return errors.Join(errs...)
		})
	}
}

// events lists the events: name, state, definition.
func (c *console) events(x *shell.Context) error {
	w := lineWriter{w: x}
	defer w.flush()
	events := c.tracer.Events()
	width := 24
	for _, e := range events {
		width = max(width, len(e.Name()))
	}
	for _, e := range events {
		state := "enabled"
		if e.Disabled() {
			state = "disabled"
		}
		f := e.Figures()
		w.printf("%-*s %-8s %8d hits  %s\n", width, e.Name(), state, f.Hits, e.Save())
	}
	return nil
}

func (c *console) profile(x *shell.Context) error {
	x.Printf("%s", c.tracer.Profile())
	return nil
}

func (c *console) errorLog(x *shell.Context, args []string) error {
	switch {
	case len(args) == 0:
		x.Printf("%s", c.tracer.Errors())
	case len(args) == 1 && args[0] == "clear":
		c.tracer.Errors().Clear()
	default:
		return shell.ErrUsage
	}
	return nil
}

func (c *console) save(x *shell.Context) error {
	w := lineWriter{w: x}
	defer w.flush()
	var lines []string
	for _, e := range c.tracer.Events() {
		lines = append(lines, e.Save())
		w.printf("%s\n", e.Save())
	}
	if len(lines) > 0 {
		w.printf("# or when booting, in APPEND: %s\n", tracer.BootOption(lines))
	}
	return nil
}
