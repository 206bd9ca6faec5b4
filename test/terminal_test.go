package test

import (
	"regexp"
	"strings"
	"testing"
)

// terminal boots the kernel with a console for a terminal, which has 24 rows of 80 columns.
func terminal(t *testing.T, env ...string) *session {
	t.Helper()
	s := boots(t, append(env, "APPEND=CONSOLE=terminal")...)
	s.expect(ready)
	return s
}

// Line editing, history and the keys that end things elsewhere.
func TestTerminalKeys(t *testing.T) {
	s := terminal(t)
	s.send("run fob\x7f\x7fib\r") // backspace
	s.expect(`last result 6765\n> $`)
	s.send("\x1b[A\r") // up
	s.expect(`last result 6765\n> $`)
	s.send("rubbish\x03run fib\r") // ^C clears the line
	s.expect(`last result 6765\n> $`)
	s.send("\x04run fib\n") // ^D does nothing
	s.expect(`last result 6765\n> $`)
	s.send("history\r")
	s.expect(` 1  run fib\n +2  history\n> $`)
	s.poweroff()
}

// The tab key completes commands, symbols, events and workloads.
func TestTerminalCompletion(t *testing.T) {
	s := terminal(t)
	for _, c := range []struct{ keys, want string }{
		{"una\t\r", `Tamaprobe go.*\nup .*\n> $`},
		{"p main.runSo\t\r", `kprobes/p_main_runSort_0\n> $`},
		{"latency encoding/json.Unm\t\r", `sum/latency_encoding_json_Unmarshal_0\n> $`},
		{"disable p_ma\t\r", `\n> $`},
		{"events\r", `kprobes/p_main_runSort_0 +disabled .*\n`},
		{"run so\t 1\r", `sort: 1 runs .*\n> $`},
		{"help filt\t\r", `common_pid`},
		{"\rp main.run\t\t", `(?s)main\.runJSON.*main\.runSort`},
		{"\x03run fib\r", `last result 6765\n> $`},
	} {
		s.send(c.keys)
		s.expect(c.want)
	}
	s.poweroff()
}

// Long output waits for a key after each page; what streams does not.
func TestTerminalPages(t *testing.T) {
	s := terminal(t)
	s.send("stty rows 12 cols 80\r")
	s.expect(`> $`)
	page := func() string {
		out := s.expect(`--more--$`)
		return strings.TrimSuffix(out, "--more--")
	}
	s.send("funcs main.*\r")
	s.expect(`funcs main\.\*\n`)
	if n := strings.Count(page(), "\n"); n != 11 {
		t.Errorf("the first page has %d lines", n)
	}
	s.send(" ")
	if n := strings.Count(page(), "\n"); n != 11 {
		t.Errorf("the second page has %d lines", n)
	}
	s.send("\r")
	if n := strings.Count(page(), "\n"); n != 1 {
		t.Errorf("the return key shows %d lines", n)
	}
	s.send("q")
	s.expect(`> $`)
	s.send("funcs main.*\r")
	s.expect(`--more--$`)
	s.send("run fib\r") // another command instead of a key
	s.expect(`last result 6765\n> $`)
	s.send("blacklist\r")
	s.expect(`--more--$`)
	s.send("\x03")
	s.expect(`> $`)
	s.send("tp_printk 1\rp main.runSort i\rrun sort 20\r")
	s.expect(`p_main_runSort_0: \(main\.runSort\+0x0\) i=19\n`)
	s.poweroff()
}

// A view redraws itself in place, in colours, until a key; ^C stops what runs.
func TestTerminalView(t *testing.T) {
	s := terminal(t)
	s.send("hist main.fib n\rrun fib\rview\r")
	s.expect(`sum/hist_main_fib_0\n`)
	if view := s.expect(`count 21891, avg 2, min 0, max 20\n`); strings.Contains(view, "...") {
		t.Errorf("the view does not fit on the screen:\n%s", view)
	}
	s.expect(`sum/hist_main_fib_0\n`) // again, in a second
	s.send("x")
	s.expect(`(?s)count 21891.*> $`)
	s.send("p main.fib n if n > 19\rrun fib 1000 &\rtrace_pipe\r")
	s.expect(`n=20\n`)
	s.send("x")
	s.expect(`(?m)^> $`)
	s.send("run fib 1000000\r")
	s.expect(`run fib 1000000\n`)
	s.send("\x03")
	s.expect(`fib: stopped after \d+ runs\n\^C\n> $`)
	s.send("stty plain\r")
	s.expect(`> $`)
	s.check("print hist_main_fib_0", `sum/hist_main_fib_0\n(?:\[.*\n)+count \d+, .*\n`)
	s.quiet("stty terminal")
	s.send("\x03")
	s.expect(`> `)
	s.poweroff()
}

// Views are drawn in place and errors in red; plain text has neither.
func TestTerminalSequences(t *testing.T) {
	for _, c := range []struct {
		console string
		want    bool
	}{{"terminal", true}, {"plain", false}} {
		s := boots(t, "APPEND=CONSOLE="+c.console)
		s.expect(ready)
		s.send("p nosuch\rcount main.fib\rview\r")
		s.seen(`(?s)nosuch.*(?:sum/count_main_fib_0.*){3}`)
		raw := s.raw()
		s.send("x\r")
		s.poweroff()
		if red := strings.Contains(raw, "\x1b[31merror: "); red != c.want {
			t.Errorf("%s: a red error: %v in %q", c.console, red, raw)
		}
		if inPlace := regexp.MustCompile(`\x1b\[\d+A`).MatchString(raw); inPlace != c.want {
			t.Errorf("%s: drawn in place: %v in %q", c.console, inPlace, raw)
		}
		if escapes := strings.Contains(raw, "\x1b"); escapes != c.want {
			t.Errorf("%s: %q", c.console, raw)
		}
	}
}
