package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"tamaprobe/boot/board"
	"tamaprobe/kernel/shell"
	"tamaprobe/kprobes/tracer"
)

// A console executes what is typed.
type console struct {
	*shell.Shell
	tracer  *tracer.Tracer
	printer printer
}

// A command's run gets the words behind its name; whole gets the line instead.
type command struct {
	name, args, help string
	run              func(c *console, x *shell.Context, args []string) error
	whole            func(c *console, x *shell.Context, line string) error
	match            func(first string) bool
	complete         func(c *console, words []string, word string) []string
	text             string
	examples         []string
}

// groups are the commands by what they are for, in the order of help.
var groups = []struct {
	name     string
	commands []command
}{
	{"events", eventCommands},
	{"traces", traceCommands},
	{"sums", sumCommands},
	{"probes", probeCommands},
	{"tracefs", tracefsCommands},
	{"the image", imageCommands},
	{"the machine", machineCommands},
}

func newConsole(rw io.ReadWriter, t *tracer.Tracer) *console {
	plain := os.Getenv("CONSOLE") == "plain"
	c := &console{Shell: shell.New(rw, shell.Options{Plain: plain, Colour: !plain}), tracer: t}
	for _, g := range groups {
		for _, cmd := range g.commands {
			c.Add(c.command(g.name, cmd))
		}
	}
	c.AddTopics(topics...)
	return c
}

// command is a command as the shell takes it.
func (c *console) command(group string, cmd command) *shell.Command {
	s := &shell.Command{
		Name: cmd.name, Match: cmd.match, Group: group, Args: cmd.args, Help: cmd.help, Text: cmd.text, Examples: cmd.examples,
		Run: func(x *shell.Context, line string) error {
			if cmd.whole != nil {
				return cmd.whole(c, x, line)
			}
			return cmd.run(c, x, x.Args())
		},
	}
	if cmd.complete != nil {
		s.Complete = func(words []string, word string) []string { return cmd.complete(c, words, word) }
	}
	return s
}

// prefixed recognizes a command with a name behind a colon.
func prefixed(name string) func(first string) bool {
	return func(first string) bool { return strings.HasPrefix(first, name+":") }
}

// Printf prints to the console, not as a command's output.
func (c *console) Printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

// boot executes an option of the kernel command line.
func (c *console) boot(option string) {
	name, value, _ := strings.Cut(option, "=")
	switch {
	case name == "kprobe_event":
		for _, line := range tracer.SplitBootOption(value) {
			c.Execute(line)
		}
	case option == "tp_printk":
		c.Execute("tp_printk 1")
	default:
		fmt.Fprintf(c, "tamaprobe: unknown option %q on the kernel command line\n", option)
	}
}

// noArgs is for commands that take none.
func noArgs(run func(c *console, x *shell.Context) error) func(*console, *shell.Context, []string) error {
	return func(c *console, x *shell.Context, args []string) error {
		if len(args) != 0 {
			return shell.ErrUsage
		}
		return run(c, x)
	}
}

// knob shows something that is on or off, or sets it.
func knob(get func(*console) bool, set func(*console, bool)) func(*console, *shell.Context, []string) error {
	return func(c *console, x *shell.Context, args []string) error {
		switch {
		case len(args) == 0:
			n := 0
			if get(c) {
				n = 1
			}
			x.Printf("%d\n", n)
		case len(args) == 1 && (args[0] == "0" || args[0] == "1"):
			set(c, args[0] == "1")
		default:
			return shell.ErrUsage
		}
		return nil
	}
}

var machineCommands = []command{
	{name: "run", args: "[WORKLOAD [N] [&]]", help: "run a workload N times, with & in the background; list the workloads",
		run: (*console).runWorkload, complete: completeWorkloads,
		examples: []string{"run sort 100", "run json 10000 &"}},
	{name: "uname", help: "what runs here, and on what", run: noArgs((*console).uname)},
	{name: "peek", args: "ADDR|SYMBOL [LEN]", help: "show memory", run: (*console).peek, complete: completeSymbols},
	{name: "poweroff", help: "end the machine", run: noArgs((*console).poweroff)},
	{name: "reboot", help: "reset the machine", run: noArgs((*console).reboot)},
}

func (c *console) poweroff(*shell.Context) error {
	os.Exit(0)
	return nil
}

func (c *console) reboot(*shell.Context) error {
	board.Reboot()
	return nil
}

// A lineWriter collects lines and writes them in pieces of some size: the terminal redraws
// the line that is edited for every write.
type lineWriter struct {
	w   io.Writer
	buf []byte
}

func (w *lineWriter) printf(format string, args ...any) {
	w.buf = fmt.Appendf(w.buf, format, args...)
	if len(w.buf) > 4096 {
		w.flush()
	}
}

func (w *lineWriter) flush() {
	w.w.Write(w.buf)
	w.buf = w.buf[:0]
}
