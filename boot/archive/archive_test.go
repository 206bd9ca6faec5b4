//go:build !metal

package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	var one, two bytes.Buffer
	if err := errors.Join(Write(&one, tree()), Write(&two, tree())); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("the same files make different archives")
	}
	left := tree()
	for r := tar.NewReader(&one); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if want, ok := left["/"+h.Name]; !ok || !bytes.Equal(got, want) || err != nil || h.Format != tar.FormatUSTAR {
			t.Errorf("%s: %d bytes, want %d, %v, %v", h.Name, len(got), len(want), err, h.Format)
		}
		delete(left, "/"+h.Name)
	}
	if len(left) > 0 {
		t.Errorf("%d files are missing", len(left))
	}
}

// What the format has no room for is an error, not another format.
func TestWriteErrors(t *testing.T) {
	for _, name := range []string{strings.Repeat("n", 101), strings.Repeat("long/", 60), "ä"} {
		if err := Write(io.Discard, map[string][]byte{name: nil}); err == nil {
			t.Errorf("%q was written", name)
		}
	}
}

// The tests in archive_metal_test.go, in a machine that has the files.
func TestMetal(t *testing.T) {
	for _, smp := range []string{"1", "4"} {
		t.Run(smp, func(t *testing.T) {
			if out, err := metal(t, archived(t), "SMP="+smp); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// A machine starts whatever is wrong with the archive.
func TestMetalDamaged(t *testing.T) {
	whole := archived(t)
	wrongSize := bytes.Clone(whole)
	const size = 124 // in the header
	copy(wrongSize[size:], "77777777777")
	for name, b := range map[string][]byte{
		"a part of a header": whole[:300],
		"only a header":      whole[:512],
		"a part of the data": whole[:len(whole)/2],
		"too large a file":   wrongSize,
		"no last block":      bytes.TrimRight(whole, "\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := metal(t, b, "SMP=1", "-run=^$"); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func archived(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, tree()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// metal tests this package on bare metal with a boot module.
func metal(t *testing.T, module []byte, env string, args ...string) ([]byte, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "module")
	if err := os.WriteFile(name, module, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "../../scripts/metal.sh", append([]string{"test", "-count=1"}, append(args, ".")...)...)
	cmd.Env = append(os.Environ(), env, "INITRD="+name, "APPEND=PWD="+start)
	return cmd.CombinedOutput()
}
