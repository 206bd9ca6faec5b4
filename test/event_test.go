package test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// What a person who defines events types, and sees.
func TestEvents(t *testing.T) {
	s := console(t)
	for _, c := range []struct{ line, want string }{
		// In Go's terms.
		{"p main.fib n if n == 18", `kprobes/p_main_fib_0\n`},
		{"r:work/sorted main.runSort i $ret0 $dur", `work/sorted\n`},
		{"p:body encoding/json.Unmarshal len(data) data v", `kprobes/body\n`},
		{"p main.handle s=%ax req.Method req.Path len(req.Body) if req.Method != \"GET\"", `kprobes/p_main_handle_0\n`},
		{"r main.handle req.Path status err if err ~ \"*no such*\"", `kprobes/r_main_handle_0\n`},
		{"p workload.go:47 j if j == 5", `kprobes/p_workload_go_47\n`},
		{"p main.run[JM]*", `kprobes/p_main_run_JM_0\n`},
		// Functions that are inlined.
		{"p:there sort.Ints len(x)", `kprobes/there\n`},
		{"p strings.HasPrefix prefix", `kprobes/p_strings_HasPrefix_0\n  strings\.HasPrefix is inlined at \d+ places that this does not probe: p -inline strings\.HasPrefix probes them as well\n`},
		{"p:prefix -inline strings.HasPrefix", `kprobes/prefix\n  strings\.HasPrefix is inlined at \d+ places, which are probed as well\n`},
		{"r strings.HasPrefix", `kprobes/r_strings_HasPrefix_0\n  strings\.HasPrefix is inlined at \d+ places, whose returns are not seen\n`},
		{"p errors.New", `error: errors\.New is inlined wherever it is called, at \d+ places: -inline errors\.New probes those\n.*\n.*\n`},
		{"p -inline errors.New", `kprobes/p_errors_New_0\n`},
		// As on Linux.
		{"p:fibreg main.fib+0x1a n=%ax:s64 sp=$stack word=$stack0 mem=+0(%sp):x8 who=$comm if n == 18", `kprobes/fibreg\n`},
		{"r5:limits/fib main.fib $retval:s64 if arg1 == 2584", `limits/fib\n`},
		{"p:many main.runSort a=$arg1:u8 b=@main.fib+6:x8[4] c=\\42 d=\\\"text\" e=$caller:symstr f=%ip:symbol g=$arg1:b4@0/8", `kprobes/many\n`},
		{"", ``},
		{"run fib", `fib: .*\n`},
		{"run sort 1", `sort: .*\n`},
		{"run json 1", `json: .*\n`},
		{"run serve 1", `serve: .*\n`},
	} {
		s.check(c.line, c.want)
	}
	trace := s.do("trace")
	for _, c := range []struct{ event, place, args string }{
		{"p_main_fib_0", `main\.fib\+0x0`, ` n=18`},
		{"fibreg", `main\.fib\+0x1a`, ` n=18 sp=0x[0-9a-f]+ word=0x[0-9a-f]+ mem=0x[0-9a-f]{2} who="runtime\.main"`},
		{"fib", `main\.fib\+0x[0-9a-f]+ <- main\.fib`, ` arg1=2584`},
		{"many", `main\.runSort\+0x0`, ` a=0 b=\{0x55,0x48,0x89,0xe5\} c=0x2a d="text" e="main\.\(\*workload\)\.times\+0x[0-9a-f]+" f=main\.runSort\+0x0 g=0`},
		{"p_workload_go_47", `main\.runSort\+0x[0-9a-f]+`, ` j=5`},
		{"there", `sort\.Ints\+0x0`, ` len\(x\)=1000`},
		{"sorted", `main\.\(\*workload\)\.times\+0x[0-9a-f]+ <- main\.runSort`, ` i=0 ret0="706 485966 998005" dur=\d+`},
		{"p_main_run_JM_0", `main\.runJSON\+0x0`, ``},
		{"body", `encoding/json\.Unmarshal\+0x0`, ` len\(data\)=126 data=\[123 34 78 .*\] len=126 v=\(\*main\.document\)\(0x[0-9a-f]+\)`},
		{"p_main_handle_0", `main\.handle\+0x0`, ` s=0x[0-9a-f]+ req\.Method="POST" req\.Path="/page/9" len\(req\.Body\)=3`},
		{"r_main_handle_0", `main\.runServe\+0x[0-9a-f]+ <- main\.handle`, ` req\.Path="/favicon\.ico" status=404 err=\(\*fmt\.wrapError\)\("/favicon\.ico: no such page"\)`},
		{"prefix", `main\.checkPage\+0x[0-9a-f]+`, ``},
	} {
		if want := record(c.event, c.place, c.args); !regexp.MustCompile("(?m)^" + want).MatchString(trace) {
			t.Errorf("the trace has no %s, but\n%s", want, linesWith(trace, c.event+":"))
		}
	}
	s.check("stats", `(?s).*p_main_fib_0: hits 21891 = recorded 2 \+ filtered 21889 \+ lost 0 \+ own 0 \+ missed 0\n.*fib: hits 21891 = recorded \d+ \+ filtered \d+ \+ lost 0 \+ own 0 \+ missed \d+ \+ not returned 0\n.*`)
	s.check("profile", `(?s).*  p_main_fib_0 +21891 +0\n.*  body +1 +0\n.*`)

	// What save prints defines the same events again.
	saved := s.do("save")
	lines := strings.Split(strings.TrimSpace(saved), "\n")
	option, ok := strings.CutPrefix(lines[len(lines)-1], "# or when booting, in APPEND: ")
	if !ok || len(lines) != 16 {
		t.Fatalf("save printed\n%s", saved)
	}
	before := hits.ReplaceAllString(s.do("events"), "")
	s.quiet("- *", "events", "list", "save")
	for _, line := range lines {
		if out := s.do(line); strings.Contains(out, "error:") {
			t.Errorf("%s: printed %s", line, out)
		}
	}
	if after := hits.ReplaceAllString(s.do("events"), ""); after != before {
		t.Errorf("events before\n%s\nafter\n%s", before, after)
	}
	s.poweroff()

	// So does the kernel command line.
	s = console(t, "APPEND="+option)
	if after := hits.ReplaceAllString(s.do("events"), ""); after != before {
		t.Errorf("events before\n%s\nafter booting with them\n%s", before, after)
	}
	s.poweroff()
}

// linesWith returns the first lines that hold a word.
func linesWith(text, word string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) && lines.Len() < 1000 {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// hits are counts, which change.
var hits = regexp.MustCompile(` +\d+ hits`)

func TestEventStates(t *testing.T) {
	s := console(t)
	const place = `[0-9a-f]{16}  %s  main\.fib\+0x0    %s%s hits %d missed 0\n`
	line := func(typ, flags, name string, n int) string { return fmt.Sprintf(place, typ, flags, name, n) }
	s.check("p main.fib", `kprobes/p_main_fib_0\n`)
	s.check("list", line("k", `(?:\[OPTIMIZED\] )?`, "kprobes/p_main_fib_0", 0))
	s.until("list", line("k", `\[OPTIMIZED\] `, "kprobes/p_main_fib_0", 0))
	s.check("optimization -v", `kprobes/p_main_fib_0: main\.fib\+0x0: optimized\n`)
	s.check("dis main.fib", `(?s)main\.fib:\np_main_fib_0:\n +[0-9a-f]{16} \+0 .*?\n now [0-9a-f]{16} +e9 .*? JMP 0x[0-9a-f]+\n.*`)
	s.check("dis main.fib", `main\.fib:\np_main_fib_0:\n .*\n now .*\n(?: {5}.*\n)*`) // one line is not as it was
	s.check("dis -d main.fib", `(?s)main\.fib:\np_main_fib_0:\n .*?\n   \| [0-9a-f]{16} .*?CLI\n.*`)
	s.quiet("optimization 0")
	s.check("optimization", `0\n`)
	s.check("optimization -v", `kprobes/p_main_fib_0: main\.fib\+0x0: optimization is off\n`)
	s.check("dis main.fib", `(?s)main\.fib:\np_main_fib_0:\n +[0-9a-f]{16} \+0 .*?\n now [0-9a-f]{16} +cc .*? INT \$0x3\n.*`)
	s.quiet("optimization 1")
	s.check("optimization", `1\n`)

	// fib(20) calls fib 21891 times, and the stack grows in between.
	s.check("run fib", `fib: .*last result 6765\n`)
	s.check("events", `kprobes/p_main_fib_0 +enabled +21891 hits  p:p_main_fib_0 main\.fib\n`)
	s.quiet("disable p_main_fib_0")
	s.check("list", line("k", `\[DISABLED\] `, "kprobes/p_main_fib_0", 21891))
	s.check("events", `kprobes/p_main_fib_0 +disabled +21891 hits  .*\n`)
	s.check("p main.runSort", `kprobes/p_main_runSort_0\n`)
	s.check("run fib", `fib: .*last result 6765\n`)
	s.quiet("enabled 0")
	s.check("enabled", `0\n`)
	s.quiet("enable kprobes/")
	s.check("run fib", `fib: .*last result 6765\n`)
	s.check("run sort", `sort: .*\n`)
	s.check("list", `.* main\.fib\+0x0    (?:\[OPTIMIZED\] )?kprobes/p_main_fib_0 hits 21891 missed 0\n.* main\.runSort\+0x0    (?:\[OPTIMIZED\] )?kprobes/p_main_runSort_0 hits 0 missed 0\n`)
	s.quiet("enabled 1", "trace clear")
	s.check("run sort 1", `sort: .*\n`)
	s.check("trace", header+record("p_main_runSort_0", `main\.runSort\+0x0`, ``))

	// Twice at one place, another kind, and what is removed.
	s.check("p main.runSort i", `kprobes/p_main_runSort_0_1\n`)
	s.check("r main.runSort", `kprobes/r_main_runSort_0\n`)
	s.check("jp main.runSort", `jprobes/p_main_runSort_0\n`)
	s.check("jp main.fib", `jprobes/p_main_fib_0\n`)
	s.quiet("trace clear")
	s.check("run sort 1", `sort: .*\n`)
	s.check("trace", header+record("p_main_runSort_0", `main\.runSort\+0x0`, ``)+record("p_main_runSort_0_1", `main\.runSort\+0x0`, ` i=0`)+
		record("p_main_runSort_0", `main\.runSort\+0x0`, ` i=0`)+record("r_main_runSort_0", `main\.\(\*workload\)\.times\+0x[0-9a-f]+ <- main\.runSort`, ``))
	s.check("list", `(?:.*\n)*[0-9a-f]{16}  j  main\.runSort\+0x0    .*jprobes/p_main_runSort_0 hits 1 missed 0\n.*\n`)
	s.check("- p_main_runSort_0_1", ``)
	s.check("- *runSort_0", ``)
	s.check("- p_main_runSort_0", `p_main_runSort_0: no such event; events lists them\n`)
	s.check("-:jprobes/", ``)
	s.check("-:p_main_fib_0", ``)
	s.quiet("list", "events")
	s.check("-:p_main_fib_0", `error: event p_main_fib_0 doesn't exist; events lists those there are\n  Command: -:p_main_fib_0\n +\^\n`)
	s.check("run fib", `fib: .*last result 6765\n`)
	s.check("r runtime.mcall", `error: runtime\.mcall\+0x0 cannot be probed: the function switches stacks\n.*\n.*\n`)
	s.poweroff()
}

// Lines in the style of Linux's documents, with functions of this image, do what they do there.
func TestTracefs(t *testing.T) {
	s := console(t)
	const dir = "/sys/kernel/tracing/"
	s.check("echo 'p:myprobe main.runSort dfd=%ax filename=%bx flags=%cx mode=+4($stack)' > "+dir+"kprobe_events", `kprobes/myprobe\n`)
	s.check("echo 'r:myretprobe main.runSort $retval' >> "+dir+"kprobe_events", `kprobes/myretprobe\n`)
	s.check("cat "+dir+"kprobe_events", `p:myprobe main\.runSort dfd=%ax filename=%bx flags=%cx mode=\+4\(\$stack\)\nr:myretprobe main\.runSort \$retval\n`)
	s.quiet("echo 1 > "+dir+"events/kprobes/myprobe/enable", "echo 1 > "+dir+"events/kprobes/myretprobe/enable", "echo 1 > tracing_on")
	s.check("run sort 1", `sort: .*\n`)
	s.quiet("echo 0 > " + dir + "tracing_on")
	s.check("cat "+dir+"trace", header+record("myprobe", `main\.runSort\+0x0`, ` dfd=0x0 filename=0x[0-9a-f]+ flags=0x[0-9a-f]+ mode=0x[0-9a-f]+`)+
		record("myretprobe", `main\.\(\*workload\)\.times\+0x[0-9a-f]+ <- main\.runSort`, ` arg1=0x[0-9a-f]+`))
	s.check("cat "+dir+"kprobe_profile", `  myprobe +1 +0\n  myretprobe +1 +0\n`)
	s.quiet("echo 0 > " + dir + "events/kprobes/myprobe/enable")
	s.check("cat "+dir+"events/kprobes/enable", "X\n")
	s.check("cat /sys/kernel/debug/kprobes/list", `[0-9a-f]{16}  k  main\.runSort\+0x0    \[DISABLED\].*\n[0-9a-f]{16}  r  main\.runSort\+0x0    .*\n`)
	s.check("cat "+dir+"events/kprobes/myprobe/filter", "none\n")
	s.quiet("echo 'dfd != 0' > " + dir + "events/kprobes/myprobe/filter")
	s.check("cat "+dir+"events/kprobes/myprobe/filter", "dfd != 0\n")
	s.check("events", `kprobes/myprobe +disabled +0 hits  p:myprobe main\.runSort dfd=%ax filename=%bx flags=%cx mode=\+4\(\$stack\) if dfd != 0\n.*\n`)
	s.check("echo 'dfd >' > "+dir+"events/kprobes/myprobe/filter", `error: Value is not specified\n  Command: dfd >\n {15,17}\^\n`)
	s.check("echo 1 > "+dir+"events/kprobes/filter", `kprobes/ means 2 events: name one, as in events/GROUP/EVENT/filter\n`)
	s.check("echo 0 > enable", `enable: no such file; there are .*\n`)
	s.check("cat filter", `filter: no such file; there are .*\n`)
	s.check("echo 1 > "+dir+"events/kprobes/nosuch/filter", `kprobes/nosuch: no such event; events lists them\n`)
	s.quiet("echo 0 > " + dir + "events/kprobes/myprobe/filter")
	s.check("cat "+dir+"events/kprobes/myprobe/filter", "none\n")
	s.quiet("echo -:myprobe >> " + dir + "kprobe_events")
	s.check("cat "+dir+"kprobe_events", `r:myretprobe main\.runSort \$retval\n`)
	s.quiet("echo > "+dir+"kprobe_events", "events")
	s.check("cat nosuch", `nosuch: no such file; there are .*\n`)
	s.poweroff()
}

func TestBootOptions(t *testing.T) {
	// Commas for blanks, as in Linux's document; both words of two definitions.
	s := boots(t, "APPEND=kprobe_event=p:first,main.fib,n=%ax:s64,if,n>18;r:last,main.fib,$retval:s64,if,arg1>4000 'kprobe_event=p nosuch' tp_printk nmi=report rubbish GOGC=50")
	s.expect(`Type help for help\.\nkprobes/first\nkprobes/last\nerror: .*there is no function nosuch.*\n  Command: p nosuch\n +\^\ntamaprobe: unknown option "rubbish" on the kernel command line\n> \z`)
	s.check("events", `kprobes/first +enabled .*p:first main\.fib n=%ax:s64 if n>18\nkprobes/last +enabled .*r:last main\.fib \$retval:s64 if arg1>4000\n`)
	s.check("tp_printk", "1\n")
	s.send("run fib\r")
	s.expect(`first: \(main\.fib\+0x0\) n=20\n`)
	s.expect(`last: \(main\.\S+ <- main\.fib\) arg1=6765\n`)
	s.send("tp_printk 0\runame\r")
	s.expect(`command line \["kprobe_event=.*" "tp_printk" "nmi=report" "rubbish"\]`)
	s.send("poweroff\r")
	if code := s.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Bad input gives one clear error, and changes nothing.
func TestConsoleErrors(t *testing.T) {
	s := console(t)
	const atPlace = `\n  Command: .*\n +\^`
	s.check("p:kept main.fib n", `kprobes/kept\n`)
	s.check("count:sum main.fib", `sum/sum\n`)
	before := s.do("events") + s.do("save")
	for _, c := range []struct{ line, want string }{
		{"bogus", `bogus: no such command; help lists them`},
		{"Help", `Help: no such command; did you mean help\?`},
		{"help me", `me: no such command or topic; help lists them`},
		{"help p r", `usage: help \[COMMAND\|TOPIC\]`},
		{"uname -a", `usage: uname`},
		{"list all", `usage: list`},
		{"funcs a b", `usage: funcs \[GLOB\]`},
		{"funcs nosuch*", `nosuch\*: no function matches`},
		{"funcs [", `\[: no function matches`},
		{"vars", `usage: vars SYMBOL\[\+OFF\]\|ADDR`},
		{"vars nosuch", `.*there is no function nosuch.*`},
		{"dis", `usage: dis \[-d\] SYMBOL\|ADDR`},
		{"dis -d", `usage: dis \[-d\] SYMBOL\|ADDR`},
		{"dis nosuch", `nosuch: no such symbol`},
		{"dis 0x10", `0x10: not in the text`},
		{"dis 0xzz", `0xzz: not a number \(invalid syntax\)`},
		{"peek", `usage: peek ADDR\|SYMBOL \[LEN\]`},
		{"peek nosuch", `nosuch: no such symbol`},
		{"peek 0x0", `0000000000000000 +\n0x0: cannot be read`},
		{"peek 0x123456789000", `0000123456789000 +\n0x123456789000: cannot be read`},
		{"peek main.fib 0", `0: the length must be 1 to 4096`},
		{"peek main.fib 5000", `5000: the length must be 1 to 4096`},
		{"run nosuch", `nosuch: no such workload; run lists them`},
		{"run fib 0", `0: the number of runs must be 1 to 1000000000`},
		{"run fib -1", `-1: not a number \(invalid syntax\)`},
		{"run fib 1 2", `usage: run \[WORKLOAD \[N\] \[&\]\]`},
		{"poweroff now", `usage: poweroff`},
		{"reboot now", `usage: reboot`},
		{"enabled 2", `usage: enabled \[0\|1\]`},
		{"enabled 0 1", `usage: enabled \[0\|1\]`},
		{"blacklist x", `usage: blacklist`},
		{"optimization 2", `usage: optimization \[0\|1\|-v\]`},
		{"jp nosuch", `nosuch: this kernel has no mirror function for it; jp lists those it has`},
		{"jp a b", `usage: jp \[SYMBOL\]`},
		{strings.Repeat("x", 70), `x{70}: no such command; help lists them`},
		{strings.Repeat("x", 5000), `the line is too long, and was not executed: at most 4095 characters`},

		// Definitions: where.
		{"p", `error: Probe point is not specified` + atPlace},
		{"r", `error: Probe point is not specified` + atPlace},
		{"p nosuch", `error: .*there is no function nosuch` + atPlace},
		{"p nosuch*", `error: .*none matches it as a pattern` + atPlace},
		{"p main.fib+1", `error: main\.fib\+0x1 cannot be probed: not the start of an instruction` + atPlace},
		{"p main.fib+0x100000", `error: .*cannot be probed: .*` + atPlace},
		{"p main.fib+x", `error: .*\+x is not an offset.*` + atPlace},
		{"p main.fib+99999999999999999999", `error: .*offset.*` + atPlace},
		{"p 0", `error: 0x0 cannot be probed: the address is not in the text` + atPlace},
		{"p 0xffffffffffffffff", `error: 0xffffffffffffffff cannot be probed: the address is not in the text` + atPlace},
		{"p 12345678901234567890123", `error: .*is not a number of 64 bits` + atPlace},
		{"p runtime.abort", `error: runtime\.abort\+0x0 cannot be probed: a software interrupt enters the trap path` + atPlace},
		{"p tamaprobe/kprobes.breakpoint", `error: tamaprobe/kprobes\.breakpoint cannot be probed: .*` + atPlace},
		{"p tamaprobe/arch/amd64.breakpointEntry", `error: tamaprobe/arch/amd64\.breakpointEntry cannot be probed: .*` + atPlace},
		{"p tamaprobe/arch/amd64.tryLoad[6F]*", `error: none of \d+ places can be probed: .*` + atPlace},
		{"p workload.go:1", `error: workload\.go:1 has no code.*` + atPlace},
		{"p workload.go:9999", `error: workload\.go:9999 has no code; the last line that has is \d+` + atPlace},
		{"p nosuch.go:3", `error: no code is from a file nosuch\.go` + atPlace},
		{"p -inline 0x1010000", `error: -inline takes a function.*` + atPlace},
		{"p -foo main.fib", `error: Unknown option -foo.*` + atPlace},
		{"r main.fib+4", `error: Retprobe address must be a function entry: give the function alone` + atPlace},
		{"r workload.go:40", `error: Retprobe address must be a function entry.*` + atPlace},
		{"r runtime.mcall", `error: runtime\.mcall\+0x0 cannot be probed: the function switches stacks` + atPlace},
		{"r -inline errors.New", `error: -inline is not for return probes.*` + atPlace},
		// Names.
		{"p:kept main.runSort", `error: Event kprobes/kept exists already: -:kprobes/kept removes it` + atPlace},
		{"p:1a main.fib", `error: Event name must follow the same rules as C identifiers` + atPlace},
		{"p:" + strings.Repeat("x", 64) + " main.fib", `error: Event name is too long.*` + atPlace},
		{"p main.fib 1a=n", `error: Argument name must follow the same rules as C identifiers` + atPlace},
		{"p main.fib n n", `error: This argument name is already used: n` + atPlace},
		// What to record.
		{"p main.fib nosuch", `error: .*main\.fib has no variable nosuch here; it has n` + atPlace},
		{"p encoding/json.Unmarshal data.x", `error: .*` + atPlace},
		{"p encoding/json.Unmarshal *data", `error: .*` + atPlace},
		{"p main.fib %foo", `error: Invalid register name: %foo` + atPlace},
		{"p main.fib $arg10", `error: Invalid argument number.*` + atPlace},
		{"p main.fib $ret0", `error: \$ret0 is not available on probe.*` + atPlace},
		{"r main.fib $ret1", `error: .*` + atPlace},
		{"p main.fib $foo", `error: Invalid \$-variable specified.*` + atPlace},
		{"p main.fib @nosuch", `error: Invalid memory address: there is no symbol nosuch` + atPlace},
		{"p main.fib n:u7", `error: Unknown type is specified.*` + atPlace},
		{"p encoding/json.Unmarshal data:u8", `error: Unknown type is specified: only integers and pointers.*` + atPlace},
		{"p main.fib +8(%ax", `error: .*` + atPlace},
		// Filters.
		{"p main.fib n if", `error: No filter expression: if needs a condition` + atPlace},
		{"p main.fib n if n", `error: Operator is not specified.*` + atPlace},
		{"p main.fib n if n ==", `error: Value is not specified` + atPlace},
		{"p main.fib n if nosuch == 1", `error: .*no variable nosuch here; it has n` + atPlace},
		{"p main.fib n if n == \"x\"", `error: Value of another type.*` + atPlace},
		{"p main.fib n if n > 3 &&", `error: Field is not specified.*` + atPlace},
		{"p main.fib n if (n > 3", `error: Parenthesis is not closed` + atPlace},
		// Sums.
		{"count", `error: Probe point is not specified` + atPlace},
		{"count:sum main.fib", `error: Event sum/sum exists already.*` + atPlace},
		{"count: main.fib", `count:: there is no name behind the colon`},
		{"count encoding/json.Unmarshal data", `error: data cannot be a key.*` + atPlace},
		{"hist main.fib", `error: hist needs the value.*` + atPlace},
		{"hist main.handle req.Method", `error: req\.Method is no integer: hist needs one` + atPlace},
		{"hist -l main.fib n", `error: main\.fib: not LOW,HIGH,STEP, three numbers` + atPlace},
		{"hist -l 1,1,1 main.fib n", `error: histogram from 1 to 1: .*` + atPlace},
		{"hist -l", `error: -l needs LOW,HIGH,STEP` + atPlace},
		{"latency main.fib+4", `error: Retprobe address must be a function entry.*` + atPlace},
		{"stacks main.fib n", `error: stacks takes no arguments: it counts by call stack` + atPlace},
		{"view nosuch", `nosuch: no such event; events lists them`},
		{"view kept", `kprobes/kept adds nothing up: trace shows its hits`},
		{"print -n", `usage: print \[-n TOP\] \[EVENT\.\.\.\]`},
		{"print -n x", `x: not a number of lines`},
		{"print -n 0", `0: not a number of lines`},
		{"clear", `usage: clear EVENT\.\.\.`},
		{"clear nosuch", `nosuch: no such event; events lists them`},
		// What is there.
		{"-", `usage: - EVENT \| -:\[GRP/\]EVENT`},
		{"- nosuch", `nosuch: no such event; events lists them`},
		{"- kept nosuch", `nosuch: no such event; events lists them`},
		{"-:nosuch", `error: event nosuch doesn't exist; events lists those there are` + atPlace},
		{"-:nosuch/", `error: there is no event in group nosuch; events lists them` + atPlace},
		{"-:", `error: Event name is not specified` + atPlace},
		{"enable", `usage: enable EVENT\.\.\.`},
		{"enable nosuch", `nosuch: no such event; events lists them`},
		{"disable nosuch", `nosuch: no such event; events lists them`},
		{"disable kept nosuch", `nosuch: no such event; events lists them`},
		{"events x", `usage: events`},
		{"save x", `usage: save`},
		{"profile x", `usage: profile`},
		{"error_log x", `usage: error_log \[clear\]`},
		{"trace x", `usage: trace \[clear\]`},
		{"trace clear x", `usage: trace \[clear\]`},
		{"trace_pipe x", `usage: trace_pipe`},
		{"tracing 2", `usage: tracing \[0\|1\]`},
		{"overwrite x", `usage: overwrite \[0\|1\]`},
		{"tp_printk on", `usage: tp_printk \[0\|1\]`},
		{"dump x", `usage: dump \[trace\|profile\]`},
		{"dump profile", `nothing has been recorded: .*`},
		{"stty rows x", `.*`},
	} {
		s.check(c.line, c.want+`\n`)
	}
	if after := s.do("events") + s.do("save"); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	// The log has the last eight.
	log := s.do("error_log")
	if n := strings.Count(log, "trace_kprobe: error: "); n != 8 {
		t.Errorf("error_log has %d errors:\n%s", n, log)
	}
	s.check("error_log", `(?s).*\[ +\d+\.\d{6}\] trace_kprobe: error: Event name is not specified\n  Command: -:\n {13}\^\n`)
	s.quiet("error_log clear", "error_log")
	s.check("run fib", `fib: .* 6765\n`)
	s.check("list", `(?:.* hits 21891 missed 0\n){2}`)
	s.poweroff()
}

// An error's caret is below what is wrong.
func TestCaret(t *testing.T) {
	s := console(t)
	for _, marked := range []string{
		"p ^nosuch n", "p main.fib n ^x", "p main.fib n if ^x > 3", "p main.fib n if n == ^abc",
		"count main.fib ^x", "count:name main.fib n ^x if n > 3", "hist:abc ^nosuch", "hist -l 0,10,1 main.fib ^x", "hist -l ^1,2 main.fib n",
		"hist:name -l  ^5,1,1 main.fib n", "hist -l^", "latency ^nosuch",
		"stacks main.fib ^n", "p -inline ^nosuch",
	} {
		line := strings.Replace(marked, "^", "", 1)
		out := strings.Split(s.do(line), "\n")
		if len(out) != 4 || out[1] != "  Command: "+line || strings.Index(out[2], "^") != len("  Command: ")+strings.Index(marked, "^") {
			t.Errorf("%s: printed\n%s", marked, strings.Join(out, "\n"))
		}
	}
	s.poweroff()
}

// A long paste arrives whole.
func TestPaste(t *testing.T) {
	s := console(t)
	var lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&lines, "p:e%d main.fib n=%%ax:s64 if n > %d\n", i, i)
	}
	s.send(lines.String() + "# end\nuname\n")
	s.expect(`(?m)^up `)
	s.expect(`> \z`)
	if n := strings.Count(s.do("events"), "\n"); n != 40 {
		t.Errorf("%d events", n)
	}
	s.check("run fib", `fib: .* 6765\n`)
	s.quiet("- *", "list")
	s.poweroff()
}
