package main

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"golang.org/x/term"
)

// A console reads commands from a terminal and executes them.
type console struct {
	*term.Terminal
	probes probes
}

// A command's run gets the words behind its name. What it returns is printed as
// one line.
type command struct {
	name, args, help string
	run              func(c *console, args []string) error
}

// commands is set at initialization: help refers to it.
var commands []command

func init() {
	commands = []command{
		{"help", "", "list the commands", (*console).help},
		{"uname", "", "what runs here, and on what", (*console).uname},
		{"funcs", "[GLOB]", "list functions", (*console).funcs},
		{"dis", "[-d] SYMBOL|ADDR", "disassemble a function; marks what is probed, -d shows detours", (*console).dis},
		{"p", "SYMBOL[+OFF]|ADDR", "probe an instruction, print every hit", (*console).probe},
		{"r", "SYMBOL", "probe a function's returns: caller, duration, results", (*console).probeReturn},
		{"jp", "[SYMBOL]", "print the arguments of every call, by a mirror function; list those", (*console).mirrored},
		{"list", "", "list the probes", (*console).list},
		{"enable", "N|SYMBOL[+OFF]|ADDR", "let probes be hit again", (*console).enable},
		{"disable", "N|SYMBOL[+OFF]|ADDR", "let probes stay, but not be hit", (*console).disable},
		{"enabled", "[0|1]", "whether probes are armed at all", (*console).enabled},
		{"optimization", "[0|1|-v]", "whether probes are optimized; which are not, and why", (*console).optimization},
		{"blacklist", "", "functions that cannot be probed, and why", (*console).blacklist},
		{"-", "N|SYMBOL[+OFF]", "remove probes, by number or place", (*console).remove},
		{"run", "[WORKLOAD [N]]", "run a workload N times; list the workloads", (*console).runWorkload},
		{"peek", "ADDR|SYMBOL [LEN]", "show memory", (*console).peek},
		{"poweroff", "", "end the machine", (*console).poweroff},
		{"reboot", "", "reset the machine", (*console).reboot},
	}
}

// errUsage makes the console print a command's usage.
var errUsage = errors.New("usage")

func newConsole(rw io.ReadWriter) *console {
	c := &console{Terminal: term.NewTerminal(keys{rw}, "> ")}
	c.probes.out = c
	return c
}

// keys makes ^C clear the line, and ^D do nothing: for x/term both end the input.
type keys struct{ io.ReadWriter }

func (k keys) Read(b []byte) (int, error) {
	const ctrlC, ctrlD, ctrlU = 3, 4, 21
	n, err := k.ReadWriter.Read(b)
	for i := range b[:n] {
		switch b[i] {
		case ctrlC:
			b[i] = ctrlU
		case ctrlD:
			b[i] = 0
		}
	}
	return n, err
}

func (c *console) printf(format string, args ...any) {
	fmt.Fprintf(c, format, args...)
}

// serve executes commands for good.
func (c *console) serve() {
	for {
		line, err := c.ReadLine()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			c.printf("console: %v\n", err)
			continue
		}
		c.execute(line)
	}
}

// execute executes a line. Whatever happens, the console goes on.
func (c *console) execute(line string) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return
	}
	defer func() {
		if e := recover(); e != nil {
			c.printf("%s: panic: %v\n%s", words[0], e, debug.Stack())
		}
	}()
	for _, cmd := range commands {
		if cmd.name != words[0] {
			continue
		}
		err := cmd.run(c, words[1:])
		if err == errUsage {
			c.printf("usage: %s\n", strings.TrimSpace(cmd.name+" "+cmd.args))
		} else if err != nil {
			c.printf("%v\n", err)
		}
		return
	}
	c.printf("%s: no such command; help lists them\n", words[0])
}

func (c *console) help(args []string) error {
	if len(args) != 0 {
		return errUsage
	}
	var b strings.Builder
	for _, cmd := range commands {
		fmt.Fprintf(&b, "%-30s %s\n", strings.TrimSpace(cmd.name+" "+cmd.args), cmd.help)
	}
	c.printf("%s", b.String())
	return nil
}

// A lineWriter collects lines and writes them to the terminal in pieces of some
// size: the terminal redraws the prompt for every write.
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
