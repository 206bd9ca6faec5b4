package aggregate

import (
	"math"
	"strings"
	"testing"
)

// interesting are values around every power of two.
func interesting() (values []int64) {
	for n := range 64 {
		for d := range int64(5) {
			values = append(values, 1<<n+d-2, -1<<n+d-2)
		}
	}
	return append(values, math.MinInt64, math.MaxInt64, 0)
}

func scales(t *testing.T) map[string]scale {
	all := map[string]scale{"log2": log2}
	for name, s := range map[string][3]int64{
		"0 to 10 by 3":   {0, 10, 3},
		"-7 to 7 by 1":   {-7, 7, 1},
		"one":            {5, 6, 1},
		"a large step":   {0, 10, math.MaxInt64},
		"everything":     {math.MinInt64, math.MaxInt64, 1 << 55},
		"the lower half": {math.MinInt64, 0, 1 << 54},
		"the upper half": {0, math.MaxInt64, 1 << 54},
		"most steps":     {0, maxSteps, 1},
	} {
		var err error
		if all[name], err = newLinear(s[0], s[1], s[2]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// The buckets follow each other without gaps, and a value is in the one whose bounds it
// is between.
func TestBuckets(t *testing.T) {
	for name, s := range scales(t) {
		next := int64(math.MinInt64)
		for i := range s.buckets() {
			low, high := s.bounds(i)
			if low == math.MinInt64 && high == math.MaxInt64 && i == 0 {
				continue // before the least value there is nothing: low-1 wraps around
			}
			if low != next || high < low {
				t.Fatalf("%s: bucket %d is from %d to %d, want from %d", name, i, low, high, next)
			}
			for _, v := range []int64{low, low + int64((uint64(high)-uint64(low))/2), high} {
				if got := s.bucket(v); got != i {
					t.Errorf("%s: %d is in bucket %d, want %d (%d to %d)", name, v, got, i, low, high)
				}
			}
			next = high + 1
		}
		if next != math.MinInt64 {
			t.Errorf("%s: the last bucket ends at %d", name, next-1)
		}
		for _, v := range interesting() {
			i := s.bucket(v)
			if i < 0 || i >= s.buckets() {
				t.Fatalf("%s: %d is in bucket %d of %d", name, v, i, s.buckets())
			}
			if low, high := s.bounds(i); v < low || v > high {
				t.Errorf("%s: %d is in the bucket from %d to %d", name, v, low, high)
			}
		}
	}
}

func TestLabels(t *testing.T) {
	linear, err := newLinear(-5, 10, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		scale scale
		unit  Unit
		value int64
		want  string
	}{
		{log2, Number, 0, "[0]"},
		{log2, Number, 1, "[1]"},
		{log2, Number, -1, "[-1]"},
		{log2, Number, 2, "[2, 4)"},
		{log2, Number, 3, "[2, 4)"},
		{log2, Number, -2, "(-4, -2]"},
		{log2, Number, -3, "(-4, -2]"},
		{log2, Number, 512, "[512, 1K)"},
		{log2, Number, 1024, "[1K, 2K)"},
		{log2, Number, -1500, "(-2K, -1K]"},
		{log2, Number, 1 << 19, "[512K, 1M)"},
		{log2, Number, 1 << 20, "[1M, 2M)"},
		{log2, Number, 1 << 39, "[512G, 1T)"},
		{log2, Number, 1 << 50, "[1P, 2P)"},
		{log2, Number, math.MaxInt64, "[4E, 8E)"},
		{log2, Number, math.MinInt64 + 1, "(-8E, -4E]"},
		{log2, Number, math.MinInt64, "(-16E, -8E]"},
		{log2, Nanoseconds, 0, "[0ns]"},
		{log2, Nanoseconds, 1, "[1ns]"},
		{log2, Nanoseconds, 700, "[512ns, 1.02µs)"},
		{log2, Nanoseconds, 5000, "[4.1µs, 8.19µs)"},
		{log2, Nanoseconds, 1 << 20, "[1.05ms, 2.1ms)"},
		{log2, Nanoseconds, 1 << 30, "[1.07s, 2.15s)"},
		{log2, Nanoseconds, 1 << 40, "[1100s, 2199s)"},
		{log2, Nanoseconds, math.MaxInt64, "[4611686018s, 9223372037s)"},
		{log2, Nanoseconds, -3, "(-4ns, -2ns]"},
		{linear, Number, -6, "(..., -5)"},
		{linear, Number, math.MinInt64, "(..., -5)"},
		{linear, Number, -5, "[-5, -1)"},
		{linear, Number, -1, "[-1, 3)"},
		{linear, Number, 9, "[7, 10)"}, // the last step is shorter
		{linear, Number, 10, "[10, ...)"},
		{linear, Number, math.MaxInt64, "[10, ...)"},
	} {
		if got := string(test.scale.appendLabel(nil, test.scale.bucket(test.value), test.unit)); got != test.want {
			t.Errorf("%d: got %s, want %s", test.value, got, test.want)
		}
	}
}

func TestLinearRefused(t *testing.T) {
	for _, test := range []struct {
		low, high, step int64
		want            string
	}{
		{5, 5, 1, "must be the larger"},
		{5, 4, 1, "must be the larger"},
		{0, 10, 0, "must be 1 or more"},
		{0, 10, -1, "must be 1 or more"},
		{0, maxSteps + 1, 1, "with steps of 2"},
		{math.MinInt64, math.MaxInt64, 1, "with steps of 18446744073709552 "},
	} {
		h, err := NewLinearHist(1, 1, test.low, test.high, test.step)
		if err == nil || !strings.Contains(err.Error(), test.want) || h != nil {
			t.Errorf("%d to %d by %d: error %v, want %q in it", test.low, test.high, test.step, err, test.want)
		}
	}
	// What the message proposes works.
	if _, err := NewLinearHist(1, 1, math.MinInt64, math.MaxInt64, 18446744073709552); err != nil {
		t.Error(err)
	}
}

func TestHist(t *testing.T) {
	for _, test := range []struct {
		name           string
		values         []int64
		count          uint64
		sum, min, max  int64
		mean           int64
		buckets, first int // first's count
	}{
		{"one", []int64{7}, 1, 7, 7, 7, 7, 1, 1},
		{"zero", []int64{0}, 1, 0, 0, 0, 0, 1, 1},
		{"positive", []int64{3, 9, 2}, 3, 14, 2, 9, 4, 3, 2},
		{"negative", []int64{-3, -9, -2}, 3, -14, -9, -2, -4, 3, 1},
		{"mixed", []int64{-1, 0, 1, 1}, 4, 1, -1, 1, 0, 3, 1},
		{"extremes", []int64{math.MinInt64, math.MaxInt64}, 2, -1, math.MinInt64, math.MaxInt64, 0, 128, 1},
	} {
		h := NewHist(2, 4)
		for i, v := range test.values {
			h.Add(i%2, []byte("key"), v)
		}
		s := h.Snapshot()
		if len(s.Entries) != 1 {
			t.Fatalf("%s: %d histograms", test.name, len(s.Entries))
		}
		e := s.Entries[0]
		if string(e.Key) != "key" || e.Count != test.count || e.Sum != test.sum || e.Min != test.min || e.Max != test.max || e.Mean() != test.mean {
			t.Errorf("%s: got %+v, mean %d", test.name, e, e.Mean())
		}
		if len(e.Buckets) != test.buckets || e.Buckets[0].Count != uint64(test.first) {
			t.Errorf("%s: %d buckets, first %v; want %d, first %d", test.name, len(e.Buckets), e.Buckets[0], test.buckets, test.first)
		}
	}
	if got := new(Histogram).Mean(); got != 0 {
		t.Errorf("the mean of nothing is %d", got)
	}
}

func TestHistKeys(t *testing.T) {
	h := NewLatency(2, 2)
	for i := range int64(30) {
		h.Add(int(i%2), []byte{"abb"[i%3]}, 100+i)
	}
	h.Add(0, []byte("c"), 1)
	h.Add(7, []byte("a"), 1)
	s := h.Snapshot()
	if len(s.Entries) != 2 || string(s.Entries[0].Key) != "b" || s.Entries[0].Count != 20 || s.Entries[1].Count != 10 || s.Lost != 2 {
		t.Errorf("got %+v", s)
	}
	if got := s.Top(1); len(got.Entries) != 1 || string(got.Entries[0].Key) != "b" {
		t.Errorf("Top(1) = %+v", got)
	}
}
