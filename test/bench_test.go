package test

import (
	"context"
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
	// make bench looks at two processors too, which takes minutes on a busy host.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	boot := exec.CommandContext(ctx, "../scripts/qemu.sh", name, string(budget.One))
	boot.Env = append(os.Environ(), "SMP=1", "QEMUFLAGS="+budget.Icount, "INITRD="+name)
	boot.Cancel = func() error { return boot.Process.Signal(os.Interrupt) }
	boot.WaitDelay = 5 * time.Second
	out, err := boot.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	results, err := budget.Parse(string(out), budget.One)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, line := range results.Exceeded() {
		t.Error(line)
	}
}
