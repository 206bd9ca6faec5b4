// Command shapes has a function for every shape of parameters and results. Its main
// calls each of them once with known values, on the process's first thread: the test stops it there.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"
)

type point struct{ X, Y int }

type named struct {
	Name string
	At   point
	tags []string
}

type embedding struct {
	sync.Mutex
	*named
	id uint8
}

type mixed struct {
	a uint8
	b float64
	c uint16
	d string
}

type big struct {
	head  int
	cells [4]int
	tail  string
}

type deep struct {
	a struct{ b struct{ c struct{ d int } } }
}

type wide struct{ f [40]uint16 }

type node struct {
	value int
	next  *node
}

type celsius float32

type store struct {
	count int
	last  string
	where point
}

type closedError struct{ path string }

func (e *closedError) Error() string { return e.path + ": closed" }

var (
	state          = store{count: 3, last: "third", where: point{5, 6}}
	counter uint32 = 77
	sink    any
	escaped *int
)

//go:noinline
func integers(a int8, b uint16, c int32, d uint64, e bool, f uintptr) (int16, uint8) {
	return int16(a) + int16(b), uint8(d)
}

//go:noinline
func floats(a float32, b float64, c complex64, d complex128, e celsius) (float64, celsius, complex128) {
	return float64(a) + b, e + 1, d
}

//go:noinline
func strs(s string, b []byte, l []string, p []point) (string, []byte) {
	return s + "!", b[1:]
}

//go:noinline
func pointers(p *int, n *node, u unsafe.Pointer, f func(int) int, m map[string]int, c chan int) *node {
	if f(*p) == 0 || u == nil || len(m) == 0 || len(c) == 0 {
		return nil
	}
	return n.next
}

//go:noinline
func structs(n named, e *embedding, m mixed) (named, error) {
	n.At.X += int(e.id)
	n.Name += m.d
	return n, nil
}

//go:noinline
func overflow(s1, s2, s3 string, i1, i2, i3, i4 int, last string, small uint8, b big) (r1, r2, r3, r4, r5 string, b2 big, ok bool) {
	b.head += i4
	return s1, s2, s3, last, s1, b, small != 0
}

//go:noinline
func arrays(one [1]string, two [2]uint32, none [0]int, e struct{}, w *wide) ([1]int, [3]int8) {
	return [1]int{len(one[0])}, [3]int8{int8(two[0]), 2, int8(w.f[3])}
}

//go:noinline
func interfaces(e error, a any, r io.Reader, d time.Duration) (any, error) {
	if d == 0 {
		return r, nil
	}
	return a, e
}

//go:noinline
func blanks(_ int, a string, _ float64, b int) (_ int, err error) {
	return b, errors.New(a)
}

//go:noinline
func escapes(kept int, s string) string {
	escaped = &kept
	return s + s
}

//go:noinline
func addressed(n named) int {
	fill(&n)
	return n.At.Y
}

//go:noinline
func fill(n *named) { n.At.Y += len(n.Name) }

//go:noinline
func deepStruct(d deep, w wide) int { return d.a.b.c.d + int(w.f[0]) }

//go:noinline
func variadic(format string, args ...any) int { return len(format) + len(args) }

//go:noinline
func (n *named) method(suffix string) (full string) {
	full = n.Name + suffix
	return
}

//go:noinline
func (p point) scaled(by int) point { return point{p.X * by, p.Y * by} }

//go:noinline
func generic[K comparable, V any](k K, vs []V) (V, int) {
	for i := range vs {
		if any(vs[i]) == any(k) {
			return vs[i], i
		}
	}
	return vs[0], -1
}

type list[T any] struct{ items []T }

//go:noinline
func (l *list[T]) push(item T) int {
	l.items = append(l.items, item)
	return len(l.items)
}

//go:noinline
func nothing() {}

//go:noinline
func take(s string, n int) {}

func inlined(x, by int) int {
	y := x * by
	nothing()
	return y + by
}

//go:noinline
func callsInlined(n int) int {
	total := inlined(n, 3)
	if total > 5 {
		total += inlined(total, 2)
	}
	return total
}

//go:noinline
func callsInlinedToo(s string) int { return inlined(len(s), 10) }

//go:noinline
func body(limit int, names []string) (found string) {
	for i, name := range names {
		if i == limit {
			take(name, i) // the loop's body
			found = name
		}
	}
	nothing()
	return found
}

//go:noinline
func closure(base int, name string) func(int) int {
	return func(n int) int { return base + n + len(name) }
}

func init() { runtime.LockOSThread() }

func main() {
	i := 7
	n := &node{1, &node{2, nil}}
	m := map[string]int{"a": 1, "b": 2, "c": 3}
	c := make(chan int, 8)
	c <- 1
	c <- 2
	nm := named{"widget", point{10, 20}, []string{"x", "yy"}}
	integers(-5, 600, -70000, 1<<40+9, true, 0xabc)
	floats(1.5, 2.25, complex(1, -1), complex(3, 4), 36.5)
	strs("hello", []byte("bytes"), []string{"one", "two"}, []point{{1, 2}, {3, 4}})
	pointers(&i, n, unsafe.Pointer(&i), func(k int) int { return k }, m, c)
	structs(nm, &embedding{named: &nm, id: 9}, mixed{1, 2.5, 3, "four"})
	overflow("s1", "s2", "s3", 1, 2, 3, 4, "last", 200, big{5, [4]int{6, 7, 8, 9}, "tail"})
	w := wide{}
	w.f[3] = 33
	arrays([1]string{"only"}, [2]uint32{11, 22}, [0]int{}, struct{}{}, &w)
	interfaces(errors.New("failed"), 42, strings.NewReader("text"), 1500*time.Millisecond)
	blanks(1, "named", 2, 3)
	escapes(31, "esc")
	addressed(nm)
	var d deep
	d.a.b.c.d = 4
	deepStruct(d, w)
	variadic("%d %s", 1, "two")
	nm.method("-suffix")
	point{3, 4}.scaled(2)
	generic(2, []int{1, 2, 3})
	generic("b", []string{"a", "b"})
	(&list[string]{}).push("item")
	callsInlined(4)
	callsInlinedToo("four")
	body(1, []string{"zero", "first", "second"})
	closure(100, "captured")(5)
	sink = &closedError{"file"}
	state.count++
	counter++
	fmt.Fprintln(os.Stderr, *escaped, sink)
}
