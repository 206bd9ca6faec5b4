package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The example is a kernel of its own, short, and shows what the README says.
func TestExample(t *testing.T) {
	source, err := os.ReadFile("../examples/trace/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), "\n"); n >= 40 {
		t.Errorf("the example has %d lines", n)
	}
	name := filepath.Join(t.TempDir(), "trace")
	build := exec.Command("../scripts/metal.sh", "build", "-o", name, "../examples/trace")
	build.Env = append(os.Environ(), "LDFLAGS=-compressdwarf=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := start(t, []string{"INITRD=" + name}, "../scripts/qemu.sh", name)
	out := s.expect(`(?s)count 3, avg .*\n`)
	for _, want := range []string{
		`p_main_greet_0: \(main\.greet\+0x0\) name="gopher" times=1\n`,
		`p_main_greet_0: \(main\.greet\+0x0\) name="unikernel" times=3\n`,
		`r_main_greet_0: \(main\.main\+0x[0-9a-f]+ <- main\.greet\) len=24 dur=\d+\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if strings.Contains(out, "len=13") {
		t.Errorf("the filter let pass what it should not:\n%s", out)
	}
}
