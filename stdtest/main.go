// Command stdtest runs test suites of Go's standard library in the kernel, unmodified,
// while probes are on the functions that they run.
//
//	go run ./stdtest                     everything, from the project's folder
//	go run ./stdtest -quick              a few small packages
//	go run ./stdtest -ways int3 strings  some packages, in some ways
//	go run ./stdtest -listed             the tests that are left out, bare
//	go run ./stdtest -p 1                one machine at a time
//
// Every package is tested in three ways (see package harness): bare; with an optimized
// kprobe and a return probe on every function of the image that takes them; and with a
// breakpoint on every function of the package. All tests must pass in each way, but for those in
// suites.go, which says for each why it cannot. What passed is remembered and not run again while
// the test binary is the same, so a run that was interrupted goes on where it was.
//
// A test binary is built for bare metal by scripts/metal.sh, from a Go tree with the harness in it
// (tree.go), and runs in QEMU by scripts/qemu.sh.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"tamaprobe/stdtest/way"
)

func main() {
	quick := flag.Bool("quick", false, "only the packages of the quick subset")
	ways := flag.String("ways", strings.Join(way.All, ","), "the `ways` to run the tests")
	listed := flag.Bool("listed", false, "run the tests that are left out, and report those that pass")
	fresh := flag.Bool("fresh", false, "run what has passed before, too")
	machines := flag.Int("p", min(runtime.NumCPU(), 4), "how many machines run at the same time")
	table := flag.String("table", "", "write a page with the results to this `file` (Markdown)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, options{
		quick: *quick, listed: *listed, fresh: *fresh, machines: *machines, table: *table,
		ways: strings.Split(*ways, ","), packages: flag.Args(),
	})
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted; what passed is remembered")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stdtest:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

type options struct {
	quick, listed, fresh bool
	machines             int
	table                string
	ways, packages       []string
}

// run runs the suites that o chooses; ok is whether all is as it should be.
func run(ctx context.Context, o options) (ok bool, err error) {
	chosen, err := choose(o)
	if err != nil {
		return false, err
	}
	if o.table != "" {
		// That it cannot be written should not turn out after an hour.
		f, err := os.OpenFile(o.table, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return false, err
		}
		f.Close()
	}
	root, err := output("go", "list", "-m", "-f", "{{.Dir}}", "tamaprobe")
	if err != nil {
		return false, err
	}
	goroot, err := output("go", "env", "GOROOT")
	if err != nil {
		return false, err
	}
	b := &builder{root: root, dir: filepath.Join(root, "build/_stdtest")}
	if err := b.prepare(goroot); err != nil {
		return false, err
	}
	r := &runner{builder: b, ctx: ctx, fresh: o.fresh, w: os.Stdout}
	if err := r.load(); err != nil {
		return false, err
	}
	if o.listed {
		return r.runListed(chosen)
	}
	all, err := r.testAll(chosen, o.ways, o.machines)
	if err != nil {
		return false, err
	}
	if o.table != "" {
		if err := os.WriteFile(o.table, []byte(markdown(chosen, o.ways, all)), 0o666); err != nil {
			return false, err
		}
	}
	return summary(os.Stdout, all), nil
}

// choose returns the suites that o names.
func choose(o options) ([]*suite, error) {
	for _, w := range o.ways {
		if !slices.Contains(way.All, w) {
			return nil, fmt.Errorf("-ways %s: want some of %s", w, strings.Join(way.All, ","))
		}
	}
	if o.machines < 1 {
		return nil, fmt.Errorf("-p %d: one machine is needed at least", o.machines)
	}
	var chosen []*suite
	for _, pkg := range o.packages {
		i := slices.IndexFunc(suites, func(s suite) bool { return s.pkg == pkg })
		if i < 0 {
			return nil, fmt.Errorf("%s is not among the packages that are tested (stdtest/suites.go)", pkg)
		}
		chosen = append(chosen, &suites[i])
	}
	for i := range suites {
		if s := &suites[i]; len(o.packages) == 0 && (s.quick || !o.quick) {
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}

// output returns the one line that a command prints.
func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
