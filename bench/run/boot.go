package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamaprobe/bench/budget"
)

// A bootResult is what the kernel costs without probes.
type bootResult struct {
	prompt time.Duration // from the start of QEMU to the first prompt
	file   int64         // the size of the image
	loaded int64         // the size of what is loaded of it
	idle   float64       // percent of a host processor that the waiting machine takes
}

const (
	boots    = 5
	idleTime = 4 * time.Second
	patience = time.Minute
)

// measureBoot boots the kernel several times, and prints what it finds.
func measureBoot() (*bootResult, error) {
	var b bootResult
	var err error
	if b.file, b.loaded, err = imageSize(kernelImage); err != nil {
		return nil, err
	}
	var prompts []time.Duration
	for i := range boots {
		prompt, idle, err := bootOnce(i == 0)
		if err != nil {
			return nil, err
		}
		prompts = append(prompts, prompt)
		if i == 0 {
			b.idle = idle
		}
	}
	slices.Sort(prompts)
	b.prompt = prompts[boots/2]
	fmt.Printf("bench boot %.2f s\nbench image %d bytes\nbench loaded %d bytes\nbench idle %.1f %%\n",
		b.prompt.Seconds(), b.file, b.loaded, b.idle)
	return &b, nil
}

// rows are the end of the table.
func (b *bootResult) rows() string {
	return fmt.Sprintf(`| **The machine** | | | |
| from QEMU's start to the prompt | %.2f s |  |  |
| the image, with debugging information | %s KiB |  |  |
| what is loaded of it | %s KiB |  |  |
| host processor time of the idle machine, 2 processors | %.1f %% |  |  |
`, b.prompt.Seconds(), budget.Figure(float64(b.file>>10)), budget.Figure(float64(b.loaded>>10)), b.idle)
}

// imageSize returns the size of an ELF file, and of its segments in memory.
func imageSize(name string) (file, loaded int64, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, 0, err
	}
	f, err := elf.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			loaded += int64(p.Memsz)
		}
	}
	return info.Size(), loaded, nil
}

// bootOnce boots the kernel, and measures how long it takes to the prompt, and then if it is asked to
// what the idle machine takes.
func bootOnce(watchIdle bool) (prompt time.Duration, idle float64, err error) {
	cmd := qemu(kernelImage, []string{"SMP=2"})
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	stuck := time.AfterFunc(patience, func() { cmd.Process.Signal(os.Interrupt) })
	defer stuck.Stop()
	err = waitForPrompt(out)
	prompt = time.Since(start)
	if err == nil && watchIdle {
		idle, err = idleUse(cmd.Process.Pid)
	}
	fmt.Fprintln(in, "poweroff")
	io.Copy(io.Discard, out)
	return prompt, idle, errors.Join(err, cmd.Wait())
}

// waitForPrompt reads the serial port until the console waits for a command.
func waitForPrompt(r io.Reader) error {
	var seen []byte
	buf := make([]byte, 4096)
	for !bytes.HasSuffix(seen, []byte("\n> ")) {
		n, err := r.Read(buf)
		if err != nil {
			return fmt.Errorf("no prompt: %w\n%s", err, seen)
		}
		seen = append(seen, buf[:n]...)
	}
	return nil
}

// idleUse returns how much of a processor the children of a process, QEMU, take, in percent.
func idleUse(parent int) (float64, error) {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", parent))
	if err != nil {
		return 0, err
	}
	pids := strings.Fields(string(children))
	if len(pids) != 1 {
		return 0, fmt.Errorf("scripts/qemu.sh has %d children, not QEMU alone", len(pids))
	}
	time.Sleep(time.Second) // what the boot left to do
	before, err := processorTime(pids[0])
	if err != nil {
		return 0, err
	}
	time.Sleep(idleTime)
	after, err := processorTime(pids[0])
	return 100 * (after - before).Seconds() / idleTime.Seconds(), err
}

// processorTime returns how much of it a process has taken.
func processorTime(pid string) (time.Duration, error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, err
	}
	// The fields behind the name, which ends with the last parenthesis: utime and stime are
	// fields 14 and 15, in hundredths of a second (proc(5)).
	const utime, stime, tick = 14 - 3, 15 - 3, 10 * time.Millisecond
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= stime {
		return 0, fmt.Errorf("/proc/%s/stat has %d fields", pid, len(fields))
	}
	sum := time.Duration(0)
	for _, f := range []string{fields[utime], fields[stime]} {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}
