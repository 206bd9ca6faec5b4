//go:build metal

package kprobes

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"tamaprobe/arch/amd64"
	"tamaprobe/symtab"
)

// A subject is real code to probe, and something that it does.
type subject struct {
	name     string
	prefixes []string // of functions' names
	run      func() string
}

var subjects = []subject{
	{"sort", []string{"sort.", "slices."}, func() string {
		a := make([]int, 60)
		for i := range a {
			a[i] = i * 7919 % 61
		}
		b := slices.Clone(a)
		sort.Ints(a)
		sort.Stable(sort.Reverse(sort.IntSlice(b)))
		_, found := slices.BinarySearch(a, 30)
		return fmt.Sprint(a, b, sort.SearchInts(a, 17), found)
	}},
	{"strconv", []string{"strconv.", "internal/strconv."}, func() string {
		f, err := strconv.ParseFloat("12345.678e-3", 64)
		n, err2 := strconv.ParseInt("-987654321", 10, 64)
		_, err3 := strconv.Atoi("12x")
		return strconv.FormatFloat(f, 'g', -1, 64) + strconv.FormatFloat(1e300/7, 'e', 17, 64) + strconv.Quote("a\tb\u2028") + fmt.Sprint(n, err, err2, err3)
	}},
	{"sha256", []string{"crypto/internal/fips140/sha256.", "crypto/sha256."}, func() string {
		data := bytes.Repeat([]byte("tamaprobe"), 30)
		h := sha256.New()
		h.Write(data[:100])
		h.Write(data[100:])
		return fmt.Sprintf("%x %x", sha256.Sum256(data), h.Sum(nil))
	}},
	{"json", []string{"encoding/json."}, func() string {
		type doc struct {
			Name string
			N    []float64
			M    map[string]any
			P    *int `json:",omitempty"`
		}
		x := 3
		b, err := json.Marshal(doc{"json \"<>", []float64{1, 2.5}, map[string]any{"k": []int{1}, "b": true, "n": nil}, &x})
		var d doc
		err2 := json.Unmarshal(b, &d)
		err3 := json.Unmarshal([]byte(`{"Name": 3}`), &d)
		return fmt.Sprint(string(b), err, err2, err3, d.Name, d.N, d.M)
	}},
	{"regexp", []string{"regexp.", "regexp/syntax."}, func() string {
		re := regexp.MustCompile(`(\w+)@(\w+\.)+com|^x{2,3}$`)
		return fmt.Sprint(re.FindAllStringSubmatch("me@example.com you@a.b.com xx", -1), re.ReplaceAllString("me@example.com!", "<$1>"), re.MatchString("xxx"))
	}},
	{"maps", []string{"internal/runtime/maps.", "runtime.map", "maps."}, func() string {
		m := make(map[int]string)
		for i := range 100 {
			m[i] = strconv.Itoa(i)
		}
		for i := range 50 {
			delete(m, i*2)
		}
		s := map[string]int{"a": 1, "b": 2, "c": 3}
		s["d"] += s["a"]
		return fmt.Sprint(len(m), m[33], s, slices.Sorted(maps.Keys(s)))
	}},
	{"scheduler", []string{"runtime.chan", "runtime.gopark", "runtime.goready", "runtime.ready", "runtime.schedule", "runtime.findRunnable", "runtime.execute",
		"runtime.newproc", "runtime.gfget", "runtime.gfput", "runtime.runq", "runtime.park_m", "runtime.goexit", "runtime.gdestroy", "runtime.casgstatus",
		"runtime.select", "runtime.sema", "runtime.Gosched", "runtime.gosched", "runtime.goyield", "runtime.globrunq", "runtime.wakep", "runtime.mcall", "runtime.gogo"}, func() string {
		c, d := make(chan int), make(chan int, 3)
		for i := range 5 {
			go func() {
				runtime.Gosched()
				select {
				case c <- i:
				case d <- i:
				}
			}()
		}
		sum := 0
		for range 5 {
			select {
			case v := <-c:
				sum += v
			case v := <-d:
				sum += v
			}
		}
		return fmt.Sprint(sum)
	}},
}

// TestEveryBoundary probes every instruction of real functions, one after the other in
// each, optimized where that can be: the results stay the same.
func TestEveryBoundary(t *testing.T) {
	start()
	step := 1
	if runtime.GOMAXPROCS(0) > 1 {
		step = 16 // to synchronize takes time
	}
	before := text()
	functions, boundaries, jumps, hits := 0, 0, 0, uint64(0)
	for _, s := range subjects {
		var todo [][]uintptr // instructions, by function
		for fn := range symtab.All() {
			if slices.ContainsFunc(s.prefixes, func(prefix string) bool { return strings.HasPrefix(fn.Name(), prefix) }) {
				todo = append(todo, functionInstructions(fn))
			}
		}
		want := s.run()
		functions += len(todo)
		n := 0
		for k := 0; len(todo) > 0; k += step {
			var all, ps []*Kprobe
			for i, pcs := range todo {
				// Not the same one in all functions, with steps.
				if at := k + i%step; at < len(pcs) {
					all = append(all, &Kprobe{Addr: pcs[at], PreHandler: func(*Kprobe, *amd64.Regs) bool { return false }})
				}
			}
			for i, err := range RegisterEach(all) {
				if err == nil {
					ps = append(ps, all[i])
				}
			}
			todo = slices.DeleteFunc(todo, func(pcs []uintptr) bool { return k+step >= len(pcs) })
			if len(ps) == 0 {
				continue
			}
			if got := s.run(); got != want { // by breakpoints
				t.Fatalf("%s: round %d: %s\nwant %s", s.name, k, got, want)
			}
			WaitOptimizer()
			for _, p := range ps {
				if p.State()&FlagOptimized != 0 {
					jumps++
				}
			}
			if got := s.run(); got != want {
				t.Fatalf("%s: round %d, optimized: %s\nwant %s", s.name, k, got, want)
			}
			if err := UnregisterAll(ps); err != nil {
				t.Fatal(err)
			}
			for _, p := range ps {
				hits += p.Nhit()
			}
			n += len(ps)
		}
		if got := s.run(); got != want {
			t.Errorf("%s: afterwards: %s\nwant %s", s.name, got, want)
		}
		boundaries += n
	}
	t.Logf("%d functions, %d instructions, %d of them optimized, %d hits", functions, boundaries, jumps, hits)
	if functions < 300 || hits == 0 || jumps*100 < boundaries*85 {
		t.Error("too few")
	}
	if !bytes.Equal(text(), before) {
		t.Error("the text is not as it was")
	}
}
