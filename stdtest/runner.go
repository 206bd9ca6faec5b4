package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tamaprobe/stdtest/way"
)

// A runner runs test binaries and remembers what passed.
type runner struct {
	*builder
	ctx   context.Context // its end ends the machines that run
	fresh bool

	building sync.Mutex         // the go command uses all processors by itself
	mu       sync.Mutex         // for what follows
	passed   map[string]*result // by result.key
	w        io.Writer
}

// timeout is how long a suite may take in each way.
const timeout = 30 * time.Minute

// testAll runs suites, as many at a time as there are to be machines, and returns the results
// in the order of the suites.
func (r *runner) testAll(chosen []*suite, ways []string, machines int) ([]*result, error) {
	results, errs := make([][]*result, len(chosen)), make([]error, len(chosen))
	todo := make(chan int)
	var wg sync.WaitGroup
	for range machines {
		wg.Go(func() {
			for i := range todo {
				results[i], errs[i] = r.testSuite(chosen[i], ways)
			}
		})
	}
	for i := range chosen {
		todo <- i
	}
	close(todo)
	wg.Wait()
	return slices.Concat(results...), errors.Join(append(errs, r.ctx.Err())...)
}

// testSuite runs a suite in some ways, and prints what came of it.
func (r *runner) testSuite(s *suite, ways []string) (all []*result, err error) {
	if r.ctx.Err() != nil {
		return nil, nil // testAll says so
	}
	r.building.Lock()
	i, err := r.build(s)
	r.building.Unlock()
	if r.ctx.Err() != nil {
		return nil, nil
	}
	if err != nil {
		r.printf("FAIL\t%s\tdoes not build\n%v\n", s.pkg, err)
		return []*result{{Package: s.pkg, Failed: []string{"build"}}}, nil
	}
	for _, w := range ways {
		res, err := r.test(s, w, i)
		if err != nil {
			return all, err
		}
		r.printf("%v\n", res)
		all = append(all, res)
	}
	return all, nil
}

func (r *runner) printf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.w, format, args...)
}

// test runs a suite in one way, unless it is known to pass.
func (r *runner) test(s *suite, w string, i image) (*result, error) {
	res := &result{Package: s.pkg, Way: w, Image: i.hash, Args: s.args()}
	if old := r.remembered(res.key()); old != nil && !r.fresh {
		return old, nil
	}
	log, err := r.boot(res, s.fileName()+"."+w, i, w, res.Args)
	if err != nil {
		return nil, err
	}
	res.read(log)
	if res.ok() {
		return res, r.remember(res)
	}
	return res, nil
}

// boot runs the test binary and returns what it printed, which is also left in a file. It sets
// the exit code and the time.
func (r *runner) boot(res *result, name string, i image, w string, args []string) (log []byte, err error) {
	ctx, cancel := context.WithTimeout(r.ctx, timeout+30*time.Second)
	defer cancel()
	args = append([]string{i.file, "-test.v", "-test.timeout=" + timeout.String()}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(r.root, "scripts/qemu.sh"), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends QEMU, too
	cmd.Env = append(os.Environ(), "INITRD="+i.archive,
		fmt.Sprintf("APPEND=%s %s=%s PWD='%s'", os.Getenv("APPEND"), way.Variable, w, i.dir))
	if os.Getenv("MEM") == "" {
		cmd.Env = append(cmd.Env, "MEM=2G")
	}
	res.Log = filepath.Join(r.dir, "log", name)
	out, err := os.Create(res.Log) // so that it can be watched
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	start := time.Now()
	err = cmd.Run()
	res.Seconds = time.Since(start).Seconds()
	res.Exit = cmd.ProcessState.ExitCode()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	if r.ctx.Err() != nil {
		return nil, r.ctx.Err()
	}
	return os.ReadFile(res.Log)
}

// runListed runs the tests that are left out, each by itself, and reports those that pass all the
// same; then ok is false.
func (r *runner) runListed(chosen []*suite) (ok bool, err error) {
	ok = true
	for _, s := range chosen {
		if len(s.skips) == 0 {
			continue
		}
		i, err := r.build(s)
		if err != nil {
			return false, err
		}
		for _, k := range s.skips {
			for _, name := range strings.Fields(k.tests) {
				res := &result{Package: s.pkg, Way: way.Bare}
				log, err := r.boot(res, s.fileName()+".listed", i, way.Bare, append(s.short(), "-test.run="+exactly(name)))
				if err != nil {
					return false, err
				}
				res.read(log)
				verdict := "fails"
				if res.ok() && res.Passed > 0 {
					verdict, ok = "PASSES", false
				}
				fmt.Printf("%s\t%s %s: %s\n", verdict, s.pkg, name, k.why)
			}
		}
	}
	return ok, nil
}

// A result is what came of one suite in one way.
type result struct {
	Package, Way string
	Image        string // its hash
	Args         []string

	Exit            int
	Seconds         float64
	Passed, Skipped int      // tests, examples and fuzz tests at the top level
	Failed          []string // subtests, too
	Hits, Missed    uint64   // of kprobes: those that were handled; those that were inside handlers
	Calls           uint64   // of kretprobes
	Probes          string   // the harness's line
	Wrong           string   // what the harness says does not add up
	Last            string   // the last line
	Log             string

	remembered bool
}

func (res *result) key() string {
	return strings.Join(append([]string{res.Package, res.Way, res.Image}, res.Args...), " ")
}

// ok is whether the suite passed, and its probes, if any, add up.
func (res *result) ok() bool {
	return res.Exit == 0 && len(res.Failed) == 0 && res.Passed > 0 && res.Wrong == "" && (res.Probes != "") == (res.Way != way.Bare)
}

var (
	verdict = regexp.MustCompile(`(?m)^( *)--- (PASS|FAIL|SKIP): (\S+)`)
	counts  = regexp.MustCompile(`, (\d+) hits, (\d+) missed; .*kretprobes, (\d+) calls`)
)

// read reads what a test binary printed.
func (res *result) read(log []byte) {
	text := strings.ReplaceAll(string(log), "\r", "")
	for _, m := range verdict.FindAllStringSubmatch(text, -1) {
		switch indent, name := m[1], m[3]; {
		case m[2] == "FAIL":
			res.Failed = append(res.Failed, name)
		case indent != "":
		case m[2] == "PASS":
			res.Passed++
		default:
			res.Skipped++
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, way.Wrong):
			res.Wrong = strings.TrimPrefix(line, way.Wrong)
		case strings.HasPrefix(line, way.Prefix):
			res.Probes = strings.TrimPrefix(line, way.Prefix)
			if m := counts.FindStringSubmatch(line); m != nil {
				res.Hits, _ = strconv.ParseUint(m[1], 10, 64)
				res.Missed, _ = strconv.ParseUint(m[2], 10, 64)
				res.Calls, _ = strconv.ParseUint(m[3], 10, 64)
				res.Hits -= res.Missed
			}
		case line != "":
			res.Last = line
		}
	}
}

// exactly is the regular expression for one test's or subtest's name.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// load reads what is remembered.
func (r *runner) load() error {
	r.passed = make(map[string]*result)
	b, err := os.ReadFile(r.memory())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &r.passed); err != nil {
		return fmt.Errorf("%s: %w", r.memory(), err)
	}
	return nil
}

// remembered returns a result that is remembered, nil if it is not.
func (r *runner) remembered(key string) *result {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := r.passed[key]
	if res != nil {
		res.remembered = true
	}
	return res
}

// remember remembers a result.
func (r *runner) remember(res *result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passed[res.key()] = res
	b, err := json.MarshalIndent(r.passed, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(r.memory(), b, 0o666)
}

func (r *runner) memory() string { return filepath.Join(r.dir, "passed.json") }
