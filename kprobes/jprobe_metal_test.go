//go:build metal

package kprobes

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"tamaprobe/arch/amd64"
)

type big struct {
	a [12]int
	s string
}

//go:noinline
func mirrored(i int, s string, f float64, b []byte, e error) (int, error) {
	return i + len(s) + int(f) + len(b), e
}

// Its arguments do not fit in the registers.
//
//go:noinline
func mirroredBig(v big, x [3]int, f32 float32, n int8) (big, float32) {
	v.a[n] += x[2]
	return v, f32 * 2
}

type receiver struct{ n int }

//go:noinline
func (r *receiver) method(x int, ok bool) int {
	if ok {
		return r.n + x
	}
	return 0
}

func TestJprobe(t *testing.T) {
	var got [3]struct {
		i int
		s string
		f float64
		b []byte
		e error
		n int
	}
	var js []*Jprobe
	for k := range got {
		// No pointers may be stored into the heap: into these before, that is.
		j, err := RegisterJprobe(pkg+"mirrored", func(i int, s string, f float64, b []byte, e error) (int, error) {
			g := &got[k]
			g.n++
			g.i, g.f = i, f
			if s == "four" && string(b) == "123456" && e == errTest {
				g.i++
			}
			i, s, f = 0, "", 0
			return i, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		js = append(js, j)
	}
	errs := 0
	for range 100 {
		n, err := mirrored(1, "four", 2.5, []byte("123456"), errTest)
		if n != 13 || err != errTest {
			errs++
		}
	}
	for k, j := range js {
		if err := UnregisterJprobe(j); err != nil {
			t.Error(err)
		}
		if g := &got[k]; g.i != 2 || g.f != 2.5 || g.n != 100 {
			t.Errorf("mirror saw %d, %v; %d times", g.i, g.f, g.n)
		}
		checkCounts(t, &j.Kprobe, 100, 0)
	}
	if errs != 0 {
		t.Errorf("%d wrong results", errs)
	}
}

var errTest = errors.New("test")

func TestJprobeStackArguments(t *testing.T) {
	seen := 0
	j, err := RegisterJprobe(pkg+"mirroredBig", func(v big, x [3]int, f32 float32, n int8) (big, float32) {
		if v.a[11] == 12 && v.s == "big" && x[1] == 8 && f32 == 1.5 && n == -3+6 {
			seen++
		}
		v.a[0], x[0], f32 = 99, 99, 99
		return v, f32
	})
	if err != nil {
		t.Fatal(err)
	}
	v := big{[12]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, "big"}
	for range 10 {
		w, f := mirroredBig(v, [3]int{7, 8, 9}, 1.5, 3)
		v.a[3] += 9
		if w != v || f != 3 {
			t.Fatalf("%v, %v", w, f)
		}
		v.a[3] -= 9
	}
	if err := UnregisterJprobe(j); err != nil || seen != 10 {
		t.Errorf("%d times, %v", seen, err)
	}

	sum := 0
	j, err = RegisterJprobe(pkg+"(*receiver).method", func(r *receiver, x int, ok bool) int {
		sum += r.n + x
		return 0
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{5}
	if got := r.method(2, true); got != 7 || sum != 7 {
		t.Errorf("%d, the mirror saw %d", got, sum)
	}
	if err := UnregisterJprobe(j); err != nil {
		t.Error(err)
	}
}

// A mirror that fails loses its probe.
func TestJprobeFails(t *testing.T) {
	logged := catchLog(t)
	var null *int
	j, err := RegisterJprobe(pkg+"mirrored", func(i int, s string, f float64, b []byte, e error) (int, error) {
		*null = i
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := mirrored(1, "", 2.5, nil, nil); n != 3 {
		t.Errorf("%d", n)
	}
	if j.State() != FlagDisabled|FlagFaulted || len(*logged) == 0 || !strings.Contains((*logged)[0], "page fault") {
		t.Errorf("state %d, log %q", j.State(), *logged)
	}
	if err := UnregisterJprobe(j); err != nil {
		t.Error(err)
	}
}

func TestJprobeErrors(t *testing.T) {
	for _, c := range []struct {
		symbol string
		mirror any
		errno  syscall.Errno
		want   string
	}{
		{"mirrored", nil, syscall.EINVAL, "not a function"},
		{"mirrored", 3, syscall.EINVAL, "not a function"},
		{"mirrored", (func(int))(nil), syscall.EINVAL, "not a function"},
		{"mirrored", func(i int, s string, f float64, b []byte) (int, error) { return 0, nil }, syscall.EINVAL, "other parameters"},
		{"mirrored", func(i int, s string, f float64, b []byte, e error, x int) (int, error) { return 0, nil }, syscall.EINVAL, "other parameters"},
		{"mirrored", func(i int, s int, f float64, b []byte, e error) (int, error) { return 0, nil }, syscall.EINVAL, "other parameters"},
		{"nosuch", func() {}, syscall.ENOENT, "no such symbol"},
		{"breakpoint", func(*amd64.Regs, uintptr) bool { return false }, syscall.EINVAL, "cannot be probed"},
	} {
		_, err := RegisterJprobe(pkg+c.symbol, c.mirror)
		if !errors.Is(err, c.errno) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s, %T: %v, want %q", c.symbol, c.mirror, err, c.want)
		}
	}
	if _, err := RegisterJprobe("runtime.memmove", func(to, from *byte, n uintptr) {}); !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), "assembly") {
		t.Errorf("assembly: %v", err)
	}
}
