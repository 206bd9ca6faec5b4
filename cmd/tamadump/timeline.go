package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// A timeline is a Chrome trace, as far as it is drawn. Times are microseconds.
type timeline struct {
	tracks   []*track // goroutines by their first event, then CPUs
	from, to float64  // the window that is drawn
}

// A track is a goroutine, or a CPU.
type track struct {
	name    string
	goid    uint64 // 0: a CPU
	entries []entry
	rows    int
}

// An entry is a slice, or an instant.
type entry struct {
	name    string
	from    float64
	dur     float64
	instant bool
	row     int // how many slices it is inside of
	args    map[string]any
}

func (e *entry) to() float64 { return e.from + e.dur }

// goroutines is the process that has the goroutines as its threads.
const goroutines = 1

// maxTime is more than a machine can run: 30 years.
const maxTime = 1e15

// parseTimeline reads a Chrome trace: its complete and instant events, and its names of
// threads.
func parseTimeline(data []byte) (*timeline, error) {
	var trace struct {
		TraceEvents []struct {
			Name    string
			Ph      string
			Pid     int64
			Tid     uint64
			Ts, Dur float64
			Args    map[string]any
		}
	}
	if err := json.Unmarshal(data, &trace); err != nil {
		return nil, fmt.Errorf("not a Chrome trace: %v", err)
	}
	type thread struct {
		pid int64
		tid uint64
	}
	names := make(map[thread]string)
	tracks := make(map[thread]*track)
	t := &timeline{from: math.Inf(1), to: math.Inf(-1)}
	for _, e := range trace.TraceEvents {
		id := thread{e.Pid, e.Tid}
		switch e.Ph {
		case "M":
			if name, ok := e.Args["name"].(string); ok && e.Name == "thread_name" {
				names[id] = name
			}
			continue
		case "X", "i":
		default:
			continue
		}
		if tracks[id] == nil {
			tracks[id] = &track{}
			if e.Pid == goroutines {
				tracks[id].goid = e.Tid
			}
		}
		if math.Abs(e.Ts) > maxTime || math.Abs(e.Dur) > maxTime {
			return nil, fmt.Errorf("%s is at %g µs for %g µs, which is no time since boot", e.Name, e.Ts, e.Dur)
		}
		entry := entry{name: e.Name, from: e.Ts, dur: max(e.Dur, 0), instant: e.Ph == "i", args: e.Args}
		tracks[id].entries = append(tracks[id].entries, entry)
		t.from, t.to = min(t.from, entry.from), max(t.to, entry.to())
	}
	if len(tracks) == 0 {
		return nil, errors.New("no events in the trace")
	}
	for id, track := range tracks {
		track.name = names[id]
		track.nest()
		t.tracks = append(t.tracks, track)
	}
	slices.SortFunc(t.tracks, func(a, b *track) int {
		switch {
		case a.goid == 0 && b.goid == 0:
			return cmp.Compare(a.name, b.name)
		case a.goid == 0:
			return 1
		case b.goid == 0:
			return -1
		}
		return cmp.Or(cmp.Compare(a.entries[0].from, b.entries[0].from), cmp.Compare(a.goid, b.goid))
	})
	return t, nil
}

// nest puts the entries in order, and into rows.
func (t *track) nest() {
	slices.SortStableFunc(t.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.dur, a.dur))
	})
	// Times are decimal fractions, so sums of them may be off by a little.
	const epsilon = 1e-4
	var open []float64 // the ends of the slices that have not ended
	for i := range t.entries {
		e := &t.entries[i]
		for len(open) > 0 && (open[len(open)-1] < e.to()-epsilon || !e.instant && open[len(open)-1] < e.from+epsilon) {
			open = open[:len(open)-1]
		}
		e.row = len(open)
		t.rows = max(t.rows, e.row+1)
		if !e.instant {
			open = append(open, e.to())
		}
	}
}

// cut leaves what is in a window: from a time since boot on, for a duration. 0 is from the
// beginning, and to the end.
func (t *timeline) cut(from, dur time.Duration) error {
	first, last := t.from, t.to
	if from > 0 {
		t.from = float64(from) / float64(time.Microsecond)
	}
	if dur > 0 {
		t.to = t.from + float64(dur)/float64(time.Microsecond)
	}
	for _, track := range t.tracks {
		track.entries = slices.DeleteFunc(track.entries, func(e entry) bool {
			return e.to() < t.from || e.from > t.to
		})
		track.rows = 0
		for _, e := range track.entries {
			track.rows = max(track.rows, e.row+1)
		}
	}
	t.tracks = slices.DeleteFunc(t.tracks, func(t *track) bool { return len(t.entries) == 0 })
	if len(t.tracks) == 0 {
		return fmt.Errorf("no events in that time: the trace is from %s to %s after boot", formatSince(first), formatSince(last))
	}
	return nil
}

// busiest leaves the tracks that have the most entries, and returns how many it left out.
func (t *timeline) busiest(n int) (omitted int) {
	if len(t.tracks) <= n {
		return 0
	}
	omitted = len(t.tracks) - n
	byEntries := slices.SortedStableFunc(slices.Values(t.tracks), func(a, b *track) int {
		return cmp.Compare(len(b.entries), len(a.entries))
	})
	t.tracks = slices.DeleteFunc(t.tracks, func(track *track) bool {
		return !slices.Contains(byEntries[:n], track)
	})
	return omitted
}
