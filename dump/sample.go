package dump

import "fmt"

// A Sample is a stack, and what was counted there.
type Sample struct {
	Stack  []uint64 // an address, and the return addresses above it, innermost first
	Count  int64    // hits
	Nanos  int64    // time
	Labels map[string]string
}

// maxNesting bounds the stacks that Samples makes of nested calls.
const maxNesting = 64

// Samples adds up events, in any order, for a profile. The time of a call is counted
// without that of the calls inside of it that were recorded too: so the sums that pprof
// makes along stacks are right. An event that has no callers' addresses gets the places of
// the calls on its goroutine that it was inside of, so return probes alone make a call
// graph. Events without any address are left out.
//
// Samples are labelled with their event and with their goroutine's start function.
func Samples(events []Event) []Sample {
	calls := nest(events)
	index := make(map[string]int)
	var samples []Sample
	for i := range events {
		e, c := &events[i], &calls[i]
		if len(c.stack) == 0 {
			continue
		}
		key := fmt.Sprintf("%q %q %x", e.Name, e.Goroutine, c.stack)
		at, ok := index[key]
		if !ok {
			at = len(samples)
			index[key] = at
			samples = append(samples, Sample{Stack: c.stack, Labels: labels(e)})
		}
		samples[at].Count++
		samples[at].Nanos += max(c.self, 0)
	}
	return samples
}

func labels(e *Event) map[string]string {
	l := map[string]string{"event": e.Name}
	if e.Goroutine != "" {
		l["goroutine"] = e.Goroutine
	}
	return l
}

// A call is what nest finds out about an event.
type call struct {
	self  int64    // its time, without that of the calls inside of it
	stack []uint64 // its stack, with the calls that it is inside of
}

// nest finds out which events are inside of which calls.
func nest(events []Event) []call {
	calls := make([]call, len(events))
	open := make(map[thread][]int) // calls that have not returned, the innermost last
	for _, i := range byStart(events) {
		e, t := &events[i], events[i].thread()
		outer := open[t]
		for len(outer) > 0 && !e.inside(&events[outer[len(outer)-1]]) {
			outer = outer[:len(outer)-1]
		}
		calls[i].stack = e.Stack
		if len(outer) > 0 {
			parent := outer[len(outer)-1]
			calls[parent].self -= max(e.Duration, 0)
			if above := calls[parent].stack; len(e.Stack) == 1 && len(above) > 0 {
				calls[i].stack = nested(e.Stack[0], above)
				if e.Stack[0] == above[0] && e.Name != events[parent].Name {
					calls[i].stack = above // two events of one place, not a call of itself
				}
			}
		}
		if e.Duration > 0 {
			calls[i].self = e.Duration
			outer = append(outer, i)
		}
		open[t] = outer
	}
	return calls
}

// inside reports whether e is during call c, which did not start later.
func (e *Event) inside(c *Event) bool {
	return e.Time <= c.Time && (e.Duration <= 0 || e.start() < c.Time)
}

// nested is the stack of a place inside of a call. Above the innermost address there are
// return addresses, so the call's place is counted as the address behind it.
func nested(place uint64, outer []uint64) []uint64 {
	outer = outer[:min(len(outer), maxNesting-1)]
	stack := append(make([]uint64, 0, 1+len(outer)), place)
	stack = append(stack, outer...)
	stack[1]++
	return stack
}
