package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"tamaprobe/kernel/shell"
)

// A workload is something to probe. Each run returns a result that depends only on
// its number, so that a probed run can be compared with an unprobed one.
type workload struct {
	name, help string
	n          int // runs, if the user does not say
	run        func(i int) string
}

var workloads = []workload{
	{"fib", "recursive Fibonacci number", 1, func(i int) string { return fmt.Sprint(fib(20 + i%5)) }},
	{"sort", "sort 1000 numbers", 10, runSort},
	{"sha256", "hash 64 KiB", 10, runSHA256},
	{"json", "encode and decode a structure", 100, runJSON},
	{"pingpong", "1000 messages between two goroutines", 10, runPingPong},
	{"map", "fill and empty a map", 10, runMap},
	{"serve", "answer 100 requests", 10, runServe},
}

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func runSort(i int) string {
	rng := rand.New(rand.NewPCG(uint64(i), 0))
	s := make([]int, 1000)
	for j := range s {
		s[j] = rng.IntN(1e6)
	}
	sort.Ints(s)
	return fmt.Sprint(s[0], s[500], s[999])
}

func runSHA256(i int) string {
	data := bytes.Repeat([]byte{byte(i)}, 64<<10)
	return fmt.Sprintf("%x", sha256.Sum256(data))[:16]
}

type document struct {
	Name  string
	Tags  []string
	Parts map[string]float64
	Next  *document
}

func runJSON(i int) string {
	doc := document{
		Name:  fmt.Sprintf("document %d", i),
		Tags:  []string{"a", "b", "c"},
		Parts: map[string]float64{"x": float64(i), "y": 1.5},
		Next:  &document{Name: "next"},
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return err.Error()
	}
	var back document
	if err := json.Unmarshal(b, &back); err != nil {
		return err.Error()
	}
	return fmt.Sprint(len(b), back.Name, back.Parts["x"], back.Next.Name)
}

func runPingPong(i int) string {
	ping, pong := make(chan int), make(chan int)
	go func() {
		for v := range ping {
			pong <- v + 1
		}
		close(pong)
	}()
	v := i
	for range 1000 {
		ping <- v
		v = <-pong
	}
	close(ping)
	return fmt.Sprint(v)
}

func runMap(i int) string {
	m := make(map[string]int)
	for j := range 1000 {
		m[fmt.Sprint(i, j)] = j
	}
	sum := 0
	for k, v := range m {
		sum += v
		delete(m, k)
	}
	return fmt.Sprint(sum, len(m))
}

func (c *console) runWorkload(x *shell.Context, args []string) error {
	if len(args) == 0 {
		w := lineWriter{w: x}
		for _, l := range workloads {
			w.printf("%-10s %s (%d runs)\n", l.name, l.help, l.n)
		}
		w.flush()
		return nil
	}
	background := args[len(args)-1] == "&"
	if background {
		args = args[:len(args)-1]
	}
	if len(args) < 1 || len(args) > 2 {
		return shell.ErrUsage
	}
	i := slices.IndexFunc(workloads, func(l workload) bool { return l.name == args[0] })
	if i < 0 {
		return fmt.Errorf("%s: no such workload; run lists them", args[0])
	}
	l := workloads[i]
	n := l.n
	if len(args) == 2 {
		v, err := parseNumber(args[1])
		if err != nil {
			return err
		}
		if v == 0 || v > 1e9 {
			return fmt.Errorf("%s: the number of runs must be 1 to 1000000000", args[1])
		}
		n = int(v)
	}
	if background {
		go func() { fmt.Fprint(c, l.times(context.Background(), n)) }()
		return nil
	}
	x.Printf("%s", l.times(x, n))
	return nil
}

// times runs the workload n times, and says so.
func (l *workload) times(ctx context.Context, n int) string {
	var result string
	start := time.Now()
	done := ctx.Done()
	for i := range n {
		select {
		case <-done:
			return fmt.Sprintf("%s: stopped after %d runs\n", l.name, i)
		default:
		}
		result = l.run(i)
	}
	d := time.Since(start)
	return fmt.Sprintf("%s: %d runs in %v, last result %s\n", l.name, n, d.Round(time.Microsecond), result)
}
