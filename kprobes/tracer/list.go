package tracer

import (
	"fmt"
	"strings"
)

// Save returns a line that defines the event again.
func (e *Event) Save() string {
	d := e.Definition
	switch {
	case e.mirror != nil:
		return "jp " + d.Place.Symbol
	case e.aggregation == nil:
		return d.String()
	}
	_, rest := cutWord(d.String())
	if linear := e.aggregation.options(); linear != "" {
		rest = linear + " " + rest
	}
	return e.command + ":" + d.Event + " " + rest
}

// Type is p, r, or j for a mirror function.
func (e *Event) Type() string {
	if e.mirror != nil {
		return "j"
	}
	return string(rune(e.Definition.Kind))
}

// Disabled reports what SetDisabled set.
func (e *Event) Disabled() bool {
	e.tracer.mu.Lock()
	defer e.tracer.mu.Unlock()
	return e.disabled
}

// Figures are what became of an event's hits.
type Figures struct {
	Hits   uint64 // all
	Missed uint64 // inside handlers, or for want of an instance: nothing is known of them

	Recorded, Filtered, Quiet uint64
	Lost                      uint64 // dropped for want of room in the buffer, or of a value
	Abandoned                 uint64 // calls that did not return
}

// Figures returns what became of the event's hits.
func (e *Event) Figures() (f Figures) {
	for _, p := range e.points {
		f.Hits += p.kprobe.Nhit()
		f.Missed += p.kprobe.Nmissed()
		if rp := p.kretprobe; rp != nil {
			f.Missed += rp.Nlost()
			f.Abandoned += rp.Nabandoned()
		}
		for i := range p.tallies {
			t := &p.tallies[i]
			f.Recorded += t.recorded.Load()
			f.Filtered += t.filtered.Load()
			f.Lost += t.lost.Load()
			f.Quiet += t.quiet.Load()
		}
	}
	return f
}

// Profile prints hits and misses in the form of Linux's kprobe_profile.
func (t *Tracer) Profile() string {
	var b strings.Builder
	for _, e := range t.Events() {
		f := e.Figures()
		fmt.Fprintf(&b, "  %-44s %15d %15d\n", e.Definition.Event, f.Hits-f.Missed, f.Missed)
	}
	return b.String()
}

// BootOption returns the events' definitions as the kernel command line takes them.
func BootOption(lines []string) string {
	return "'kprobe_event=" + strings.Join(lines, ";") + "'"
}

// SplitBootOption splits the value of kprobe_event into definitions, which semicolons separate. As
// on Linux a comma stands for a blank, unless it is in quotes or brackets.
func SplitBootOption(value string) (lines []string) {
	depth, quoted, start := 0, false, 0
	b := []byte(value)
	for i, c := range b {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '(' || c == '{':
			depth++
		case c == ']' || c == ')' || c == '}':
			depth--
		case c == ',' && depth <= 0:
			b[i] = ' '
		case c == ';' && depth <= 0:
			lines = append(lines, string(b[start:i]))
			start = i + 1
		}
	}
	return append(lines, string(b[start:]))
}
