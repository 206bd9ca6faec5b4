package aggregate

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func check(t *testing.T, name string, got []byte, want string) {
	t.Helper()
	if want = strings.TrimPrefix(want, "\n"); string(got) != want {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

func TestAppendCounts(t *testing.T) {
	c := Counts{Entries: []KeyCount{{[]byte("main.fib"), 120}, {[]byte("a\x1b[0mb"), 7}, {nil, 1}}}
	check(t, "plain", new(Style).AppendCounts(nil, c), `
   COUNT  KEY
     120  "main.fib"
       7  "a\x1b[0mb"
       1
`)
	c.Lost = 3
	c.Entries[0].Count = math.MaxUint64
	upper := Style{Key: func(dst, key []byte) []byte { return fmt.Appendf(dst, "<%d bytes>", len(key)) }}
	check(t, "wide", upper.AppendCounts([]byte("> "), c), `
>                COUNT  KEY
18446744073709551615  <8 bytes>
                   7  <6 bytes>
                   1
lost: 3 hits, the table of keys is full
`)
	check(t, "empty", new(Style).AppendCounts(nil, Counts{}), "COUNT  KEY\n")
	check(t, "colour", (&Style{Color: true}).AppendCounts(nil, Counts{Lost: 1}),
		"\x1b[1mCOUNT  KEY\x1b[0m\n\x1b[33mlost: 1 hits, the table of keys is full\x1b[0m\n")
}

func TestAppendHist(t *testing.T) {
	h := NewHist(1, 4)
	for v, n := range map[int64]int{0: 1, 5: 2, 20: 12, 40: 6, 3000: 1} {
		for range n {
			h.Add(0, nil, v)
		}
	}
	check(t, "52 wide", new(Style).AppendHists(nil, h.Snapshot()), `
[0]                     1 |@@@@                                                |
[1]                     0 |                                                    |
[2, 4)                  0 |                                                    |
[4, 8)                  2 |@@@@@@@@                                            |
[8, 16)                 0 |                                                    |
[16, 32)               12 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
[32, 64)                6 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |
[64, 128)               0 |                                                    |
[128, 256)              0 |                                                    |
[256, 512)              0 |                                                    |
[512, 1K)               0 |                                                    |
[1K, 2K)                0 |                                                    |
[2K, 4K)                1 |@@@@                                                |
count 22, avg 158, min 0, max 3000
`)

	l := NewLatency(1, 4)
	for range 3 {
		l.Add(0, []byte("main.fib"), 700)
	}
	l.Add(0, []byte("main.fib"), 1_500_000)
	l.Add(0, []byte("x"), -1)
	l.Add(9, nil, 0)
	s := l.Snapshot()
	s.Entries[0].Buckets = s.Entries[0].Buckets[:2]
	check(t, "two keys", (&Style{Width: 50}).AppendHists(nil, s), `
@["main.fib"]:
[512ns, 1.02µs)         3 |@@@@@@@@@@@@@@@@@@@@@@|
[1.02µs, 2.05µs)        0 |                      |
count 4, avg 376µs, min 700ns, max 1.5ms

@["x"]:
[-1ns]                  1 |@@@@@@@@@@@@@@@@@@@@@@|
count 1, avg -1ns, min -1ns, max -1ns
lost: 1 hits, the table of keys is full
`)

	wide, err := NewLinearHist(1, 1, 0, 30_000_000, 10_000_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []int64{-1, 15_000_000, 30_000_000} {
		wide.Add(0, nil, v)
	}
	check(t, "linear, narrow", (&Style{Width: 1}).AppendHists(nil, wide.Snapshot()), `
(..., 0)                    1 |@@@@@@@@@@|
[0, 10000000)               0 |          |
[10000000, 20000000)        1 |@@@@@@@@@@|
[20000000, 30000000)        0 |          |
[30000000, ...)             1 |@@@@@@@@@@|
count 3, avg 14999999, min -1, max 30000000
`)

	check(t, "colour", (&Style{Width: 40, Color: true}).AppendHist(nil, &Histogram{
		Key: []byte("k"), Count: 2, Sum: 2, Min: 1, Max: 1,
		Buckets: []Bucket{{1, 1, 2, log2Zero + 1}, {2, 3, 0, log2Zero + 2}},
	}), "\x1b[1m@[\"k\"]:\x1b[0m\n"+
		"[1]                     2 |\x1b[36m@@@@@@@@@@@@\x1b[0m|\n"+
		"[2, 4)                  0 |            |\n"+
		"count 2, avg 1, min 1, max 1\n")

	check(t, "empty", new(Style).AppendHist(nil, new(Histogram)), "count 0, avg 0, min 0, max 0\n")
	check(t, "none", new(Style).AppendHists(nil, Histograms{}), "")
}

// Counts as large as they get do not draw a bar beyond its end.
func TestBarFits(t *testing.T) {
	for _, most := range []uint64{1, 3, 7, 1 << 53, 1<<53 + 1, math.MaxUint64} {
		for width := range 100 {
			got := string((&Style{Width: width}).AppendHist(nil, &Histogram{Buckets: []Bucket{
				{0, 0, most, log2Zero}, {1, 1, most - 1, log2Zero + 1},
			}}))
			lines := strings.Split(got, "\n")
			if len(lines[0]) != len(lines[1]) || !strings.Contains(lines[0], "@|") {
				t.Fatalf("most %d, width %d:\n%s", most, width, got)
			}
			if width > 50 && len(lines[0]) != width {
				t.Fatalf("most %d, width %d: %d columns", most, width, len(lines[0]))
			}
		}
	}
}

func TestAppendStacks(t *testing.T) {
	s := NewStacks(1, 2)
	for range 12 {
		s.Add(0, []uintptr{0x1010, 0x2020})
	}
	s.Add(0, nil)
	s.Add(0, []uintptr{3})
	symbol := func(dst []byte, pc uintptr) []byte { return fmt.Appendf(dst, "main.f%d+%#x", pc>>12, pc&0xfff) }
	check(t, "plain", new(Style).AppendStacks(nil, s.Snapshot(), symbol), `
@[
    main.f1+0x10
    main.f2+0x20
]: 12
@[
]: 1
lost: 1 hits, the table of keys is full
`)
	check(t, "colour", (&Style{Color: true}).AppendStacks(nil, StackCounts{Entries: []StackCount{{nil, 1}}}, symbol),
		"@[\n]: \x1b[1m1\x1b[0m\n")
}
