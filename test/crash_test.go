package test

import (
	"regexp"
	"testing"
)

// A fatal exception is reported, with the exit code of a Go program that crashes.
func TestReport(t *testing.T) {
	const registers = `(?s)AX  [0-9a-f]{16}.*R15 [0-9a-f]{16}.*PC  [0-9a-f]{16}  FLG [0-9a-f]{16}.*`
	for _, c := range []struct {
		action string
		want   []string // in this order
	}{
		{"breakpoint", []string{`fatal exception: breakpoint \(vector 3\), error code 0000`, `CPU \d+, goroutine 1, at runtime.breakpoint\+0x1`,
			registers, `code: cc`, `INT \$0x3`, `goroutine 1 .*running`, `runtime.Breakpoint`, `main.main\(\)`}},
		{"undefined", []string{`fatal exception: invalid opcode \(vector 6\)`, `at main.undefined\+0x`, registers, `code: 0f 0b`, `UD2`, `main.undefined`, `main.main\(\)`}},
		{"protection", []string{`fatal exception: general protection \(vector 13\)`, registers, `MOVQ`, `goroutine 1`, `main.main\(\)`}},
		{"pagefault", []string{`fatal exception: page fault \(vector 14\), error code 0000, CR2 0000123456789000`, registers, `MOVQ`, `main.main\(\)`}},
		{"badstack", []string{`fatal exception: double fault \(vector 8\)`, `at main.badStack\+0x`, registers, `SP  0000123456789000`, `PUSHQ AX`}},
		{"badstack2", []string{`fatal exception: double fault \(vector 8\)`, `at main.badStack\+0x`, `SP  8000000000000000`, `PUSHQ AX`}},
		{"overrun", []string{`fatal exception: double fault \(vector 8\).*CR2 0000000000000ff8`, `at main.overrun\+0x`, `PUSHL \$0x0`}},
		{"othercpu", []string{`fatal exception: breakpoint`, `runtime.Breakpoint`}},
		{"recursion", []string{`goroutine stack exceeds 1048576-byte limit`, `fatal error: stack overflow`, `main.recurse`}},
		{"panic", []string{`panic: on purpose`, `goroutine 1 \[running\]`, `main.main\(\)`}},
	} {
		t.Run(c.action, func(t *testing.T) {
			t.Parallel()
			out, code := boot(t, nil, c.action)
			if code != 2 {
				t.Errorf("exit code %d", code)
			}
			rest := out
			for _, pattern := range c.want {
				m := regexp.MustCompile(pattern).FindStringIndex(rest)
				if m == nil {
					t.Fatalf("no %q (in this place) in:\n%s", pattern, out)
				}
				rest = rest[m[0]:]
			}
		})
	}
}

func TestRecover(t *testing.T) {
	out, code := boot(t, []string{"SMP=4"}, "recover")
	if out != "runtime error: integer divide by zero\nrecovered all\n" || code != 0 {
		t.Errorf("printed %q, exit code %d", out, code)
	}
}

// The NMI button of a machine that hangs.
func TestNMI(t *testing.T) {
	name, err := image()
	if err != nil {
		t.Fatal(err)
	}
	monitor := t.TempDir() + "/monitor"
	s := start(t, []string{"QEMUFLAGS=-qmp unix:" + monitor + ",server,nowait"}, "../scripts/qemu.sh", name, "wait")
	s.expect("waiting")
	qmp(t, monitor, `{"execute": "inject-nmi"}`)
	s.expect(`fatal exception: non-maskable interrupt \(vector 2\)`)
	if code := s.wait(); code != 2 {
		t.Errorf("exit code %d", code)
	}
}

func TestMachineCheck(t *testing.T) {
	name, err := image()
	if err != nil {
		t.Fatal(err)
	}
	monitor := t.TempDir() + "/monitor"
	s := start(t, []string{"SMP=1", "QEMUFLAGS=-qmp unix:" + monitor + ",server,nowait"}, "../scripts/qemu.sh", name, "wait")
	s.expect("waiting")
	// An uncorrected error in bank 1, with machine check in progress.
	qmp(t, monitor, `{"execute": "human-monitor-command", "arguments": {"command-line": "mce 0 1 0xb200000000000000 0x7 0x0 0x0"}}`)
	s.expect(`fatal exception: machine check \(vector 18\)`)
	if code := s.wait(); code != 2 {
		t.Errorf("exit code %d", code)
	}
}
