package dump

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// at gives an event a stack.
func at(e Event, stack ...uint64) Event {
	e.Stack = stack
	return e
}

func TestSamples(t *testing.T) {
	const (
		top  = 0x1000300
		mid  = 0x1000200
		leaf = 0x1000100
	)
	call := func(goid uint64, name string, from, to int64) Event {
		return Event{Time: to, Duration: to - from, Goid: goid, Name: name}
	}
	hit := func(goid uint64, name string, time int64) Event {
		return Event{Time: time, Goid: goid, Name: name}
	}
	tests := []struct {
		name   string
		events []Event
		want   []string // stack: hits, ns, sorted
	}{
		{"nothing", nil, nil},
		{"a hit", []Event{at(hit(1, "a", 5), leaf+8)}, []string{"main.leaf:8: 1, 0 ns"}},
		{"hits add up", []Event{at(hit(1, "a", 5), leaf), at(hit(2, "a", 6), leaf)}, []string{"main.leaf:0: 2, 0 ns"}},
		{"but not of two events", []Event{at(hit(1, "a", 5), leaf), at(hit(1, "b", 6), leaf)}, []string{"main.leaf:0: 1, 0 ns", "main.leaf:0: 1, 0 ns"}},
		{"no address", []Event{hit(1, "a", 5), at(hit(1, "b", 6), leaf)}, []string{"main.leaf:0: 1, 0 ns"}},
		{
			"calls nest, and have their own time",
			[]Event{at(call(1, "leaf", 20, 50), leaf), at(call(1, "leaf", 60, 70), leaf), at(call(1, "mid", 15, 80), mid), at(call(1, "top", 10, 110), top)},
			[]string{"main.leaf:0 main.mid:0 main.top:0: 2, 40 ns", "main.mid:0 main.top:0: 1, 25 ns", "main.top:0: 1, 35 ns"},
		},
		{
			"not with other goroutines'",
			[]Event{at(call(2, "leaf", 20, 50), leaf), at(call(1, "mid", 15, 80), mid)},
			[]string{"main.leaf:0: 1, 30 ns", "main.mid:0: 1, 65 ns"},
		},
		{
			"nor other CPUs', without a goroutine",
			[]Event{at(Event{Time: 30, CPU: 1, Name: "h"}, leaf), at(Event{Time: 30, CPU: 0, Name: "h"}, leaf), at(Event{Time: 40, Duration: 20, CPU: 1, Name: "c"}, mid)},
			[]string{"main.leaf:0 main.mid:0: 1, 0 ns", "main.leaf:0: 1, 0 ns", "main.mid:0: 1, 20 ns"},
		},
		{
			"one call ends when the next begins",
			[]Event{at(call(1, "leaf", 20, 30), leaf), at(call(1, "mid", 30, 40), mid)},
			[]string{"main.leaf:0: 1, 10 ns", "main.mid:0: 1, 10 ns"},
		},
		{
			"a call in the nanosecond in which its caller begins",
			[]Event{at(call(1, "leaf", 20, 30), leaf), at(call(1, "mid", 20, 40), mid)},
			[]string{"main.leaf:0 main.mid:0: 1, 10 ns", "main.mid:0: 1, 10 ns"},
		},
		{
			"recursion",
			[]Event{at(call(1, "leaf", 20, 30), leaf), at(call(1, "leaf", 10, 40), leaf)},
			[]string{"main.leaf:0 main.leaf:0: 1, 10 ns", "main.leaf:0: 1, 20 ns"},
		},
		{
			"two events of one place",
			[]Event{at(hit(1, "entry", 10), leaf), at(call(1, "return", 10, 40), leaf), at(call(1, "return2", 9, 41), leaf)},
			[]string{"main.leaf:0: 1, 0 ns", "main.leaf:0: 1, 2 ns", "main.leaf:0: 1, 30 ns"},
		},
		{
			"recorded stacks stay, the time is still its own",
			[]Event{at(call(1, "leaf", 20, 30), leaf, mid+0x11, top+0x21), at(call(1, "mid", 10, 40), mid, top+0x21), at(hit(1, "h", 25), leaf+4)},
			[]string{"main.leaf:0 main.mid:16 main.top:32: 1, 10 ns", "main.leaf:4 main.leaf:0 main.mid:16 main.top:32: 1, 0 ns", "main.mid:0 main.top:32: 1, 20 ns"},
		},
		{
			"calls that overlap, which cannot be, do not count backwards",
			[]Event{at(call(1, "leaf", 10, 30), leaf), at(call(1, "leaf", 25, 45), leaf), at(call(1, "mid", 10, 45), mid)},
			[]string{"main.leaf:0 main.mid:0: 2, 40 ns", "main.mid:0: 1, 0 ns"},
		},
		{"a negative duration", []Event{at(Event{Time: 5, Duration: -7, Goid: 1}, leaf)}, []string{"main.leaf:0: 1, 0 ns"}},
	}
	for _, test := range tests {
		var got []string
		samples := Samples(test.events)
		for i, s := range NewProfile(samples, symbolize).Sample {
			got = append(got, fmt.Sprintf("%s: %d, %d ns", stackString(s), samples[i].Count, samples[i].Nanos))
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n\t%s\nwant\n\t%s", test.name, strings.Join(got, "\n\t"), strings.Join(test.want, "\n\t"))
		}
	}
}

func TestSampleLabels(t *testing.T) {
	s := Samples([]Event{at(Event{Name: "a", Goid: 1, Goroutine: "main.worker"}, 1), at(Event{Name: "b"}, 1)})
	if len(s) != 2 || s[0].Labels["event"] != "a" || s[0].Labels["goroutine"] != "main.worker" || len(s[1].Labels) != 1 {
		t.Errorf("%+v", s)
	}
}

// A recursion of any depth makes stacks of a bounded one.
func TestSamplesDeep(t *testing.T) {
	var events []Event
	const depth = 20_000
	for i := range int64(depth) {
		events = append(events, at(Event{Time: depth + i, Duration: 1 + 2*i, Goid: 1, Name: "f"}, 0x1000100))
	}
	deepest, total := 0, int64(0)
	for _, s := range Samples(events) {
		deepest, total = max(deepest, len(s.Stack)), total+s.Nanos
	}
	if deepest != maxNesting || total != 1+2*(depth-1) {
		t.Errorf("%d deep, %d ns", deepest, total)
	}
}
