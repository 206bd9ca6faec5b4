package shell

import (
	"fmt"
	"strings"
	"testing"
)

// What a person sees of a line that is edited, and what is executed.
func TestEditing(t *testing.T) {
	long := strings.Repeat("0123456789", 12)
	for _, c := range []struct {
		name, input string
		want        []string
	}{
		{"plain line", "echo a\r", []string{"> echo a", "a", ">"}},
		{"cursor keys", "echo ac\x1b[Db\x1b[C\x1b[Dx\r", []string{"> echo abxc", "abxc", ">"}},
		{"application cursor keys", "echo ac\x1bODb\r", []string{"> echo abc", "abc", ">"}},
		{"home and end", "cho \x1b[1~e\x1b[4~a\x1b[Hx\x1b[F\x1bOH\x1b[3~\x1bOFb\r", []string{"> echo ab", "ab", ">"}},
		{"words", "echo one two\x1bb\x1bbX\x1bfY\x17\x1b[1;5CZ\r", []string{"> echo Xone twoZ", "Xone twoZ", ">"}},
		{"control D", "\x04\x04echo abc\x01\x06\x06\x06\x06\x06\x04\r", []string{"> echo bc", "bc", ">"}},
		{"kill", "echo abc\x15echo d\x02\x0bx\r", []string{"> echo x", "x", ">"}},
		{"interrupt", "echo abc\x03echo d\r", []string{"> echo abc^C", "> echo d", "d", ">"}},
		{"interrupt within the line", "echo abc\x1b[D\x1b[D\x03\r", []string{"> echo abc^C", ">", ">"}},
		{"interrupt an empty line", "\x03\x03", []string{"> ^C", "> ^C", ">"}},
		{"interrupt a sequence", "echo \x1b[1;\x03echo a\r", []string{"> echo ^C", "> echo a", "a", ">"}},
		{"sequence cut by a line end", "echo a\x1b[1;\recho b\x1b\r", []string{"> echo a", "a", "> echo b", "b", ">"}},
		{"unknown sequences", "echo \x1b[15~\x1b[M\x1bOPa\x1b[1;2R\x1b[<0;1;2mb\r", []string{"> echo ab", "ab", ">"}},
		{"endless sequence", "\x1b[" + strings.Repeat("1", 300) + "\x03echo a\r", []string{"> echo a", "a", ">"}},
		{"binary", "ec\x00h\xff\xfeo \xc3\x28\xe2\x82\u0085\ufeffa\r", []string{"> echo (a", "(a", ">"}},
		{"other scripts", "echo é·世\x7f\x1b[D\x7f\r", []string{"> echo ·", "·", ">"}},
		{"wrapped line", "echo " + long + "\r", []string{"> echo " + long[:73], long[73:], long[:80], long[80:], ">"}},
		{"carriage return and line feed", "echo a\r\necho b\n", []string{"> echo a", "a", "> echo b", "b", ">"}},
		{"history", "echo a\recho b\recho b\r\x1b[A\x1b[A\x1b[B\x1b[A\r", []string{"> echo a", "a", ">"}},
		{"back to the new line", "echo a\recho new\x1b[A\x1b[B\r", []string{"> echo new", "new", ">"}},
		{"history without blanks", "echo a\r\r   \r\x1b[A\r", []string{"> echo a", "a", ">"}},
		{"history without ^C", "\recho no\x03\x1b[Aecho a\r", []string{"> echo no^C", "> echo a", "a", ">"}},
		{"beyond the first line", "echo a\r" + strings.Repeat("\x1b[A", 9) + "\r", []string{"> echo a", "a", ">"}},
		{"no end of line", "halfline\recho a\r", []string{"> halfline", "no end", "> echo a", "a", ">"}},
		{"pasted lines", "echo a\recho b\recho c", []string{"> echo a", "a", "> echo b", "b", "> echo c"}},
		{"bracketed paste", "\x1b[200~p:x main.run\n\techo b\n-:x\necho\tc\x1b[201~ d\r", []string{
			"> p:x main.run", `probe "p:x main.run"`, ">  echo b", "b", "> -:x", `remove "-:x"`, "> echo c d", "c d", ">"}},
		{"keys in a paste", "\x1b[200~echo a\x1b[A\x04\x15\x7f\x1b[3~b\x1b[201~\r", []string{"> echo ab", "ab", ">"}},
		{"paste without an end", "\x1b[200~echo a\x03\x1b[A\x15echo b\x7fc\r", []string{"> echo a^C", "> echo c", "c", ">"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, terminal, func(s *session) {
				s.send(c.input)
				s.want(c.want...)
			})
			// Every byte by itself.
			run(t, terminal, func(s *session) {
				for i := range len(c.input) {
					s.send(c.input[i : i+1])
				}
				s.want(c.want...)
			})
		})
	}
}

// A line that is too long is refused as a whole: it is not cut.
func TestLongLines(t *testing.T) {
	for _, o := range []Options{terminal, plain} {
		for _, n := range []int{4095, 4096, 5000, 20000} {
			run(t, o, func(s *session) {
				s.send("echo " + strings.Repeat("x", n-5) + "\r")
				want := "the line is too long, and was not executed: at most 4095 characters"
				if refused := strings.Contains(strings.ReplaceAll(s.text(), "\n", ""), want); refused != (n > 4095) {
					t.Errorf("%+v: %d characters: refused: %v", o, n, refused)
				}
				s.send("echo usable\r")
				s.want("usable", ">")
			})
		}
	}
}

func TestHistoryCommand(t *testing.T) {
	for _, o := range []Options{terminal, plain} {
		run(t, o, func(s *session) {
			s.send("echo a\recho b\recho b \r\r# c\r")
			s.send("echo d\x03")
			s.send("history\r")
			s.want("   1  echo a", "   2  echo b", "   3  # c", "   4  history", ">")
			for i := range maxHistory + 10 {
				s.send(fmt.Sprintf("echo %d\r", i))
			}
			s.shell.keys.mu.Lock() // the shell waits for a line
			lines := s.shell.history.lines
			s.shell.keys.mu.Unlock()
			if len(lines) != maxHistory || lines[0] != "echo 10" {
				t.Errorf("%d lines, the first %q", len(lines), lines[0])
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		name, input string
		want        []string
	}{
		{"command", "ec\t", []string{"> echo"}},
		{"command, with a blank", "ec\tx\r", []string{"> echo x", "x", ">"}},
		{"alias", "sa\tx\r", []string{"> say x", "x", ">"}},
		{"nothing", "zz\tx", []string{"> zzx"}},
		{"no completion", "fail \t\tx", []string{"> fail x"}},
		{"unknown command", "nosuch a\t\tx", []string{"> nosuch ax"}},
		{"several commands", "li\t\t", []string{"lines      live       livepanic  livewrite", "> li"}},
		{"several, then more", "li\t\tv\t\t\t", []string{"lines      live       livepanic  livewrite", "live       livepanic  livewrite", "> live"}},
		{"first tab", "p main.r\t", []string{"> p main.run"}},
		{"second tab", "p main.r\t\t\t", []string{"main.run      main.runSort", "> p main.run"}},
		{"a symbol", "p main.runS\tx", []string{"> p main.runSort x"}},
		{"brackets", "p main.(*T).G\t\r", []string{"> p main.(*T).Get[...]", `probe "p main.(*T).Get[...]"`, ">"}},
		{"slashes", "p net\t\t\t", []string{"net/http.Get   net/http.Head", "> p net/http."}},
		{"with a suffix", "p:my net\tG\t\r", []string{"> p:my net/http.Get", `probe "p:my net/http.Get"`, ">"}},
		{"separator", "p x=net/http.H\t", []string{"> p x=net/http.Head"}},
		{"within the line", "p main.runS x\x1b[D\x1b[D\ty\r", []string{"> p main.runSorty x", `probe "p main.runSorty x"`, ">"}},
		{"whole characters", "p only.\t\x7f", []string{"> p only"}},
		{"characters of different length", "p x.\t\t·\tb\r", []string{"> p x.·b", `probe "p x.·b"`, ">"}},
		{"help", "help fil\t", []string{"> help filters"}},
		{"empty line", "\t\t", []string{"> "}},
		{"panic", "crash \tx\recho a\r", []string{"> echo a", "a", ">"}},
		{"many", "many \t\t\tx", []string{"5000 candidates, type more", "> many f()x"}},
		{"too many", "many f(\t\t\t", []string{"5000 candidates, type more", "> many f()"}},
		{"fewer", "many f()499\t\t\t", []string{
			"f()499   f()4991  f()4993  f()4995  f()4997  f()4999",
			"f()4990  f()4992  f()4994  f()4996  f()4998", "> many f()499"}},
		{"wide", "wide x\t\t\t", []string{strings.Repeat("x", 80), "1", strings.Repeat("x", 80), "2", "> wide " + strings.Repeat("x", 73), strings.Repeat("x", 7)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, terminal, func(s *session) {
				s.shell.AddTopics(Topic{Name: "filters"})
				nothing := func(*Context, string) error { return nil }
				s.shell.Add(
					&Command{Name: "crash", Run: nothing, Complete: func([]string, string) []string { panic("crash") }},
					&Command{Name: "wide", Run: nothing, Complete: func([]string, string) []string {
						return []string{strings.Repeat("x", 80) + "2", strings.Repeat("x", 80) + "1"}
					}},
					&Command{Name: "many", Run: nothing, Complete: func([]string, string) []string {
						var all []string
						for i := range 5000 {
							all = append(all, fmt.Sprintf("f()%d", i))
						}
						return all
					}},
				)
				s.send(c.input)
				s.want(strings.TrimRight(strings.Join(c.want, "\n"), " "))
			})
		})
	}
}

// What is printed beside an edited line leaves it as it is.
func TestBackground(t *testing.T) {
	for _, c := range []struct {
		name, before, printed, after string
		want                         []string
	}{
		{"empty line", "", "hit\n", "", []string{"hit", ">"}},
		{"line", "echo a", "hit 1\nhit 2\n", "b\r", []string{"hit 1", "hit 2", "> echo ab", "ab", ">"}},
		{"no end of line", "echo a", "hit", "b\r", []string{"hit", "> echo ab", "ab", ">"}},
		{"cursor within", "echo ac\x1b[D", "hit\n", "b\r", []string{"hit", "> echo abc", "abc", ">"}},
		{"wrapped", "echo " + strings.Repeat("x", 100), "hit\n", "\x15echo a\r", []string{"hit", "> echo a", "a", ">"}},
		{"wrapped, cursor in the first row", "echo " + strings.Repeat("x", 200) + "\x01", "hit\n", "", []string{"hit", "> echo " + strings.Repeat("x", 73), strings.Repeat("x", 80), strings.Repeat("x", 47)}},
		{"nothing", "echo a", "", "b\r", []string{"> echo ab", "ab", ">"}},
		{"while a command runs", "halfline\rwait\r", "hit", "\x03", []string{"> wait", "waiting", "hit", "waited", "^C", ">"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, terminal, func(s *session) {
				s.send(c.before)
				fmt.Fprint(s.shell, c.printed)
				s.send(c.after)
				s.want(c.want...)
			})
		})
	}
	run(t, plain, func(s *session) {
		fmt.Fprint(s.shell, "hit\n")
		s.send("echo a\r")
		fmt.Fprint(s.shell, "hit")
		if got, want := s.bytes(), "> \nhit\na\n> \nhit\n"; got != want {
			t.Errorf("plain: got %q, want %q", got, want)
		}
	})
}

// Lines of several writers are never torn.
func TestWholeLines(t *testing.T) {
	for _, o := range []Options{terminal, plain} {
		run(t, o, func(s *session) {
			done := make(chan bool)
			const writers, writes = 4, 50
			for i := range writers {
				go func() {
					for j := range writes {
						fmt.Fprintf(s.shell, "writer %d line %d\nand more\n", i, j)
					}
					done <- true
				}()
			}
			s.send(strings.Repeat("echo typed\rhalfline\r", 20))
			for range writers {
				<-done
			}
			s.send("\r")
			n := 0
			for _, line := range strings.Split(s.text(), "\n") {
				var i, j int
				switch {
				case line == "", line == "and more", line == "typed", line == "no end", line == ">", line == "> echo typed", line == "> halfline":
				case len(line) < 40 && strings.HasPrefix(line, "writer "):
					if k, err := fmt.Sscanf(line, "writer %d line %d", &i, &j); k != 2 || err != nil || fmt.Sprintf("writer %d line %d", i, j) != line {
						t.Errorf("torn: %q", line)
					}
					n++
				default:
					t.Errorf("torn: %q", line)
				}
			}
			if n != writers*writes {
				t.Errorf("%d of %d lines", n, writers*writes)
			}
		})
	}
}
