package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"

	"tamaprobe/bench/budget"
)

// qemu is a machine that boots an image, with the image as its boot module, for its debugging
// information.
func qemu(image string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command("scripts/qemu.sh", append([]string{image}, args...)...)
	cmd.Env = append(os.Environ(), append(env, "INITRD="+image)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// bench boots the bench for one run, lets its lines be seen, and returns the results.
func bench(way budget.Run) (budget.Results, error) {
	env := []string{"SMP=2"}
	switch way {
	case budget.One:
		env = []string{"SMP=1", "QEMUFLAGS=" + budget.Icount}
	case budget.Two:
		env = append(env, "QEMUFLAGS="+budget.Icount)
	}
	var out bytes.Buffer
	cmd := qemu(benchImage, env, string(way))
	cmd.Stdout = io.MultiWriter(os.Stdout, &out)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%v\n%s", err, out.String())
	}
	return budget.Parse(out.String(), way)
}
