package shell

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pass lets time pass.
func (s *session) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// ^C stops a command that looks for it, and ends the output of one that does not.
func TestInterrupt(t *testing.T) {
	for _, o := range []Options{terminal, plain} {
		run(t, o, func(s *session) {
			s.send("wait\r")
			s.pass(time.Hour)
			s.want("waiting")
			s.send("\x03")
			s.want("waited", "^C", ">")

			s.send("sleep\r")
			s.send("\x03")
			s.pass(10 * time.Second)
			if strings.Contains(s.text(), "slept") {
				t.Errorf("goes on after ^C:\n%s", s.text())
			}
			s.want("^C", ">")
			s.send("echo usable\r")
			s.want("usable", ">")
		})
		// ^C right behind the line, and a line before it that is meant by it too.
		run(t, o, func(s *session) {
			s.send("wait\recho no\r\x03echo yes\r")
			s.want("yes", ">")
			if strings.Contains(s.text(), "\nno") {
				t.Errorf("executed what was before ^C:\n%s", s.text())
			}
		})
	}
}

// What is typed while a command runs is for the next prompt. ^C drops it.
func TestTypeAhead(t *testing.T) {
	for _, o := range []Options{terminal, plain} {
		run(t, o, func(s *session) {
			s.send("sleep\r")
			s.send("echo a\rec")
			s.send("ho \x1b[")
			s.send("Db\x1b[C\r")
			s.pass(10 * time.Second)
			if o.Plain {
				s.want("slept", ">", "a", ">", "b", ">")
			} else {
				s.want("slept", "> echo a", "a", "> echob", "echob: no such command; did you mean echo?", ">")
			}
			s.send("sleep\r")
			s.send("echo no\r\x03")
			s.send("echo yes\r")
			s.pass(10 * time.Second)
			s.want("yes", ">")
			if strings.Contains(s.text(), "\nno") {
				t.Errorf("executed what was before ^C:\n%s", s.text())
			}
		})
		// Without bounds it would take all memory.
		run(t, o, func(s *session) {
			s.send("sleep\r")
			for range 300 {
				s.send(strings.Repeat("#"+strings.Repeat("x", 249)+"\r", 20))
			}
			s.pass(10 * time.Second)
			if n := strings.Count(s.text(), "bytes typed ahead, the rest is lost"); n != 1 {
				t.Errorf("loss was told %d times", n)
			}
			s.send("\recho usable\r")
			s.want("usable", ">")
		})
	}
}

// A large paste at the prompt loses nothing.
func TestLargePaste(t *testing.T) {
	for _, o := range []Options{terminal, plain} {
		run(t, o, func(s *session) {
			const n = 3000
			var paste strings.Builder
			for i := range n {
				fmt.Fprintf(&paste, "echo %d %s\r\n", i, strings.Repeat("x", 50))
			}
			s.send(paste.String())
			lines := strings.Split(s.text(), "\n")
			got := 0
			for _, line := range lines {
				if strings.HasPrefix(line, fmt.Sprintf("%d xxx", got)) {
					got++
				}
			}
			if got != n {
				t.Errorf("%d of %d lines were executed", got, n)
			}
		})
	}
}

func numbered(from, to int) []string {
	var lines []string
	for i := from; i <= to; i++ {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	return lines
}

func TestPages(t *testing.T) {
	for _, c := range []struct {
		name, line string
		keys       []string
		want       []string // at the end
		never      string
	}{
		{"fits", "lines 23\r", nil, append(numbered(1, 23), ">"), more},
		{"first page", "lines 100\r", nil, append(append([]string{"> lines 100"}, numbered(1, 23)...), more), "line 24"},
		{"next page", "lines 100\r", []string{" "}, append(numbered(1, 46), more), "line 47"},
		{"next line", "lines 100\r", []string{"\r", "\r"}, append(numbered(1, 25), more), "line 26"},
		{"to the end", "lines 100\r", []string{" ", " ", " ", " "}, append(numbered(1, 100), ">"), more},
		{"quit", "lines 100\r", []string{"q"}, append(numbered(1, 23), ">"), "line 24"},
		{"escape", "lines 100\r", []string{"\x1b"}, append(numbered(1, 23), ">"), "line 24"},
		{"arrow goes on at the prompt", "lines 100\r", []string{"\x1b[A"}, append(numbered(1, 23), "> lines 100"), "line 24"},
		{"interrupt", "lines 100\r", []string{"\x03"}, append(numbered(1, 23), "^C", ">"), "line 24"},
		{"next command", "lines 100\r", []string{"e", "cho a\r"}, append(numbered(1, 23), "> echo a", "a", ">"), "line 24"},
		{"lines wait", "lines 30\recho a\r", nil, append(numbered(28, 30), "> echo a", "a", ">"), more},
		{"pasted meanwhile", "lines 30\r", []string{"\x1b[200~echo a\recho b\r\x1b[201~", " "}, append(numbered(28, 30), "> echo a", "a", "> echo b", "b", ">"), more},
		{"one write", "block\r", nil, []string{"> block", strings.TrimSuffix(strings.Repeat("a line\n", 23), "\n"), more}, ""},
		{"help", "help\r", []string{"q"}, []string{">"}, more},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, terminal, func(s *session) {
				s.send(c.line)
				for _, k := range c.keys {
					s.send(k)
					s.pass(escapeTime)
				}
				s.want(c.want...)
				if c.never != "" && strings.Contains(s.text(), c.never) {
					t.Errorf("shows %q:\n%s", c.never, s.text())
				}
				s.send("\x03")
				s.send("echo usable\r")
				s.want("usable", ">")
			})
		})
	}
	run(t, terminal, func(s *session) {
		s.send("lines 100\r")
		fmt.Fprint(s.shell, "hit\n")
		s.want("line 23", "hit", more)
		s.send("\r")
		s.want("line 23", "hit", "line 24", more)
	})
	run(t, plain, func(s *session) {
		s.send("lines 100\r")
		s.want(append(numbered(1, 100), ">")...)
	})
}

// The size is what the terminal says, if it does within a short time, and what stty says.
func TestSize(t *testing.T) {
	page := func(s *session, want int) {
		s.t.Helper()
		s.send("lines 100\r")
		s.want(append(append([]string{"> lines 100"}, numbered(1, want)...), more)...)
		s.send("q")
	}
	runSize(t, terminal, 50, 132, func(s *session) { page(s, 49) })
	runSize(t, terminal, 5, 40, func(s *session) {
		page(s, 4)
		s.send("stty rows 10 cols 100\r")
		page(s, 9)
		s.screen.height, s.screen.width = 12, 80
		s.send("stty\r") // asks again
		s.want("terminal rows 12 cols 80", ">")
		page(s, 11)
	})
	for _, answer := range []string{"", "\x1b[0;0R", "\x1b[99999;99999R", "\x1b[R", "\x1b[;R", "\x1b[12R", "\x1b[-1;5R", "\x1b[99999999999999999999;1R"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeTerminal(24, 80)
			s := &session{f, t, New(f, terminal)}
			s.shell.Add(testCommands(s)...)
			go s.shell.Serve(t.Context())
			s.pass(0)
			s.send(answer)
			s.pass(askTime)
			s.want(">")
			page(s, 23)
			s.shell.keys.close()
			close(f.input)
			time.Sleep(time.Second)
		})
	}
}

// A late answer counts; F3 with a modifier looks like one, and does not.
func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeTerminal(24, 80)
		s := &session{f, t, New(f, terminal)}
		go s.shell.Serve(t.Context())
		s.pass(time.Second)
		s.send("ech")
		s.send("\x1b[30;90R")
		s.send("\x1b[40;60R")
		if got, want := s.shell.screen(), (size{30, 90}); got != want {
			t.Errorf("size %v, want %v", got, want)
		}
		s.want("> ech")
		s.shell.keys.close()
		close(f.input)
		time.Sleep(time.Second)
	})
}

func TestLive(t *testing.T) {
	for _, c := range []struct {
		key  string
		want []string
	}{
		{"x", []string{">"}},
		{"\r", []string{">"}},
		{"\r\n", []string{">"}},
		{" ", []string{">"}},
		{"\x1b", []string{">"}},
		{"\x1b[A", []string{">"}},
		{"\x1bOP", []string{">"}},
		{"\x1b[15~", []string{">"}},
		{"\x1a", []string{">"}},
		{"é", []string{">"}},
		{"\x03", []string{"^C", ">"}},
		{"xecho a\r", []string{"> echo a", "a", ">"}},
	} {
		run(t, terminal, func(s *session) {
			s.send("live\r")
			s.want("> live", "frame 1", "below")
			s.pass(time.Second)
			s.want("> live", "frame 2", "below")
			s.pass(10 * time.Second)
			s.want("> live", "frame 12", "below")
			s.send(c.key)
			s.pass(escapeTime)
			s.want(append([]string{"> live", "frame 13", "below", "live ended"}, c.want...)...)
			s.pass(10 * time.Second)
			s.send("echo usable\r")
			s.want("usable", ">")
		})
	}
}

// Lines that are printed beside a view go above it, and it stays in place when the
// screen scrolls.
func TestLiveBeside(t *testing.T) {
	run(t, terminal, func(s *session) {
		s.send("lines 22\r")
		s.send("live\r")
		fmt.Fprint(s.shell, "hit 1\n")
		s.pass(time.Second)
		fmt.Fprint(s.shell, "hit 2\nhit 3")
		s.pass(time.Second)
		s.want("> live", "hit 1", "hit 2", "hit 3", "frame 3", "below")
		s.send(" ")
		s.want("> live", "hit 1", "hit 2", "hit 3", "frame 4", "below", "live ended", ">")

		s.send("livewrite\r")
		s.pass(time.Second)
		s.want("> livewrite", "beside", "beside", "in place")
		s.send(" ")
		s.want("beside", "beside", "beside", "in place", ">")
	})
}

// Of a view that is larger than the screen the beginning is shown, at the end all of it.
func TestLiveTall(t *testing.T) {
	runSize(t, terminal, 10, 40, func(s *session) {
		s.send("tall\r")
		s.pass(5 * time.Second)
		var want []string
		for i := range 8 {
			want = append(want, fmt.Sprintf("%d %s...", i, strings.Repeat("x", 34)))
		}
		s.want(append(append([]string{"> tall"}, want...), "... and 32 more lines")...)
		s.send(" ")
		s.want("0 "+strings.Repeat("x", 38), strings.Repeat("x", 40), strings.Repeat("x", 40), strings.Repeat("x", 40), strings.Repeat("x", 40), "xx", "1 "+strings.Repeat("x", 38), strings.Repeat("x", 40), strings.Repeat("x", 40), strings.Repeat("x", 40), strings.Repeat("x", 40), "xx", more)
		s.send("q")
		s.want(">")
	})
}

func TestLivePlain(t *testing.T) {
	for _, c := range []struct {
		name, input string
		key         string
		want        string
	}{
		{"key", "live\n", "\n", "> \nframe 1\nbelow\n\nframe 2\nbelow\n\nframe 3\nbelow\nlive ended\n> "},
		{"^C", "live\n", "\x03", "> \nframe 1\nbelow\n\nframe 2\nbelow\n\nframe 3\nbelow\nlive ended\n^C\n> "},
		{"key typed ahead", "live\n\n", "echo a\n", "> \nframe 1\nbelow\nlive ended\n> \na\n> "},
		{"line typed ahead", "live\necho a\n", "\n", "> \nframe 1\nbelow\n\nframe 2\nbelow\n\nframe 3\nbelow\nlive ended\n> \na\n> "},
		{"stream", "stream\n\n", "", "> \nitem 1\nitem 2\nstream ended\n> "},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, plain, func(s *session) {
				s.send(c.input)
				s.pass(2500 * time.Millisecond)
				s.send(c.key)
				if got := s.bytes(); got != c.want {
					t.Errorf("got %q\nwant %q", got, c.want)
				}
			})
		})
	}
}

func TestStream(t *testing.T) {
	for _, key := range []string{"x", "\x1b[B", "\x03"} {
		run(t, terminal, func(s *session) {
			s.send("stream\r")
			s.pass(5050 * time.Millisecond)
			fmt.Fprint(s.shell, "hit\n")
			s.want("item 50", "item 51", "hit") // more than a page
			s.send(key)
			want := []string{"item 51", "hit", "item 52", "stream ended"}
			if key == "\x03" {
				want = append(want, "^C")
			}
			s.want(append(want, ">")...)
		})
	}
}

// A key that answers the first thing that is shown ends it.
func TestStreamAnswered(t *testing.T) {
	for _, options := range []Options{plain, terminal} {
		run(t, options, func(s *session) {
			shown := 0
			s.shell.Add(&Command{Name: "answered", Run: func(c *Context, _ string) error {
				c.Stream(time.Second, func(io.Writer) {
					if shown++; shown == 1 {
						s.shell.keys.feed('x')
					}
				})
				return nil
			}})
			s.send("answered\r")
			s.pass(time.Minute)
			if shown != 2 {
				t.Errorf("it was shown %d times, want 2: at the beginning and at the end", shown)
			}
		})
	}
}

// ESC by itself is a key, and what follows is not part of it. An ESC that nobody waits for
// any more is forgotten.
func TestEscape(t *testing.T) {
	run(t, terminal, func(s *session) {
		s.send("live\r")
		s.send("\x1b")
		s.pass(escapeTime)
		s.want("live ended", ">")
		s.send("funcs")
		s.want("> funcs")
		s.send("\x15live\r")
		s.send("\x1b")
		s.pass(escapeTime)
		s.send("[Aecho a\r")
		s.want("live ended", "> echo a", "a", ">")
		s.send("live\r")
		s.send("x\x1b")
		s.pass(escapeTime)
		s.send("echo b\r")
		s.want("live ended", "> echo b", "b", ">")
		s.send("\x1b[200~")
		s.send("live\r")
		s.send("echo c\r\x1b[201~")
		s.pass(time.Second)
		s.want("> live", "frame 8", "below")
		s.send(" ")
		s.want("live ended", "> echo c", "c", ">")
	})
}

// A command's keys; those that it does not take are for the prompt.
func TestKeys(t *testing.T) {
	run(t, terminal, func(s *session) {
		s.send("keys\r")
		s.send("a\x1b[A")
		s.want(`key "a"`, `key "\x1b[A"`)
		s.send("echo left\r")
		s.pass(2 * time.Second)
		s.want(`key "\x1b[A"`, "> echo left", "left", ">")
	})
}

// Whatever is sent, the shell can be used afterwards.
func FuzzShell(f *testing.F) {
	for _, seed := range []string{
		"live\r", "lines 100\r \rq", "stream\rx", "\x1b[200~echo a\r", "p main.\t\tr\t\t", "\x1b[", "\x1bO", "\x1b", "echo \xe2\x82",
		"stty plain\rlive\r", "stty rows 2 cols 20\rhelp\r\t\t", "keys\r", "\x0c\x14\x17\x0b\x10\x0e", "panic\r", "wait\r\x03",
		"stty cols 20\recho aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\x01\x1b[3~\x14\x15\x1b[A\x1bb\x17",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, input []byte, whole bool) {
		for _, o := range []Options{terminal, plain} {
			run(t, o, func(s *session) {
				if whole {
					s.send(string(input))
				} else {
					for _, b := range input[:min(len(input), 200)] {
						s.send(string([]byte{b}))
					}
				}
				fmt.Fprint(s.shell, "beside\n")
				s.pass(10 * time.Second)
				s.send("\x03") // of a command, or a sequence
				s.pass(10 * time.Second)
				s.send("\x03") // of what came behind that
				s.pass(10 * time.Second)
				s.send("\recho usable\r")
				words := strings.Fields(s.text())
				if n := len(words); words[n-2] != "usable" || words[n-1] != ">" {
					t.Errorf("%+v: after %q, %v, shows\n%s", o, input, whole, s.text())
				}
			})
		}
	})
}
