// Package dump brings what probes recorded out of the machine: as a Chrome trace, as a
// profile for pprof, and either of them through a serial line that other output shares.
// WriteChrome and NewProfile make the files' contents; a FrameWriter sends a file as lines
// of text; a FrameReader, on the other side, finds those lines in a capture.
//
// It knows no probe, no image and no file system: events, samples and the names of
// addresses are given to it, and files are bytes. It runs in goroutine context, and on any
// host.
package dump

import (
	"cmp"
	"slices"
)

// An Event is a hit that was recorded.
type Event struct {
	Time      int64 // nanoseconds since boot
	Duration  int64 // of the call that returned at Time, in nanoseconds; 0: no return
	CPU       int
	Goid      uint64 // 0: no goroutine, the scheduler's own code
	Goroutine string // the goroutine's start function
	Name      string // of the event
	Place     string // SYMBOL+OFFSET
	Args      []Arg

	// Stack is the address of the place and the return addresses above it, innermost
	// first. It may end after the first. Only Samples needs it.
	Stack []uint64
}

// An Arg is an argument of an event, as it is printed.
type Arg struct{ Name, Value string }

// start is when the call began, for a return, or when the hit was.
func (e *Event) start() int64 {
	if e.Duration > 0 {
		return e.Time - e.Duration
	}
	return e.Time
}

// A thread is what calls nest on: a goroutine, or a CPU for what belongs to none.
type thread struct {
	goid uint64
	cpu  int
}

func (e *Event) thread() thread {
	if e.Goid == 0 {
		return thread{cpu: e.CPU}
	}
	return thread{goid: e.Goid}
}

// byStart returns the indices of events in the order of their start, a call before what
// it called in the same nanosecond.
func byStart(events []Event) []int {
	order := make([]int, len(events))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &events[i], &events[j]
		return cmp.Or(cmp.Compare(a.start(), b.start()), cmp.Compare(b.Duration, a.Duration))
	})
	return order
}
