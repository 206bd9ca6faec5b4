package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMachines(t *testing.T) {
	for _, machine := range []string{"q35", "pc", "microvm"} {
		for _, smp := range []int{1, 2, 4, 8} {
			t.Run(fmt.Sprintf("%s/%d", machine, smp), func(t *testing.T) {
				t.Parallel()
				out, code := boot(t, []string{"MACHINE=" + machine, fmt.Sprint("SMP=", smp), "MEM=256M"}, "cpus")
				if want := fmt.Sprintf("%d %d\n", smp, smp); out != want || code != 0 {
					t.Errorf("printed %q, exit code %d", out, code)
				}
			})
		}
	}
}

func TestProcessors(t *testing.T) {
	for _, cpu := range []string{"qemu64", "Skylake-Client", "EPYC", "Nehalem"} {
		t.Run(cpu, func(t *testing.T) {
			t.Parallel()
			// stderr has QEMU's remarks on features that it cannot emulate.
			out, code := boot(t, []string{"CPU=" + cpu}, "recover")
			if !strings.HasSuffix(out, "recovered all\n") || code != 0 {
				t.Errorf("printed %q, exit code %d", out, code)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		append string
		args   []string
		want   string
	}{
		{"", []string{"args"}, `["tamaprobe" "args"] ["CONSOLE=plain"]`},
		{"", []string{"args", "a b", "", `say "x"`, "it's"}, `["tamaprobe" "args" "a b" "" "say \"x\"" "it's"] ["CONSOLE=plain"]`},
		{"args  GOGC=50 X_1=a=b lower=1 1X=2", []string{"-v"}, `["tamaprobe" "args" "lower=1" "1X=2" "-v"] ["GOGC=50" "X_1=a=b" "CONSOLE=plain"]`},
		{"args GOMAXPROCS=1", nil, `["tamaprobe" "args"] ["CONSOLE=plain"]`},
		{"args CONSOLE=terminal", nil, `["tamaprobe" "args"] ["CONSOLE=terminal"]`},
		{"args " + strings.Repeat("word ", 30), nil, `["tamaprobe" "args"` + strings.Repeat(` "word"`, 30) + `] ["CONSOLE=plain"]`},
	} {
		out, code := boot(t, []string{"APPEND=" + c.append}, c.args...)
		if out != c.want+"\n" || code != 0 {
			t.Errorf("%q, %q: printed %s, exit code %d, want %s", c.append, c.args, out, code, c.want)
		}
	}
}

func TestMaxProcs(t *testing.T) {
	out, _ := boot(t, []string{"SMP=4", "APPEND=GOMAXPROCS=3"}, "cpus")
	if out != "3 3\n" {
		t.Errorf("printed %q", out)
	}
}

func TestMemorySize(t *testing.T) {
	for mem, want := range map[string]string{
		"256M": "ram 255 runtime 254\n",
		"1G":   "ram 1023 runtime 1022\n",
		"4G":   "ram 4095 runtime 2046\n", // up to the hole below 4 GiB
	} {
		out, _ := boot(t, []string{"MEM=" + mem}, "memory")
		if out != want {
			t.Errorf("%s: printed %q, want %q", mem, out, want)
		}
	}
}

func TestModules(t *testing.T) {
	name := filepath.Join(t.TempDir(), "module")
	if err := os.WriteFile(name, []byte(strings.Repeat("module ", 100000)), 0o666); err != nil {
		t.Fatal(err)
	}
	out, code := boot(t, []string{"INITRD=" + name, "MEM=256M"}, "modules")
	if want := `700000 "module module module module module modul"` + "\n"; out != want || code != 0 {
		t.Errorf("printed %q, exit code %d", out, code)
	}
}

func TestExitCode(t *testing.T) {
	for code, want := range map[string]int{"0": 0, "1": 1, "7": 7, "126": 126, "127": 127, "200": 127, "-1": 127} {
		if _, got := boot(t, nil, "exit", code); got != want {
			t.Errorf("exit %s: %d, want %d", code, got, want)
		}
	}
	if _, got := boot(t, nil, "reboot"); got != 125 {
		t.Errorf("reboot: %d, want 125", got)
	}
}

// With -icount an instruction takes a nanosecond, so the counter runs at 1 GHz.
func TestClock(t *testing.T) {
	out, _ := boot(t, []string{"QEMUFLAGS=-icount shift=0 -rtc base=2021-03-04T05:06:00"}, "clock")
	var tsc uint64
	var when string
	if _, err := fmt.Sscanf(out, "tsc %d\ntime %s", &tsc, &when); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	if tsc < 999e6 || tsc > 1001e6 {
		t.Errorf("TSC at %d Hz", tsc)
	}
	if !strings.HasPrefix(when, "2021-03-04T05:06:") {
		t.Errorf("time %s", when)
	}
}

// There is no file system and no kernel to ask, but the answers are errors.
func TestSystemCalls(t *testing.T) {
	out, code := boot(t, nil, "syscall")
	if out != "1 0\nopen /x: no such file or directory\n" || code != 0 {
		t.Errorf("printed %q, exit code %d", out, code)
	}
}

func TestScriptInput(t *testing.T) {
	name, err := image()
	if err != nil {
		t.Fatal(err)
	}
	for _, redirect := range []string{"<&-", "</dev/null", "< <(exec sleep 5 >/dev/null 2>&1)"} {
		out, err := exec.Command("bash", "-c", "../scripts/qemu.sh "+name+" cpus "+redirect).CombinedOutput()
		if err != nil || plain(out) != "2 2\n" {
			t.Errorf("%s: %v, printed %q", redirect, err, out)
		}
	}
	// A terminal.
	out, err := exec.Command("script", "-qec", "../scripts/qemu.sh "+name+" exit 5", "/dev/null").CombinedOutput()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 5 {
		t.Errorf("on a terminal: %v, printed %q", err, out)
	}
}

func TestScriptErrors(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"../scripts/qemu.sh", "usage: scripts/qemu.sh IMAGE"},
		{"QEMU=nosuchqemu ../scripts/qemu.sh x", "nosuchqemu not found"},
		{"../scripts/qemu.sh boot_test.go", "pvhnote"},
	} {
		out, err := exec.Command("bash", "-c", c.command).CombinedOutput()
		exit, ok := err.(*exec.ExitError)
		if !ok || exit.ExitCode() != 125 || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, printed %q", c.command, err, out)
		}
	}
}
