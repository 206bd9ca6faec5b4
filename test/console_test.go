package test

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// console boots the kernel as a user does.
func console(t *testing.T, env ...string) *session {
	t.Helper()
	s := start(t, env, "make", "-s", "-C", "..", "run")
	s.expect(`Type help for help\.\n> $`)
	return s
}

// poweroff ends the session, which must be in good order.
func (s *session) poweroff() {
	s.t.Helper()
	s.send("poweroff\r")
	if code := s.wait(); code != 0 {
		s.t.Errorf("exit code %d", code)
	}
}

// check compares the output of a command with a regular expression for all of it.
func (s *session) check(line, pattern string) {
	s.t.Helper()
	if out := s.do(line); !regexp.MustCompile(`\A(?:` + pattern + `)\z`).MatchString(out) {
		s.t.Errorf("%s: printed\n%s\nwant %s", line, out, pattern)
	}
}

// until gives a command again and again until its output matches.
func (s *session) until(line, pattern string) {
	s.t.Helper()
	var out string
	for range 50 {
		if out = s.do(line); regexp.MustCompile(`\A(?:` + pattern + `)\z`).MatchString(out) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.t.Errorf("%s: printed\n%s\nwant %s", line, out, pattern)
}

func TestConsole(t *testing.T) {
	s := console(t)
	for _, c := range []struct{ line, want string }{
		{"help", `(?s)help .*\nuname .*\nfuncs .*\nreboot .*\n`},
		{"uname", `Tamaprobe go1\.26\.8, tamago v1\.26\.6, 2 CPUs \(.*\), \d+ MiB, TSC .* MHz\nup .*, \d+ functions, command line \[\]\n`},
		{"funcs main.fib", `[0-9a-f]{16} +\d+ main\.fib\n`},
		{"funcs *tamago*UART*x", `(?:[0-9a-f]{16} +\d+ github.com/usbarmory/tamago/soc/intel/uart\.\(\*UART\)\.[RT]x\n){2}`},
		{"dis main.fib", `(?s)main\.fib:\n +[0-9a-f]{16} \+0 +49 3b 66 10 +CMPQ SP, 0x10\(R14\)\n.*RET\n.*CALL runtime\.morestack_noctxt\(SB\)\n.*`},
		{"peek main.fib 4", `[0-9a-f]{16}  49 3b 66 10 +I;f\.\n`},
		{"run", `(?s)fib .*\nmap .*`},
		{"run fib", `fib: 1 runs in .*, last result 6765\n`},
		{"run sort 3", `sort: 3 runs in .*\n`},
		{"run sha256 2", `sha256: 2 runs in .*\n`},
		{"run json 2", `json: 2 runs in .*\n`},
		{"run pingpong 2", `pingpong: 2 runs in .*, last result 1001\n`},
		{"run map 2", `map: 2 runs in .*, last result 499500 0\n`},
		{"list", ``},
		{"enabled", `1\n`},
		{"jp", `main\.fib\(n int\)\n(?:.*\n)*`},
		{"blacklist", `(?:0x[0-9a-f]{16}-0x[0-9a-f]{16}  [^ ]+    .+\n)+`},
		{"", ``},
		{"   ", ``},
	} {
		s.check(c.line, c.want)
	}
	s.poweroff()
}

// Bad input gives one clear line, and nothing else happens.
func TestConsoleErrors(t *testing.T) {
	s := console(t)
	for _, c := range []struct{ line, want string }{
		{"bogus", `bogus: no such command; help lists them`},
		{"Help", `Help: no such command; help lists them`},
		{"help me", `usage: help`},
		{"uname -a", `usage: uname`},
		{"list all", `usage: list`},
		{"funcs a b", `usage: funcs \[GLOB\]`},
		{"funcs nosuch*", `nosuch\*: no function matches`},
		{"funcs [", `\[: syntax error in pattern`},
		{"dis", `usage: dis \[-d\] SYMBOL\|ADDR`},
		{"dis nosuch", `nosuch: no such symbol`},
		{"dis 0x10", `0x10: not in the text`},
		{"dis 0xzz", `0xzz: not a number \(invalid syntax\)`},
		{"p", `usage: p SYMBOL\[\+OFF\]\|ADDR`},
		{"p a b", `usage: p SYMBOL\[\+OFF\]\|ADDR`},
		{"p nosuch", `register nosuch: no such symbol`},
		{"p nosuch+4", `register nosuch\+0x4: no such symbol`},
		{"p main.fib+1", `register main\.fib\+0x1: not the start of an instruction`},
		{"p main.fib+0x100000", `register main\.fib\+0x100000: the offset is beyond the end of the function \(0x[0-9a-f]+\)`},
		{"p main.fib+x", `register main\.fib\+x: no such symbol`},
		{"p main.fib+0xzz", `0xzz: not a number \(invalid syntax\)`},
		{"p main.fib+99999999999999999999", `99999999999999999999: not a number \(value out of range\)`},
		{"p 0", `0: the address is not in the text`},
		{"p 0x1000", `register 0x1000: the address is not in the text`},
		{"p 0xffffffffffffffff", `register 0xffffffffffffffff: the address is not in the text`},
		{"p 12345678901234567890123", `12345678901234567890123: not a number \(value out of range\)`},
		{"p runtime.abort", `register runtime\.abort: a software interrupt enters the trap path`},
		{"p tamaprobe/kprobes.breakpoint", `register tamaprobe/kprobes\.breakpoint: tamaprobe/kprobes\.breakpoint cannot be probed: .*`},
		{"p tamaprobe/arch/amd64.breakpointEntry", `register .*: tamaprobe/arch/amd64\.breakpointEntry cannot be probed: .*`},
		{"-", `usage: - N\|SYMBOL\[\+OFF\]`},
		{"enable", `usage: enable N\|SYMBOL\[\+OFF\]\|ADDR`},
		{"enable 1", `1: no such probe`},
		{"disable nosuch", `nosuch: no such probe`},
		{"disable 1 2", `usage: disable N\|SYMBOL\[\+OFF\]\|ADDR`},
		{"enabled 2", `usage: enabled \[0\|1\]`},
		{"enabled 0 1", `usage: enabled \[0\|1\]`},
		{"blacklist x", `usage: blacklist`},
		{"optimization 2", `usage: optimization \[0\|1\|-v\]`},
		{"dis -d", `usage: dis \[-d\] SYMBOL\|ADDR`},
		{"jp nosuch", `nosuch: this kernel has no mirror function for it; jp lists those it has`},
		{"jp a b", `usage: jp \[SYMBOL\]`},
		{"- 1", `1: no such probe`},
		{"- main.fib", `main\.fib: no such probe`},
		{"run nosuch", `nosuch: no such workload; run lists them`},
		{"run fib 0", `0: the number of runs must be 1 to 1000000000`},
		{"run fib -1", `-1: not a number \(invalid syntax\)`},
		{"run fib 1 2", `usage: run \[WORKLOAD \[N\]\]`},
		{"peek", `usage: peek ADDR\|SYMBOL \[LEN\]`},
		{"peek nosuch", `nosuch: no such symbol`},
		{"peek 0x0", `0000000000000000 +\n0x0: cannot be read`},
		{"peek 0x123456789000", `0000123456789000 +\n0x123456789000: cannot be read`},
		{"peek main.fib 0", `0: the length must be 1 to 4096`},
		{"peek main.fib 5000", `5000: the length must be 1 to 4096`},
		{"poweroff now", `usage: poweroff`},
		{"reboot now", `usage: reboot`},
		{strings.Repeat("x", 70), `x{70}: no such command; help lists them`},
	} {
		s.check(c.line, c.want+`\n`)
	}
	s.check("list", "")
	s.check("run fib", `fib: .* 6765\n`)
	s.poweroff()
}

func TestConsoleReturn(t *testing.T) {
	s := console(t)
	s.check("r main.runSort", `p1: main\.runSort\+0x0\n`)
	s.until("list", `[0-9a-f]{16}  r  main\.runSort\+0x0    \[OPTIMIZED\] #1 hits 0 missed 0\n`)
	s.send("run sort 1\r")
	s.expect(`p1: \[\d{3}\] goroutine \d+ \d+\.\d{6}: main\.runSort\+0x0 -> main\.\(\*console\)\.runWorkload\+0x[0-9a-f]+ took [0-9.]+[µm]s AX=0x[0-9a-f]+ BX=0x[0-9a-f]+ `)
	s.check("- 1", `p1: removed, 1 hits, 0 missed, 0 not printed\n`)
	s.check("run sort 1", `sort: .*\n`)
	s.check("r", `usage: r SYMBOL\n`)
	s.check("r runtime.mcall", `register runtime\.mcall: the function switches stacks\n`)
	s.check("r main.fib+4", `register main\.fib\+0x4: a return probe has to be at the function's entry\n`)
	s.poweroff()
}

func TestConsoleEnable(t *testing.T) {
	s := console(t)
	s.check("jp main.fib", `p1: main\.fib\+0x0\n`)
	s.send("run fib\r")
	s.expect(`p1: \[\d{3}\] goroutine \d+ \d+\.\d{6}: main\.fib\+0x0 n=20\n`)
	s.expect(`p1: lost \d+ hits\n`)
	s.send("\r")
	s.expect(`(?m)^> $`)
	s.send("disable 1\rlist\r")
	s.expect(`j  main\.fib\+0x0    \[DISABLED\] #1 hits 21891 missed 0\n`)
	s.send("run fib\r")
	s.expect(`last result 6765\n> $`)
	s.check("p main.runSort", `p2: main\.runSort\+0x0\n`)
	s.check("enabled 0", "")
	s.check("enabled", `0\n`)
	s.check("enable main.fib", "")
	s.send("run fib\rrun sort\r")
	s.expect(`fib: .*\n(?:.*\n)*sort: .*\n> $`)
	s.check("list", `.* main\.fib\+0x0    (?:\[OPTIMIZED\] )?#1 hits 21891 missed 0\n.* main\.runSort\+0x0    (?:\[OPTIMIZED\] )?#2 hits 0 missed 0\n`)
	s.check("enabled 1", "")
	s.send("run sort 1\r")
	s.expect(`p2: .* main\.runSort\+0x0 AX=0x0 `)
	s.poweroff()
}

func TestConsoleProbe(t *testing.T) {
	s := console(t)
	s.check("p main.fib", `p1: main\.fib\+0x0\n`)
	s.check("list", `[0-9a-f]{16}  k  main\.fib\+0x0    (\[OPTIMIZED\] )?#1 hits 0 missed 0\n`)
	s.until("list", `[0-9a-f]{16}  k  main\.fib\+0x0    \[OPTIMIZED\] #1 hits 0 missed 0\n`)
	s.check("optimization -v", `p1: main\.fib\+0x0: optimized\n`)
	s.check("dis main.fib", `(?s)main\.fib:\n  p1 [0-9a-f]{16} \+0 .*?\n now [0-9a-f]{16} +e9 .*? JMP 0x[0-9a-f]+\n.*`)
	s.check("dis main.fib", `main\.fib:\n  p1 .*\n now .*\n(?: {5}.*\n)*`) // one line is not as it was
	s.check("dis -d main.fib", `(?s)main\.fib:\n  p1 .*?\n   \| [0-9a-f]{16} .*?CLI\n.*`)
	s.check("optimization 0", "")
	s.check("optimization -v", `p1: main\.fib\+0x0: optimization is off\n`)
	s.check("dis main.fib", `(?s)main\.fib:\n  p1 [0-9a-f]{16} \+0 .*?\n now [0-9a-f]{16} +cc .*? INT \$0x3\n.*`)
	s.check("optimization 1", "")
	s.check("optimization", `1\n`)
	s.send("run fib\r")
	s.expect(`p1: \[\d{3}\] goroutine \d+ \d+\.\d{6}: main\.fib\+0x0 AX=0x14 BX=0x[0-9a-f]+ CX=0x[0-9a-f]+ DI=0x[0-9a-f]+ SI=0x[0-9a-f]+ R8=0x[0-9a-f]+ R9=0x[0-9a-f]+ R10=0x[0-9a-f]+ R11=0x[0-9a-f]+\n`)
	s.expect(`p1: lost \d+ hits\n`)
	s.send("\r")
	s.expect(`(?m)^> $`)
	// fib(20) calls fib 21891 times, and the stack grows in between.
	s.send("list\r")
	s.expect(`k  main\.fib\+0x0    (?:\[OPTIMIZED\] )?#1 hits 21891 missed 0\n`)
	s.send("- 1\r")
	s.expect(`p1: removed, 21891 hits, 0 missed, \d+ not printed\n`)
	s.send("run fib\r")
	s.expect(`last result 6765\n> $`)
	s.check("list", "")
	s.check("- 1", `1: no such probe\n`)

	// Twice at one place, and by symbol and offset.
	s.check("p main.runSort", `p2: main\.runSort\+0x0\n`)
	s.check("p main.runSort", `p3: main\.runSort\+0x0\n`)
	s.send("run sort 1\r")
	s.expect(`p2: .* main\.runSort\+0x0 AX=0x0 .*\n(?:.*\n)*p3: .* main\.runSort\+0x0 AX=0x0 `)
	s.expect(`(?m)^> $`)
	s.check("- main.runSort", `p2: removed, 1 hits, 0 missed, 0 not printed\np3: removed, 1 hits, 0 missed, 0 not printed\n`)
	s.poweroff()
}

// What printing itself uses can be probed: its own hits are not printed.
func TestConsoleProbeItself(t *testing.T) {
	s := console(t)
	for _, f := range []string{"runtime.mallocgc", "fmt.(*pp).doPrintf", "github.com/usbarmory/tamago/soc/intel/uart.(*UART).Tx", "runtime.schedule", "runtime.futexwakeup"} {
		s.send("p " + f + "\r")
		s.expect(`p\d+: ` + regexp.QuoteMeta(f) + `\+0x0\n`)
	}
	s.send("run json 5\r")
	s.expect(`json: 5 runs in .*`)
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		s.send("- " + n + "\r")
		s.expect(`p` + n + `: removed, [1-9]\d* hits, \d+ missed, \d+ not printed\n`)
	}
	s.send("\r")
	s.expect(`(?m)^> $`)
	s.check("list", "")
	s.check("run fib", `fib: .* 6765\n`)
	s.poweroff()
}

// Line editing, history and the keys that end things elsewhere.
func TestConsoleKeys(t *testing.T) {
	s := console(t)
	s.send("run fob\x7f\x7fib\r") // backspace
	s.expect(`last result 6765\n> $`)
	s.send("\x1b[A\r") // up
	s.expect(`last result 6765\n> $`)
	s.send("rubbish\x03run fib\r") // ^C clears the line
	s.expect(`last result 6765\n> $`)
	s.send("\x04run fib\n") // ^D does nothing
	s.expect(`last result 6765\n> $`)
	s.poweroff()
}

func TestConsoleReboot(t *testing.T) {
	s := console(t)
	s.send("reboot\r")
	s.expect(`Type help for help\.\n> $`)
	s.check("run fib", `fib: .* 6765\n`)
	s.poweroff()
}

func TestConsoleMachines(t *testing.T) {
	for _, env := range []string{"MACHINE=pc SMP=4", "MACHINE=microvm SMP=1", "MACHINE=q35 SMP=8 MEM=256M"} {
		t.Run(env, func(t *testing.T) {
			s := console(t, strings.Fields(env)...)
			s.check("p main.fib", `p1: main\.fib\+0x0\n`)
			s.send("run fib\r")
			s.expect(`p1: .*main\.fib\+0x0 AX=0x14`)
			s.send("list\r")
			s.expect(`#1 hits 21891 missed 0\n`)
			s.poweroff()
		})
	}
}
