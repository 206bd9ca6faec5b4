package test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestTrace(t *testing.T) {
	s := console(t)
	s.check("p main.runSort i", `kprobes/p_main_runSort_0\n`)
	hit := func(i int) string { return record("p_main_runSort_0", `main\.runSort\+0x0`, fmt.Sprintf(` i=%d`, i)) }

	// What is printed stays; cleared it is gone.
	s.check("run sort 2", `sort: .*\n`)
	s.check("trace", header+hit(0)+hit(1))
	s.check("trace", header+hit(0)+hit(1))
	s.quiet("trace clear")
	s.check("trace", header)

	// Nothing is recorded while tracing is off.
	s.quiet("tracing 0")
	s.check("tracing", `0\n`)
	s.check("run sort 2", `sort: .*\n`)
	s.check("trace", header)
	s.check("stats", `(?s).* hits 4 = recorded 2 \+ filtered 0 \+ lost 0 \+ own 2 \+ missed 0\n`)
	s.quiet("tracing 1")

	// trace_pipe takes what it prints; a line's end is a key.
	s.check("run sort 1", `sort: .*\n`)
	s.send("trace_pipe\r")
	s.expect(`\A\n` + hit(0))
	s.send("\r")
	s.expect(`\A> \z`)
	s.check("trace", header)
	s.check("stats", `(?s).*, read 1\n.*`)

	// It goes on until the key, and ^C is one.
	s.send("run sort 200 &\rtrace_pipe\r")
	s.expect(`p_main_runSort_0: \(main\.runSort\+0x0\) i=5\n`) // by another goroutine
	s.expect(`i=199\n`)
	s.send("\x03")
	s.expect(`\^C\n> \z`)

	// While somebody types.
	s.quiet("tp_printk 1")
	s.send("run sort 1\r")
	s.expect(hit(0))
	s.send("tp_printk 0\r")
	s.expect(`\A> \z`)
	s.check("run sort 1", `sort: .*\n`)
	s.check("trace", header+hit(0))

	// A buffer that is full loses the oldest records, or the new ones, and both are counted.
	s.quiet("- *", "trace clear")
	s.check("p main.fib n", `kprobes/p_main_fib_0\n`)
	for range 3 {
		s.check("run fib 3", `fib: .*\n`)
	}
	overwritten := s.do("stats")
	if figure(t, overwritten, "overrun")+figure(t, overwritten, "entries") != figure(t, overwritten, "recorded") ||
		figure(t, overwritten, "overrun") == 0 || figure(t, overwritten, "lost") != 0 {
		t.Errorf("with overwriting: %s", overwritten)
	}
	s.quiet("overwrite 0", "trace clear")
	s.check("overwrite", `0\n`)
	for range 3 {
		s.check("run fib 3", `fib: .*\n`)
	}
	kept := s.do("stats")
	recorded := figure(t, kept, "recorded") - figure(t, overwritten, "recorded")
	if figure(t, kept, "dropped") != figure(t, kept, "lost") || figure(t, kept, "lost") == 0 || recorded != figure(t, kept, "entries") {
		t.Errorf("without overwriting: %s", kept)
	}
	s.quiet("trace clear", "overwrite 1", "- *")

	// A trace is in order over the processors, and the runs of a goroutine are on its line.
	s.check("p main.run[PS]*", `kprobes/p_main_run_PS_0\n`)
	s.send("run pingpong 20 &\rrun sort 20\r")
	s.expect(`(?m)^pingpong: .*\n`)
	s.send("\r")
	s.expect(`> \z`)
	last := 0.0
	lines := strings.Split(strings.TrimSpace(s.do("trace")), "\n")
	for _, line := range lines[6:] {
		at, err := strconv.ParseFloat(regexp.MustCompile(`(\d+\.\d{6}): `).FindStringSubmatch(line)[1], 64)
		if err != nil || at < last {
			t.Errorf("%s: after %f", line, last)
		}
		last = at
	}
	if len(lines) != 6+3*20 {
		t.Errorf("%d lines", len(lines))
	}
	s.poweroff()
}

// figure adds up a figure in what stats printed.
func figure(t *testing.T, stats, name string) (sum int) {
	t.Helper()
	for _, m := range regexp.MustCompile(name+` (\d+)`).FindAllStringSubmatch(stats, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// What dump prints becomes files that other tools read.
func TestDump(t *testing.T) {
	s := console(t)
	s.check("dump", `nothing has been recorded: define an event with p or r, and let it be hit\n`)
	for _, line := range []string{"p main.handle req.Path", "r main.handle status err $dur", "stacks main.checkPage"} {
		s.do(line)
	}
	s.check("run serve 1", `serve: .*\n`)
	capture := "what was on the screen before\n> dump\n" + s.do("dump") + "> "
	s.check("dump trace", `(?s)(?:#td.*\n|#tamadump.*\n)+`)
	s.poweroff()

	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Stdin = strings.NewReader(capture)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("go", "run", "../cmd/tamadump", "-o", dir)
	text, err := os.ReadFile(filepath.Join(dir, "trace.json"))
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Name, Ph string
			Ts, Dur  float64
			Args     map[string]any
		}
	}
	if err := json.Unmarshal(text, &trace); err != nil {
		t.Fatal(err)
	}
	calls, returns, failed := 0, 0, 0
	for _, e := range trace.TraceEvents {
		switch {
		case e.Name == "p_main_handle_0":
			calls++
		case e.Name == "r_main_handle_0" && e.Dur > 0:
			returns++
			if strings.Contains(fmt.Sprint(e.Args), "no such page") {
				failed++
			}
		}
	}
	if calls != 100 || returns != 100 || failed != 4 {
		t.Errorf("%d calls, %d returns, %d failed; want 100, 100, 4", calls, returns, failed)
	}
	top := run("go", "tool", "pprof", "-top", "-sample_index=hits", filepath.Join(dir, "profile.pb.gz"))
	if !regexp.MustCompile(`(?s)main\.checkPage.*main\.handle.*main\.runServe|main\.handle.*main\.checkPage.*`).MatchString(top) {
		t.Errorf("pprof -top printed\n%s", top)
	}
}

// Adding up in the kernel.
func TestSums(t *testing.T) {
	s := console(t)
	for _, c := range []struct{ line, want string }{
		{"print", `nothing is added up: count, hist, latency and stacks do that; help sums\n`},
		{"view", `nothing is added up: .*\n`},
		{"count main.fib n", `sum/count_main_fib_0\n`},
		{"count:all main.*", `sum/all\n(?:  .*\n)*`},
		{"count:routes main.handle req.Method $comm if req.Path ~ \"/page/?\"", `sum/routes\n`},
		{"hist main.fib n", `sum/hist_main_fib_0\n`},
		{"hist:linear -l 0,20,5 main.fib n", `sum/linear\n`},
		{"hist:perfunction -l 0,2,1 main.run[JS]* $arg1:u8", `sum/perfunction\n`},
		{"latency main.runJSON", `sum/latency_main_runJSON_0\n`},
		{"latency:slow main.handle status if dur > 1", `sum/slow\n`},
		{"stacks main.fib if n == 20", `sum/stacks_main_fib_0\n`},
		{"run fib", `fib: .*\n`},
		{"run json 20", `json: .*\n`},
		{"run sort 1", `sort: .*\n`},
		{"run serve 1", `serve: .*\n`},
		{"print -n 3 count_main_fib_0", `sum/count_main_fib_0\n   COUNT  KEY\n    6765  1\n    4181  0\n    4181  2\n`},
		{"print -n 1 all", `sum/all\n   COUNT  KEY\n   21891  main\.fib\n`},
		{"print routes", `sum/routes\n   COUNT  KEY\n      14  "GET", "runtime\.main"\n       2  "POST", "runtime\.main"\n`},
		{"print hist_main_fib_0", `sum/hist_main_fib_0\n\[0\] +4181 \|@+ +\|\n\[1\] +6765 \|@{52}\|\n\[2, 4\) +6765 \|@{52}\|\n\[4, 8\) +3571 \|@+ +\|\n(?:.*\n)*count 21891, avg 2, min 0, max 20\n`},
		{"print linear", `sum/linear\n\[0, 5\) +19308 \|@{52}\|\n(?:\[.*\n){3}\[20, \.\.\.\) +1 \| +\|\ncount 21891, avg 2, min 0, max 20\n`},
		{"print perfunction", `sum/perfunction\n@\[main\.runJSON\]:\n(?:\[.*\n)+count 20, .*\n\n@\[main\.runServe\]:\n(?:\[.*\n)+count 1, .*\n\n@\[main\.runSort\]:\n(?:\[.*\n)+count 1, .*\n`},
		{"print latency_main_runJSON_0", `sum/latency_main_runJSON_0\n(?:\[[0-9.]+[nµm]?s, [0-9.]+[µm]?s\) +\d+ \|@* *\|\n)+count 20, avg [0-9.]+[µm]s, min [0-9.]+[µm]s, max [0-9.]+[µm]s\n`},
		{"print slow", `(?s)sum/slow\n@\[200\]:\n.*count 94, .*@\[404\]:\n.*count 4, .*@\[405\]:\n.*count 2, .*`},
		{"print stacks_main_fib_0", `sum/stacks_main_fib_0\n@\[\n    main\.fib\+0x0\n    main\.init\.func\d+\+0x[0-9a-f]+\n    main\.\(\*workload\)\.times\+0x[0-9a-f]+\n(?:    .*\n)*\]: 1\n`},
		{"clear routes stacks*", ``},
		{"print routes", `sum/routes\n *COUNT  KEY\n`},
		{"print stacks_main_fib_0", `sum/stacks_main_fib_0\n`},
		{"trace", header}, // nothing is recorded
		{"- routes", ``},
		{"save", `count:count_main_fib_0 main\.fib n\ncount:all main\.\*\nhist:hist_main_fib_0 main\.fib n\nhist:linear -l 0,20,5 main\.fib n\nhist:perfunction -l 0,2,1 main\.run\[JS\]\* \$arg1:u8\nlatency:latency_main_runJSON_0 main\.runJSON\nlatency:slow main\.handle status if dur > 1\nstacks:stacks_main_fib_0 main\.fib if n == 20\n# or when booting, in APPEND: .*\n`},
		{"stats", `(?s).*sum/count_main_fib_0: hits 21891 = recorded 21891 \+ filtered 0 \+ lost 0 \+ own 0 \+ missed 0\n.*sum/stacks_main_fib_0: hits 21891 = recorded 1 \+ filtered 21890 .*`},
		{"- all hist* linear latency* perfunction slow stacks*", ``},
		// What could not be read is not silently missing.
		{"hist:unread main.fib +0($arg1):u64", `sum/unread\n`},
		{"count:unread_key main.fib +0($arg1):u64", `sum/unread_key\n`},
		{"run fib", `fib: .*\n`},
		{"print unread", `sum/unread\nlost: 21891 hits, whose value could not be read\n`},
		{"print unread_key", `sum/unread_key\n   COUNT  KEY\n   21891  \(fault\)\n`},
		{"stats", `(?s).*sum/unread: hits 21891 = recorded 0 \+ filtered 0 \+ lost 21891 \+ own 0 \+ missed 0\n.*`},
	} {
		s.check(c.line, c.want)
	}
	// A view goes on until a key; each time it shows more.
	s.quiet("- *")
	s.check("count main.runSort", `sum/count_main_runSort_0\n`)
	s.send("run sort 300 &\r")
	s.expect(`> \z`)
	s.send("view count*\r")
	s.expect(`sum/count_main_runSort_0\n   COUNT  KEY\n +\d+\n\nsum/count_main_runSort_0\n   COUNT  KEY\n +\d+\n\n`)
	time.Sleep(10 * time.Millisecond)
	s.send("\r")
	s.expect(`   COUNT  KEY\n +\d+\n> \z`)
	s.poweroff()
}
