package test

import (
	"bufio"
	"debug/elf"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"tamaprobe/arch/amd64/inst"
)

// Every instruction of the kernel has the length that objdump says.
func TestDecodeImage(t *testing.T) {
	if out, err := exec.Command("make", "-s", "-C", "..", "kernel").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const image = "../build/tamaprobe"
	f, err := elf.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	objdump := exec.Command("objdump", "-d", "-w", "-j", ".text", image)
	out, err := objdump.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := objdump.Start(); err != nil {
		t.Fatal(err)
	}
	n, different := 0, 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		// "  address:\tbytes\tinstruction"
		fields := strings.SplitN(lines.Text(), "\t", 3)
		if len(fields) < 3 {
			continue
		}
		addr, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(fields[0]), ":"), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		n++
		i, err := inst.Decode(code[addr-text.Addr:])
		if want := len(strings.Fields(fields[1])); err != nil || int(i.Len) != want {
			different++
			if different <= 20 {
				t.Errorf("%s: length %d, %v", lines.Text(), i.Len, err)
			}
		}
	}
	if err := objdump.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d instructions, %d differences", n, different)
	if n < 100_000 || different != 0 {
		t.Errorf("%d instructions, %d differences", n, different)
	}
}
