package tracer

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"

	"tamaprobe/arch/amd64"
	"tamaprobe/goruntime"
	"tamaprobe/kprobes/aggregate"
	"tamaprobe/kprobes/event"
)

// An aggregation adds hits up instead of recording them.
type aggregation interface {
	// add adds a hit. It reports false if the value could not be read. Handler context.
	add(c *cpu, p *point, r *amd64.Regs, rec []byte, duration uint64) bool
	// append prints the result.
	append(dst []byte, e *Event, s View) []byte
	clear()
	// measures reports whether it needs the time that calls take.
	measures() bool
	// keys returns how hits are told apart, and whether the first argument is a value.
	keys() (k keys, isHist bool)
	// options returns the options that it was defined with.
	options() string
}

// A View says how an aggregation is printed.
type View struct {
	Top   int // of counts, stacks and keys; 0: all
	Width int // of a line; 0: bars have a width of their own
	Color bool
}

// How many keys and stacks there is room for, on each processor.
const (
	maxKeys     = 8192 // more than there are functions
	maxHistKeys = 128
	maxStacks   = 512
)

// aggregationGroup is the group of events that add up.
const aggregationGroup = "sum"

// AggregationHelp lists what Aggregate executes, and how it is written.
var AggregationHelp = []string{
	"count PLACE [KEY...] [if EXPR]",
	"hist [-l LOW,HIGH,STEP] PLACE VALUE [KEY...] [if EXPR]",
	"latency SYMBOL [KEY...] [if EXPR]",
	"stacks PLACE [if EXPR]",
}

// Aggregate executes a line count, hist, latency or stacks, with an event's name behind a colon if
// it is to have one: it places the probes of an event whose hits are added up. A line that is
// refused changes nothing. Goroutine context.
func (t *Tracer) Aggregate(line string) (*Event, error) {
	head, rest := cutWord(line)
	verb, name, named := strings.Cut(head, ":")
	kind := "p:"
	var linear []int64
	switch verb {
	case "latency":
		kind = "r:"
	case "hist":
		var err error
		if linear, rest, err = cutLinear(line, rest); err != nil {
			return nil, t.logged(err)
		}
	}
	if named && name == "" {
		return nil, refuse(syscall.EINVAL, "%s: there is no name behind the colon", head)
	}
	prefix := kind + aggregationGroup + "/" + name + " "
	d, err := event.Parse(prefix+rest, &target{Tracer: t})
	if err != nil {
		return nil, t.logged(moved(err, line, len(prefix)+len(rest)))
	}
	if !named {
		d.Event = ""
		d.Event = verb + strings.TrimLeft(d.EventName(), "pr")
	}
	e := &Event{Definition: d, tracer: t, command: verb}
	e.aggregation, err = newAggregation(verb, d, linear)
	if err == nil {
		e.made = !named
		err = t.add(e)
	}
	if err != nil {
		return nil, t.logged(moved(err, line, len(prefix)+len(rest)))
	}
	return e, nil
}

// moved makes an error about a line that was made of one that a person typed an error about that:
// both end alike.
func moved(err error, line string, length int) error {
	e, ok := err.(*event.Error)
	if !ok {
		return err
	}
	moved := *e
	moved.Line = line
	moved.Column = max(1, e.Column-length+len(line))
	return &moved
}

func cutWord(s string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.TrimSpace(s), " ")
	return word, strings.TrimSpace(rest)
}

// cutLinear reads -l LOW,HIGH,STEP, if it is there, at the beginning of s, which ends as the line does.
func cutLinear(line, s string) (linear []int64, rest string, err error) {
	option, after := cutWord(s)
	if option != "-l" {
		return nil, s, nil
	}
	fail := func(format string, args ...any) ([]int64, string, error) {
		column := len(strings.TrimRight(line, " ")) - len(after) + 1
		return nil, "", &event.Error{Line: line, Column: column, Errno: syscall.EINVAL, Message: fmt.Sprintf(format, args...)}
	}
	word, rest := cutWord(after)
	if word == "" {
		return fail("-l needs LOW,HIGH,STEP")
	}
	var low, high, step int64
	if n, err := fmt.Sscanf(word+";", "%d,%d,%d;", &low, &high, &step); n != 3 || err != nil {
		return fail("%s: not LOW,HIGH,STEP, three numbers", word)
	}
	if _, err := aggregate.NewLinearHist(1, 1, low, high, step); err != nil {
		return fail("%v", err)
	}
	return []int64{low, high, step}, rest, nil
}

func newAggregation(verb string, d *event.Definition, linear []int64) (aggregation, error) {
	cpus := amd64.CPULimit()
	fail := func(column int, format string, args ...any) error {
		return &event.Error{Line: d.Line, Column: column, Errno: syscall.EINVAL, Message: fmt.Sprintf(format, args...)}
	}
	k := keys{first: 0, byFunction: d.Place.Glob}
	switch verb {
	case "count":
		return &counts{k, aggregate.NewCount(cpus, maxKeys)}, nil
	case "latency":
		return &hists{k: k, latency: true, hist: aggregate.NewLatency(cpus, maxHistKeys)}, nil
	case "stacks":
		if hasArgs(d) {
			return nil, fail(d.Args[0].Column, "stacks takes no arguments: it counts by call stack")
		}
		return &stacks{aggregate.NewStacks(cpus, maxStacks)}, nil
	case "hist":
		if !hasArgs(d) {
			return nil, fail(len(d.Line)+1, "hist needs the value: an integer argument such as $arg1, %%ax or a Go variable")
		}
		k.first = 1
		if linear == nil {
			return &hists{k: k, hist: aggregate.NewHist(cpus, maxHistKeys)}, nil
		}
		h, err := aggregate.NewLinearHist(cpus, maxHistKeys, linear[0], linear[1], linear[2])
		return &hists{k: k, linear: fmt.Sprintf("-l %d,%d,%d", linear[0], linear[1], linear[2]), hist: h}, err
	}
	return nil, refuse(syscall.EINVAL, "%s: there are count, hist, latency and stacks", verb)
}

// hasArgs reports whether a definition has arguments, besides those of its filter.
func hasArgs(d *event.Definition) bool { return len(d.Args) > 0 && !d.Args[0].Hidden }

// check refuses arguments that cannot be keys or values. It is called for every point.
func (e *Event) check(p *point) error {
	k, isHist := e.aggregation.keys()
	if isHist && len(p.fields) > 0 && k.first == 1 && !p.fields[0].IsInteger() {
		return at(e.Definition, e.Definition.Args[0].Column, fmt.Errorf("%s is no integer: hist needs one", p.fields[0].Name()))
	}
	for i := k.first; i < len(p.fields); i++ {
		if f := p.fields[i]; !f.HasKey() {
			return at(e.Definition, e.Definition.Args[i].Column,
				fmt.Errorf("%s cannot be a key: keys are integers, strings and interfaces, not structs, slices or arrays", f.Name()))
		}
	}
	return nil
}

// keys make the key of a hit: the function if there are several, and the arguments from first on,
// each behind its length.
type keys struct {
	first      int
	byFunction bool
}

// key returns a hit's key, nil if there is none. Handler context.
func (k *keys) key(c *cpu, p *point, rec []byte) []byte {
	n := 0
	if k.byFunction {
		binary.LittleEndian.PutUint64(c.key[:], uint64(p.id))
		n = 8
	}
	for i := k.first; i < len(p.fields) && n+2 < len(c.key); i++ {
		length := p.fields[i].Key(c.key[n+1:], rec)
		length = min(length, 255)
		c.key[n] = byte(length)
		n += 1 + length
	}
	if n == 0 {
		return nil
	}
	return c.key[:n]
}

// append prints a key.
func (k *keys) append(dst []byte, e *Event, key []byte) []byte {
	p := e.points[0]
	if k.byFunction && len(key) >= 8 {
		if q := e.tracer.point(uint32(binary.LittleEndian.Uint64(key))); q != nil {
			p = q
		}
		dst = append(dst, symbol(p.addr)...)
		key = key[8:]
		if len(key) > 0 {
			dst = append(dst, ' ')
		}
	}
	for i := k.first; i < len(p.fields) && len(key) > 0; i++ {
		length := min(int(key[0]), len(key)-1)
		if i > k.first {
			dst = append(dst, ", "...)
		}
		dst = p.fields[i].AppendKey(dst, key[1:1+length], &target{Tracer: e.tracer})
		key = key[1+length:]
	}
	return dst
}

// style is how package aggregate is to print.
func (k *keys) style(e *Event, v View) *aggregate.Style {
	return &aggregate.Style{Width: v.Width, Color: v.Color,
		Key: func(dst, key []byte) []byte { return k.append(dst, e, key) }}
}

// counts is `count`.
type counts struct {
	k     keys
	count *aggregate.Count
}

func (a *counts) add(c *cpu, p *point, _ *amd64.Regs, rec []byte, _ uint64) bool {
	a.count.Add(c.hit.CPU, a.k.key(c, p, rec), 1)
	return true
}

func (a *counts) append(dst []byte, e *Event, v View) []byte {
	s := a.count.Snapshot()
	if v.Top > 0 {
		s = s.Top(v.Top)
	}
	return a.k.style(e, v).AppendCounts(dst, s)
}

func (a *counts) clear()             { a.count.Clear() }
func (a *counts) measures() bool     { return false }
func (a *counts) keys() (keys, bool) { return a.k, false }
func (a *counts) options() string    { return "" }

// hists is `hist` and `latency`.
type hists struct {
	k       keys
	latency bool
	linear  string // the option for a linear one
	hist    *aggregate.Hist
	unread  atomic.Uint64 // hits whose value could not be read
}

func (a *hists) add(c *cpu, p *point, _ *amd64.Regs, rec []byte, duration uint64) bool {
	value := int64(duration)
	if !a.latency {
		var ok bool
		if value, ok = p.fields[0].Int(rec); !ok {
			a.unread.Add(1)
			return false
		}
	}
	a.hist.Add(c.hit.CPU, a.k.key(c, p, rec), value)
	return true
}

func (a *hists) append(dst []byte, e *Event, v View) []byte {
	s := a.hist.Snapshot()
	if v.Top > 0 {
		s = s.Top(v.Top)
	}
	dst = a.k.style(e, v).AppendHists(dst, s)
	if n := a.unread.Load(); n > 0 {
		dst = fmt.Appendf(dst, "lost: %d hits, whose value could not be read\n", n)
	}
	return dst
}

func (a *hists) clear() {
	a.hist.Clear()
	a.unread.Store(0)
}

func (a *hists) measures() bool     { return a.latency }
func (a *hists) keys() (keys, bool) { return a.k, !a.latency }
func (a *hists) options() string    { return a.linear }

// stacks is `stacks`.
type stacks struct{ stacks *aggregate.Stacks }

func (a *stacks) add(c *cpu, _ *point, r *amd64.Regs, _ []byte, _ uint64) bool {
	n := goruntime.Callers(uintptr(r.PC), uintptr(r.SP), r.G, c.pcs[:])
	c.pcs[0] = uintptr(r.PC) // Callers gives the address behind it, as for a call
	a.stacks.Add(c.hit.CPU, c.pcs[:n])
	return true
}

func (a *stacks) append(dst []byte, _ *Event, v View) []byte {
	s := a.stacks.Snapshot()
	if v.Top > 0 {
		s = s.Top(v.Top)
	}
	style := &aggregate.Style{Width: v.Width, Color: v.Color}
	return style.AppendStacks(dst, s, func(dst []byte, pc uintptr) []byte { return append(dst, Place(pc)...) })
}

func (a *stacks) clear()             { a.stacks.Clear() }
func (a *stacks) measures() bool     { return false }
func (a *stacks) keys() (keys, bool) { return keys{}, false }
func (a *stacks) options() string    { return "" }

// IsAggregation reports whether the event's hits are added up.
func (e *Event) IsAggregation() bool { return e.aggregation != nil }

// Append prints what an aggregation has added up. Goroutine context.
func (e *Event) Append(dst []byte, v View) []byte { return e.aggregation.append(dst, e, v) }

// Clear forgets it.
func (e *Event) Clear() {
	if e.aggregation != nil {
		e.aggregation.clear()
	}
}
