package main

import (
	"fmt"
	"path"
	"strings"

	"tamaprobe/kernel/shell"
	"tamaprobe/kprobes/tracer"
)

// echo and cat, so that lines pasted from the documents about tracefs do here what they do on
// Linux. There is no file system: a path stands for what its last elements name.

var tracefsCommands = []command{
	{name: "echo", args: "TEXT >[>] FILE", help: "write to a file of tracefs, as Linux's documents do it", whole: (*console).echo,
		examples: []string{
			"echo 'p:sort main.runSort i=$arg1:s64' >> /sys/kernel/tracing/kprobe_events",
			"echo 0 > /sys/kernel/tracing/events/kprobes/sort/enable",
			"echo 'i > 3' > /sys/kernel/tracing/events/kprobes/sort/filter",
			"echo > /sys/kernel/tracing/kprobe_events",
		}},
	{name: "cat", args: "FILE", help: "read a file of tracefs", run: (*console).cat, examples: []string{"cat /sys/kernel/tracing/trace"}},
}

// A tracefsFile is what stands behind a path. read or write is nil if it cannot be.
type tracefsFile struct {
	name  string // the last elements of the path
	read  func(c *console, x *shell.Context) error
	write func(c *console, x *shell.Context, text string, appending bool) error
}

var tracefsFiles []tracefsFile

func init() {
	tracefsFiles = []tracefsFile{
		{"kprobe_events", (*console).readEvents, (*console).writeEvents},
		{"trace", func(c *console, x *shell.Context) error { return c.trace(x, nil) },
			func(c *console, x *shell.Context, _ string, _ bool) error { return c.trace(x, []string{"clear"}) }},
		{"trace_pipe", (*console).tracePipe, nil},
		{"tracing_on", reads("tracing"), writes("tracing")},
		{"kprobe_profile", reads("profile"), nil},
		{"error_log", reads("error_log"), func(c *console, x *shell.Context, _ string, _ bool) error { return c.errorLog(x, []string{"clear"}) }},
		{"available_filter_functions", reads("funcs"), nil},
		{"kprobes/list", reads("list"), nil},
		{"kprobes/blacklist", reads("blacklist"), nil},
		{"kprobes/enabled", reads("enabled"), writes("enabled")},
		{"kprobes-optimization", reads("optimization"), writes("optimization")},
	}
}

// reads reads a file as a command does.
func reads(name string) func(*console, *shell.Context) error {
	return func(c *console, x *shell.Context) error { return c.commandNamed(name).run(c, x, nil) }
}

// writes writes a file as a command does.
func writes(name string) func(*console, *shell.Context, string, bool) error {
	return func(c *console, x *shell.Context, text string, _ bool) error {
		if text != "0" && text != "1" {
			return fmt.Errorf("%q: 0 or 1 is expected", text)
		}
		return c.commandNamed(name).run(c, x, []string{text})
	}
}

func (c *console) commandNamed(name string) command {
	for _, g := range groups {
		for _, cmd := range g.commands {
			if cmd.name == name {
				return cmd
			}
		}
	}
	panic("no command " + name)
}

// find returns the file that a path means.
func (c *console) tracefsFile(name string) (tracefsFile, error) {
	clean := "/" + strings.TrimPrefix(path.Clean(name), "/")
	for _, f := range tracefsFiles {
		if strings.HasSuffix(clean, "/"+f.name) {
			return f, nil
		}
	}
	if dir, file := path.Split(clean); dir != "/" && eventFiles[file] != nil {
		return eventFiles[file](eventOf(dir)), nil
	}
	var names []string
	for _, f := range tracefsFiles {
		names = append(names, f.name)
	}
	return tracefsFile{}, fmt.Errorf("%s: no such file; there are %s, and events/GROUP/EVENT/ with enable and filter", name, strings.Join(names, ", "))
}

// eventFiles are the files of an event's folder, or a group's.
var eventFiles = map[string]func(event string) tracefsFile{"enable": enableFile, "filter": filterFile}

// eventOf returns how Tracer.Find names the event, or the group, of a folder.
func eventOf(dir string) string {
	_, event, ok := strings.Cut(dir, "/events/")
	if parts := strings.Split(strings.Trim(dir, "/"), "/"); !ok {
		event = strings.Join(parts[max(len(parts)-2, 0):], "/")
	}
	event = strings.TrimSuffix(event, "/")
	if !strings.Contains(event, "/") {
		event += "/"
	}
	return event
}

// filterFile is an event's filter. 0 is none, as on Linux.
func filterFile(event string) tracefsFile {
	one := func(c *console) (*tracer.Event, error) {
		es, err := c.tracer.Find(event)
		if err == nil && len(es) != 1 {
			err = fmt.Errorf("%s means %d events: name one, as in events/GROUP/EVENT/filter", event, len(es))
		}
		if err != nil {
			return nil, err
		}
		return es[0], nil
	}
	return tracefsFile{
		read: func(c *console, x *shell.Context) error {
			e, err := one(c)
			if err != nil {
				return err
			}
			if filter := e.Definition.Filter; filter != nil {
				x.Printf("%s\n", filter)
			} else {
				x.Printf("none\n")
			}
			return nil
		},
		write: func(c *console, _ *shell.Context, text string, _ bool) error {
			e, err := one(c)
			if err != nil {
				return err
			}
			if text == "0" {
				text = ""
			}
			defer c.tracer.Quiet()() // to read debugging information is much work
			if _, err = c.tracer.SetFilter(e, text); err != nil {
				return explained(err)
			}
			return nil
		},
	}
}

// enableFile is an event's, or a group's, enable.
func enableFile(event string) tracefsFile {
	return tracefsFile{
		read: func(c *console, x *shell.Context) error {
			es, err := c.tracer.Find(event)
			if err != nil {
				return err
			}
			state := ""
			for _, e := range es {
				s := "1"
				if e.Disabled() {
					s = "0"
				}
				if state != "" && state != s {
					s = "X"
				}
				state = s
			}
			x.Printf("%s\n", state)
			return nil
		},
		write: func(c *console, x *shell.Context, text string, _ bool) error {
			if text != "0" && text != "1" {
				return fmt.Errorf("%q: 0 or 1 is expected", text)
			}
			return disabling(text == "0")(c, x, []string{event})
		},
	}
}

func (c *console) cat(x *shell.Context, args []string) error {
	if len(args) != 1 {
		return shell.ErrUsage
	}
	f, err := c.tracefsFile(args[0])
	if err != nil {
		return err
	}
	if f.read == nil {
		return fmt.Errorf("%s: cannot be read", args[0])
	}
	return f.read(c, x)
}

func (c *console) echo(x *shell.Context, line string) error {
	text, file, appending, err := splitEcho(strings.TrimSpace(strings.TrimPrefix(line, "echo")))
	if err != nil {
		return err
	}
	if file == "" {
		x.Printf("%s\n", text)
		return nil
	}
	f, err := c.tracefsFile(file)
	if err != nil {
		return err
	}
	if f.write == nil {
		return fmt.Errorf("%s: cannot be written", file)
	}
	return f.write(c, x, text, appending)
}

// splitEcho takes what is behind echo apart, as a shell does: quotes, backslashes, and the file that it is
// redirected to.
func splitEcho(s string) (text, file string, appending bool, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return "", "", false, fmt.Errorf("echo: the quote ' is not closed")
			}
			b.WriteString(s[i+1 : i+1+end])
			i += end + 1
		case c == '"':
			for i++; ; i++ {
				if i >= len(s) {
					return "", "", false, fmt.Errorf("echo: the quote \" is not closed")
				}
				if s[i] == '"' {
					break
				}
				if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$\"\\`", s[i+1]) >= 0 {
					i++
				}
				b.WriteByte(s[i])
			}
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case c == '>':
			rest, appending := strings.CutPrefix(s[i+1:], ">")
			file = strings.TrimSpace(rest)
			if file == "" || strings.ContainsAny(file, " \t>") {
				return "", "", false, fmt.Errorf("echo: one file is expected behind >")
			}
			return strings.TrimSpace(b.String()), file, appending, nil
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(b.String()), "", false, nil
}

// readEvents prints the definitions as kprobe_events holds them: without what Linux does not know.
func (c *console) readEvents(x *shell.Context) error {
	w := lineWriter{w: x}
	defer w.flush()
	for _, e := range c.kprobeEvents() {
		w.printf("%s\n", e.Save())
	}
	return nil
}

// kprobeEvents are the events that p and r defined.
func (c *console) kprobeEvents() (es []*tracer.Event) {
	for _, e := range c.tracer.Events() {
		if !e.IsAggregation() && e.Type() != "j" {
			es = append(es, e)
		}
	}
	return es
}

// writeEvents executes definitions. As on Linux, > removes those that were there first.
func (c *console) writeEvents(x *shell.Context, text string, appending bool) error {
	if !appending {
		if err := c.tracer.RemoveEvents(c.kprobeEvents()); err != nil {
			return err
		}
	}
	for line := range strings.SplitSeq(text, "\\n") {
		if err := c.define(x, line); err != nil {
			return err
		}
	}
	return nil
}
