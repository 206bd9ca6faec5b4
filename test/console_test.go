package test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

const kernelImage = "../build/tamaprobe"

// buildKernel builds the kernel once.
var buildKernel = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("make", "-s", "-C", "..", "kernel").CombinedOutput()
	return string(out), err
})

// ready is what the console prints when it takes commands.
const ready = `Type help for help\.\n(?:.*\n)*> \z`

// boots the kernel as make run does, without make: its console is one of plain text.
func boots(t *testing.T, env ...string) *session {
	t.Helper()
	if out, err := buildKernel(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return start(t, append([]string{"INITRD=" + kernelImage, "REBOOT=1"}, env...), "../scripts/qemu.sh", kernelImage)
}

// console boots the kernel and waits for the prompt.
func console(t *testing.T, env ...string) *session {
	t.Helper()
	s := boots(t, env...)
	s.expect(ready)
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
		s.t.Errorf("%s: printed\n%s\nwant %s", line, tail(out), pattern)
	}
}

// tail is the end of what may be long.
func tail(text string) string {
	const enough = 1500
	if len(text) <= enough {
		return text
	}
	return "..." + text[len(text)-enough:]
}

// quiet gives commands that print nothing.
func (s *session) quiet(lines ...string) {
	s.t.Helper()
	for _, line := range lines {
		s.check(line, "")
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
	s.t.Errorf("%s: printed\n%s\nwant %s", line, tail(out), pattern)
}

// record is what a hit looks like in a trace: at a place, with arguments, by the console's goroutine.
func record(event, place, args string) string {
	return ` +runtime\.main-1 +\[\d{3}\] +\d+\.\d{6}: ` + event + `: \(` + place + `\)` + args + `\n`
}

// header stands above a trace.
const header = `# tracer: nop\n#\n# entries-in-buffer/entries-written: \d+/\d+   #P:\d+\n#\n# .*GOROUTINE-ID .*CPU# .*TIMESTAMP .*EVENT\n#.*\n`

func TestConsole(t *testing.T) {
	s := start(t, nil, "make", "-s", "-C", "..", "run")
	s.expect(`Tamaprobe: go.*\n` + ready)
	for _, c := range []struct{ line, want string }{
		{"help", `(?s)events\n.*  events +list the events\n.*  uname .*\n.*  reboot .*\n.*Topics.*  filters .*\n`},
		{"uname", `Tamaprobe go1\.26\.8, tamago v1\.26\.6, 2 CPUs \(.*\), \d+ MiB, TSC .* MHz\nup .*, \d+ functions, command line \[\]\n`},
		{"funcs main.fib", `[0-9a-f]{16} +\d+ main\.fib\n`},
		{"funcs *tamago*UART*x", `(?:[0-9a-f]{16} +\d+ github.com/usbarmory/tamago/soc/intel/uart\.\(\*UART\)\.[RT]x\n){2}`},
		{"dis main.fib", `(?s)main\.fib:\n +[0-9a-f]{16} \+0 +49 3b 66 10 +CMPQ SP, 0x10\(R14\)\n.*RET\n.*CALL runtime\.morestack_noctxt\(SB\)\n.*`},
		{"peek main.fib 4", `[0-9a-f]{16}  49 3b 66 10 +I;f\.\n`},
		{"vars encoding/json.Unmarshal", `parameter data \[\]uint8\nparameter v interface {}\nresult    ~r0 error\n`},
		{"vars main.runJSON+0x200", `(?:variable  .* .*\n)+`},
		{"run", `(?s)fib .*\nmap .*`},
		{"run fib", `fib: 1 runs in .*, last result 6765\n`},
		{"run sort 3", `sort: 3 runs in .*\n`},
		{"run sha256 2", `sha256: 2 runs in .*\n`},
		{"run json 2", `json: 2 runs in .*\n`},
		{"run pingpong 2", `pingpong: 2 runs in .*, last result 1001\n`},
		{"run map 2", `map: 2 runs in .*, last result 499500 0\n`},
		{"list", ``},
		{"events", ``},
		{"profile", ``},
		{"error_log", ``},
		{"save", ``},
		{"enabled", `1\n`},
		{"tracing", `1\n`},
		{"overwrite", `1\n`},
		{"tp_printk", `0\n`},
		{"optimization", `1\n`},
		{"trace", header},
		{"stats", `(?:cpu \d+: entries 0, bytes 0, overrun 0, dropped 0, read 0\n){2}`},
		{"jp", `main\.fib\(n int\)\n(?:.*\n)*`},
		{"blacklist", `(?:0x[0-9a-f]{16}-0x[0-9a-f]{16}  [^ ]+    .+\n)+`},
		{"# a comment", ``},
		{"", ``},
		{"   ", ``},
	} {
		s.check(c.line, c.want)
	}
	s.poweroff()
}

// Every example that help gives works.
func TestConsoleHelp(t *testing.T) {
	s := console(t)
	overview := s.do("help")
	names := regexp.MustCompile(`(?m)^  ([a-z_-]+)( |$)`).FindAllStringSubmatch(overview, -1)
	if len(names) < 30 {
		t.Errorf("help names %d commands and topics:\n%s", len(names), overview)
	}
	examples := regexp.MustCompile(`(?m)^  ((?:p|r|jp|count|hist|latency|stacks|clear|funcs|echo|cat|-)[: ].*?)(?:   .*)?$`)
	tried := 0
	for _, name := range names {
		text := s.do("help " + name[1])
		if text == "" || strings.Contains(text, "no such command") {
			t.Errorf("help %s: %q", name[1], text)
		}
		for _, m := range examples.FindAllStringSubmatch(text, -1) {
			if line := m[1]; !regexp.MustCompile(`[A-Z]{4}|^(clear|-) |^-:`).MatchString(line) {
				tried++
				if out := s.do(line); strings.Contains(out, "error") || strings.Contains(out, "no such") {
					t.Errorf("help %s gives the example %s, which prints\n%s", name[1], line, out)
				}
			}
		}
		s.do("- *")
	}
	if tried < 25 {
		t.Errorf("there are only %d examples", tried)
	}
	s.poweroff()
}

// What printing itself uses can be probed: its own hits are not printed.
func TestConsoleProbeItself(t *testing.T) {
	s := console(t)
	for _, f := range []string{"runtime.mallocgc", "fmt.(*pp).doPrintf", "github.com/usbarmory/tamago/soc/intel/uart.(*UART).Tx", "runtime.schedule", "runtime.futexwakeup"} {
		s.check("p "+f, `kprobes/p_\w+_0\n(?:  .*\n)?`)
	}
	s.quiet("tp_printk 1")
	s.send("run json 5\r")
	s.expect(`p_runtime_mallocgc_0: \(runtime\.mallocgc\+0x0\)\n`)
	s.send("tp_printk 0\r")
	s.send("uname\r")
	s.expect(`(?m)^up .*\n`)
	s.expect(`> \z`)
	s.send("run pingpong &\rtrace_pipe\r")
	s.expect(`p_runtime_schedule_0: \(runtime\.schedule\+0x0\)\n`)
	s.send(" \r") // the key, and a line for the prompt
	s.send("uname\r")
	s.expect(`(?m)^up .*\n`)
	s.expect(`> \z`)
	s.check("events", `(?:kprobes/p_\w+_0 +enabled +[1-9]\d* hits  p:.*\n){5}`)
	s.check("trace clear", ``)
	s.check("trace", `(?s)`+header+`.*`)
	s.quiet("- *", "list")
	s.check("run fib", `fib: .* 6765\n`)
	s.poweroff()
}

func TestConsoleReboot(t *testing.T) {
	s := console(t)
	s.send("reboot\r")
	s.expect(ready)
	s.check("run fib", `fib: .* 6765\n`)
	s.poweroff()
}

func TestConsoleMachines(t *testing.T) {
	for _, env := range []string{"MACHINE=pc SMP=4", "MACHINE=microvm SMP=1", "MACHINE=q35 SMP=8 MEM=256M"} {
		t.Run(env, func(t *testing.T) {
			s := console(t, strings.Fields(env)...)
			s.check("p main.fib n if n == 20", `kprobes/p_main_fib_0\n`)
			s.check("run fib", `fib: .*\n`)
			s.check("trace", header+record("p_main_fib_0", `main\.fib\+0x0`, ` n=20`))
			s.check("stats", `(?s).*p_main_fib_0: hits 21891 = recorded 1 \+ filtered 21890 \+ lost 0 \+ own 0 \+ missed 0\n`)
			s.poweroff()
		})
	}
}

// Without its own image as boot module the kernel works, but has no Go variables.
func TestConsoleModule(t *testing.T) {
	other, err := image()
	if err != nil {
		t.Fatal(err)
	}
	text := t.TempDir() + "/text"
	if err := os.WriteFile(text, []byte("no image"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, module, want string }{
		{"none", "", `the image was booted without its debugging information as boot module`},
		{"another image", other, `the boot module is not this image`},
		{"another file", text, `the image was booted without its debugging information as boot module`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := console(t, "INITRD="+c.module)
			s.check("p main.fib n", `error: Invalid fetch argument: `+c.want+`: Go variables have no names\n  Command: p main.fib n\n +\^\n`)
			s.check("vars main.fib", c.want+`.*\n`)
			s.check("p workload.go:35", `error: `+c.want+`(?:.*\n){3}`)
			s.check("p -inline main.fib", `error: `+c.want+`(?:.*\n){3}`)
			s.check("r main.fib", `kprobes/r_main_fib_0\n`)
			s.check("count main.fib $arg1:s64", `sum/count_main_fib_0\n`)
			s.check("run fib", `fib: .*\n`)
			s.check("print -n 1", `sum/count_main_fib_0\n   COUNT  KEY\n    6765  1\n`)
			s.poweroff()
		})
	}
}
