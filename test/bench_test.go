package test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tamaprobe/bench/budget"
)

// No way of a hit costs more guest instructions than it may: those are exact.
func TestBudget(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bench")
	build := exec.Command("../scripts/metal.sh", "build", "-o", name, "../bench")
	build.Env = append(os.Environ(), "LDFLAGS=-compressdwarf=false") // see Makefile
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	results := make(budget.Results)
	for _, c := range []struct {
		run budget.Run
		smp string
	}{{budget.One, "1"}, {budget.Two, "2"}} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		boot := exec.CommandContext(ctx, "../scripts/qemu.sh", name, string(c.run))
		boot.Env = append(os.Environ(), "SMP="+c.smp, "QEMUFLAGS="+budget.Icount, "INITRD="+name)
		boot.Cancel = func() error { return boot.Process.Signal(os.Interrupt) }
		boot.WaitDelay = 5 * time.Second
		out, err := boot.CombinedOutput()
		if err != nil {
			t.Fatalf("run %s: %v\n%s", c.run, err, out)
		}
		r, err := budget.Parse(string(out), c.run)
		if err != nil {
			t.Fatalf("run %s: %v\n%s", c.run, err, out)
		}
		maps.Copy(results, r)
	}
	for _, line := range results.Exceeded() {
		t.Error(line)
	}
}
