package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// testCommands are commands that show what they got.
func testCommands(s *session) []*Command {
	frame := 0
	symbols := []string{"main.run", "main.runSort", "main.(*T).Get[...]", "main.(*T).Set[...]", "net/http.Get", "net/http.Head", "x.·a", "x.·b", "x.Ÿ", "only.Ā", "only.ā"}
	return []*Command{
		{
			Name: "p", Group: "Probes", Args: "SYMBOL [ARGS]", Help: "probe a function",
			Text: "A probe has a name.", Examples: []string{"p:my main.run"},
			Match:      func(w string) bool { return strings.HasPrefix(w, "p:") },
			Complete:   func([]string, string) []string { return symbols },
			Separators: "=",
			Run: func(c *Context, line string) error {
				c.Printf("probe %q\n", line)
				return nil
			},
		},
		{
			Name: "-", Group: "Probes", Args: "EVENT", Help: "remove",
			Match: func(w string) bool { return strings.HasPrefix(w, "-:") },
			Run: func(c *Context, line string) error {
				c.Printf("remove %q\n", line)
				return nil
			},
		},
		{
			Name: "echo", Aliases: []string{"say"}, Help: "print the arguments",
			Run: func(c *Context, line string) error {
				c.Printf("%s\n", strings.Join(c.Args(), " "))
				return nil
			},
		},
		{Name: "fail", Run: func(*Context, string) error { return errors.New("first line\n     ^") }},
		{Name: "usage", Args: "A [B]", Run: func(*Context, string) error { return fmt.Errorf("x: %w", ErrUsage) }},
		{Name: "panic", Run: func(*Context, string) error { panic("oops") }},
		{Name: "nil", Run: func(*Context, string) error { var c *Command; c.Name = ""; return nil }},
		{Name: "halfline", Run: func(c *Context, _ string) error { c.Printf("no end"); return nil }},
		{Name: "escape", Run: func(c *Context, _ string) error {
			c.Printf("\x1b[1mbold\x1b[0m %s\n", c.Paint(Red, "red"))
			return nil
		}},
		{Name: "wait", Run: func(c *Context, _ string) error {
			c.Printf("waiting\n")
			<-c.Done()
			c.Printf("waited\n")
			return c.Err()
		}},
		{Name: "sleep", Run: func(c *Context, _ string) error {
			time.Sleep(5 * time.Second)
			_, err := fmt.Fprintln(c, "slept")
			return err
		}},
		{Name: "lines", Run: func(c *Context, _ string) error {
			var n int
			fmt.Sscan(c.Args()[0], &n)
			n = min(n, 10000)
			for i := range n {
				if _, err := fmt.Fprintf(c, "line %d\n", i+1); err != nil {
					return err
				}
			}
			return nil
		}},
		{Name: "block", Run: func(c *Context, _ string) error {
			_, err := io.WriteString(c, strings.Repeat("a line\n", 30))
			return err
		}},
		{Name: "live", Run: func(c *Context, _ string) error {
			c.Live(time.Second, func(w io.Writer) {
				frame++
				fmt.Fprintf(w, "frame %d\nbelow\n", frame)
			})
			c.Printf("live ended\n")
			return nil
		}},
		{Name: "tall", Run: func(c *Context, _ string) error {
			c.Live(time.Second, func(w io.Writer) {
				for i := range 40 {
					fmt.Fprintf(w, "%d %s\n", i, strings.Repeat("x", 200))
				}
			})
			return nil
		}},
		{Name: "livepanic", Run: func(c *Context, _ string) error {
			c.Live(time.Second, func(w io.Writer) { panic("draw") })
			return nil
		}},
		{Name: "livewrite", Run: func(c *Context, _ string) error {
			c.Live(time.Second, func(w io.Writer) { c.Printf("beside\n"); fmt.Fprintln(w, "in place") })
			return nil
		}},
		{Name: "stream", Run: func(c *Context, _ string) error {
			n := 0
			c.Stream(100*time.Millisecond, func(w io.Writer) { n++; fmt.Fprintf(w, "item %d\n", n) })
			c.Printf("stream ended\n")
			return nil
		}},
		{Name: "keys", Run: func(c *Context, _ string) error {
			keys := c.Keys()
			for range 2 {
				select {
				case key := <-keys:
					c.Printf("key %q\n", key)
				case <-c.Done():
				}
			}
			time.Sleep(time.Second)
			return nil
		}},
	}
}

var terminal, plain = Options{}, Options{Plain: true}

func TestCommands(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"echo a  b", "a b"},
		{"  say hello ", "hello"},
		{"p main.run", `probe "p main.run"`},
		{"p:grp/ev  main.run %ax", `probe "p:grp/ev  main.run %ax"`},
		{"- ev", `remove "- ev"`},
		{"-:grp/ev", `remove "-:grp/ev"`},
		{"fail", "first line\n     ^"},
		{"usage", "usage: usage A [B]"},
		{"", ""},
		{"    ", ""},
		{"# a comment", ""},
		{"ecko", "ecko: no such command; did you mean echo?"},
		{"Echo x", "Echo: no such command; did you mean echo?"},
		{"ehco", "ehco: no such command; did you mean echo?"},
		{"hist", "hist: no such command; did you mean history?"},
		{"zzzzzz", "zzzzzz: no such command; help lists them"},
		{"p;x", "p;x: no such command; help lists them"},
		{"-x", "-x: no such command; did you mean -?"},
		{"q", "q: no such command; help lists them"},
		{strings.Repeat("x", 100), strings.Repeat("x", 77) + "...: no such command; help lists them"},
		{"help nosuch", "nosuch: no such command or topic; help lists them"},
		{"help ecko", "ecko: no such command or topic; did you mean echo?"},
		{"help filterz", "filterz: no such command or topic; did you mean filters?"},
		{"help a b", "usage: help [COMMAND|TOPIC]"},
		{"help p", "usage: p SYMBOL [ARGS]\nprobe a function\nA probe has a name.\nexamples:\n  p:my main.run"},
		{"help p:ev", "usage: p SYMBOL [ARGS]\nprobe a function\nA probe has a name.\nexamples:\n  p:my main.run"},
		{"help say", "usage: echo\nalso: say\nprint the arguments"},
		{"help filters", "A filter is an expression.\n  p main.run if x > 1"},
		{"history x", "usage: history"},
		{"stty rows 30 cols 100", ""},
		{"stty rows", "usage: stty [rows N] [cols N] [plain|terminal]"},
		{"stty rows x", "x: not a number (invalid syntax)"},
		{"stty cols 90 rows 0", "0 rows, 90 columns: the size must be 2 to 500 rows and 20 to 1000 columns"},
		{"stty cols -5", "24 rows, -5 columns: the size must be 2 to 500 rows and 20 to 1000 columns"},
		{"stty nonsense", "usage: stty [rows N] [cols N] [plain|terminal]"},
		{"halfline", "no end"},
	} {
		for _, o := range []Options{terminal, plain} {
			runSize(t, o, 24, 300, func(s *session) {
				s.shell.AddTopics(Topic{Name: "filters", Help: "conditions", Text: "\nA filter is an expression.\n  p main.run if x > 1\n"})
				s.send(c.line + "\r")
				_, out, _ := strings.Cut(s.text(), "\n")
				if got := strings.TrimSuffix(strings.TrimSuffix(out, ">"), "\n"); got != c.want {
					t.Errorf("%+v: %q prints\n%s\nwant\n%s", o, c.line, got, c.want)
				}
				s.send("echo usable\r")
				s.want("usable", ">")
			})
		}
	}
}

func TestPanic(t *testing.T) {
	for _, o := range []Options{terminal, plain} {
		for _, c := range []struct{ line, want string }{
			{"panic", "panic: panic: oops\n"},
			{"nil", "nil: panic: runtime error: invalid memory address or nil pointer dereference\n"},
			{"livepanic", "livepanic: panic: draw\n"},
		} {
			run(t, o, func(s *session) {
				s.send(c.line + "\r")
				time.Sleep(2 * time.Second)
				s.send("echo usable\r")
				if out := s.text(); !strings.Contains(out, c.want) || !strings.Contains(out, "shell_test.go") {
					t.Errorf("%s: printed\n%s", c.line, out)
				}
				s.want("usable", ">")
			})
		}
	}
}

func TestHelp(t *testing.T) {
	run(t, plain, func(s *session) {
		s.shell.AddTopics(Topic{Name: "filters", Help: "conditions"})
		s.shell.Add(&Command{Name: "long", Group: "Probes", Args: strings.Repeat("x", 40), Help: "of long usage", Run: func(*Context, string) error { return nil }})
		s.send("help\n")
		for _, want := range []string{
			"\nProbes\n  p SYMBOL [ARGS]                 probe a function\n  - EVENT                         remove\n  long " + strings.Repeat("x", 40) + "\n                                  of long usage\n\nCommands\n  echo ",
			"\n  usage A [B]\n  panic\n",
			"\nConsole\n  help [COMMAND|TOPIC]            list",
			"\n\nTopics: help TOPIC explains one\n  filters                         conditions\n",
		} {
			if out := s.text() + "\n"; !strings.Contains(out, want) {
				t.Errorf("help prints\n%s\nwant in it\n%s", out, want)
			}
		}
	})
}

func TestAddRefuses(t *testing.T) {
	nothing := func(*Context, string) error { return nil }
	for _, c := range []*Command{{Name: "help", Run: nothing}, {Name: "x", Aliases: []string{"stty"}, Run: nothing}, {Name: "", Run: nothing}, {Name: "two words", Run: nothing}, {Name: "x"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was added", c)
				}
			}()
			New(newFakeTerminal(24, 80), plain).Add(c)
		}()
	}
}

// Plain text has no escape sequences and no echo, one prompt for each line, and a line's
// output starts at the start of a line.
func TestPlain(t *testing.T) {
	for _, c := range []struct{ name, input, want string }{
		{"line feed", "echo a\n", "> \na\n> "},
		{"carriage return", "echo a\recho b\r", "> \na\n> \nb\n> "},
		{"both", "echo a\r\necho b\r\n", "> \na\n> \nb\n> "},
		{"empty", "\n\n", "> \n> \n> "},
		{"tab", "echo\ta\n", "> \na\n> "},
		{"corrections", "echx\x7fo a\x15echo b\n", "> \nb\n> "},
		{"too many corrections", "ab\x7f\x7f\x7f\x7fecho é\x7fb\n", "> \nb\n> "},
		{"interrupt", "echo\x03echo b\n", "> ^C\n> \nb\n> "},
		{"arrows", "\x1b[A\x1b[Decho a\n", "> \na\n> "},
		{"end of input", "\x04\x04echo a\n", "> \na\n> "},
		{"escape sequences of commands", "escape\n", "> \n^[[1mbold^[[0m red\n> "},
		{"no end of line", "halfline\n", "> \nno end\n> "},
		{"pasted", "\x1b[200~echo a\necho b\n\x1b[201~", "> \na\n> \nb\n> "},
		{"long output", "block\n", "> \n" + strings.Repeat("a line\n", 30) + "> "},
		{"binary", "\x00\xff\xfe\x80echo\x00 \xc3a\n", "> \na\n> "},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, Options{Plain: true, Colour: true}, func(s *session) {
				s.send(c.input)
				if got := s.bytes(); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

func TestChangeMode(t *testing.T) {
	run(t, terminal, func(s *session) {
		s.send("stty\r")
		s.want("terminal rows 24 cols 80", ">")
		s.send("stty plain\r")
		n := len(s.bytes())
		s.send("stty\recho a\r")
		if got, want := s.bytes()[n:], "\nplain rows 24 cols 80\n> \na\n> "; got != want {
			t.Errorf("plain: got %q, want %q", got, want)
		}
		n = len(s.bytes())
		s.send("stty terminal\r")
		s.send("echo b")
		if got := s.bytes()[n:]; !strings.HasSuffix(got, "> echo b") {
			t.Errorf("terminal: got %q", got)
		}
	})
}

func TestColour(t *testing.T) {
	run(t, Options{Colour: true}, func(s *session) {
		s.send("fail\r")
		if !strings.Contains(s.bytes(), "\x1b[31mfirst line") {
			t.Errorf("no red error in %q", s.bytes())
		}
		s.shell.SetColour(false)
		n := len(s.bytes())
		s.send("fail\r")
		if strings.Contains(s.bytes()[n:], "\x1b[31m") {
			t.Errorf("coloured error in %q", s.bytes()[n:])
		}
	})
}

// Errors of reading are reported once, and reading goes on.
func TestReadErrors(t *testing.T) {
	for _, o := range []Options{terminal, plain} {
		run(t, o, func(s *session) {
			s.send("echo a")
			for range 10 {
				s.fail <- errors.New("noise")
				time.Sleep(time.Second)
			}
			s.fail <- errors.New("more noise")
			time.Sleep(time.Second)
			s.send(" b\r")
			if out := s.text(); strings.Count(out, "console: noise; trying again") != 1 || strings.Count(out, "console: more noise") != 1 {
				t.Errorf("printed\n%s", out)
			}
			s.want("a b", ">")
			s.fail <- errors.New("more noise")
			time.Sleep(time.Second)
			if out := s.text(); strings.Count(out, "console: more noise") != 2 {
				t.Errorf("an error after success was not reported:\n%s", out)
			}
		})
	}
}

// A shell ends with its context, also while a command runs.
func TestServeEnds(t *testing.T) {
	for _, o := range []Options{terminal, plain} {
		for _, input := range []string{"", "wait\r", "live\r"} {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeTerminal(24, 80)
				s := &session{f, t, New(f, o)}
				s.shell.Add(testCommands(s)...)
				ctx, cancel := context.WithCancel(t.Context())
				f.input <- []byte(input)
				time.AfterFunc(10*time.Second, cancel)
				s.shell.Serve(ctx)
				close(f.input)
				time.Sleep(time.Second)
			})
		}
	}
}

func TestExecute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeTerminal(24, 80)
		s := &session{f, t, New(f, terminal)}
		s.shell.Add(testCommands(s)...)
		s.shell.Execute("p:boot main.run")
		s.shell.Execute("block") // nobody is there to turn pages
		s.shell.Execute("nosuch")
		if out := f.text(); !strings.HasPrefix(out, "probe \"p:boot main.run\"\na line\n") || !strings.HasSuffix(out, "a line\nnosuch: no such command; help lists them") {
			t.Errorf("printed\n%s", out)
		}
		s.shell.keys.close()
		close(f.input)
		time.Sleep(time.Second)
	})
}
