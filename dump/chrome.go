package dump

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// Processes of the trace. Goroutines are the threads of one. Hits that belong to no
// goroutine are in the other, whose threads are CPUs.
const (
	pidGoroutines = 1
	pidCPUs       = 2
)

// WriteChrome writes events, in any order, in Chrome's trace event format, which Perfetto
// and chrome://tracing read. A return is a slice on the track of its goroutine, any other
// hit is an instant.
func WriteChrome(w io.Writer, events []Event) error {
	// An error of the writer is kept by b until Flush.
	b := bufio.NewWriter(w)
	t := traceWriter{b: b, json: json.NewEncoder(b)}
	t.json.SetEscapeHTML(false)
	b.WriteString(`{"displayTimeUnit":"ns","traceEvents":[` + "\n")
	t.metadata(events)
	for _, i := range byStart(events) {
		t.event(&events[i])
	}
	b.WriteString("]}\n")
	return b.Flush()
}

// A traceWriter writes the elements of a trace's traceEvents.
type traceWriter struct {
	b    *bufio.Writer
	json *json.Encoder
	more bool // there is an element already
}

// A traceEvent is one of them.
type traceEvent struct {
	Name  string    `json:"name"`
	Phase string    `json:"ph"`
	Scope string    `json:"s,omitempty"`
	PID   int       `json:"pid"`
	TID   uint64    `json:"tid"`
	Time  *micros   `json:"ts,omitempty"`
	Dur   *micros   `json:"dur,omitempty"`
	Args  traceArgs `json:"args"`
}

func (t *traceWriter) put(e traceEvent) {
	if t.more {
		t.b.WriteByte(',')
	}
	t.more = true
	// Every string and number has a form in JSON, so this fails only as b does.
	t.json.Encode(e)
}

// metadata names the processes and threads that occur in events.
func (t *traceWriter) metadata(events []Event) {
	named := make(map[thread]bool)
	processes := make(map[int]bool)
	name := func(what string, pid int, tid uint64, name string) {
		t.put(traceEvent{Name: what, Phase: "M", PID: pid, TID: tid, Args: traceArgs{{"name", name}}})
	}
	for i := range events {
		e := &events[i]
		if named[e.thread()] {
			continue
		}
		named[e.thread()] = true
		pid, tid := e.track()
		process, thread := "tamaprobe", e.Goroutine
		switch {
		case pid == pidCPUs:
			process, thread = "tamaprobe, no goroutine", fmt.Sprintf("CPU %d", e.CPU)
		case thread == "":
			thread = "goroutine"
		}
		if !processes[pid] {
			processes[pid] = true
			name("process_name", pid, 0, process)
		}
		name("thread_name", pid, tid, thread)
	}
}

func (t *traceWriter) event(e *Event) {
	start := micros(e.start())
	args := append(traceArgs{}, e.Args...)
	// No argument's name can hold a $.
	args = append(args, Arg{"$place", e.Place}, Arg{"$cpu", strconv.Itoa(e.CPU)})
	pid, tid := e.track()
	j := traceEvent{Name: e.Name, Phase: "i", Scope: "t", PID: pid, TID: tid, Time: &start, Args: args}
	if e.Duration > 0 {
		duration := micros(e.Duration)
		j.Phase, j.Scope, j.Dur = "X", "", &duration
	}
	t.put(j)
}

// track is where the event is shown. Thread 0 is the idle thread to Perfetto, so CPUs are
// counted from 1.
func (e *Event) track() (pid int, tid uint64) {
	if e.Goid == 0 {
		return pidCPUs, uint64(e.CPU) + 1
	}
	return pidGoroutines, e.Goid
}

// micros are nanoseconds, written as the microseconds that the format has, exactly.
type micros int64

func (m micros) MarshalJSON() ([]byte, error) {
	n, sign := uint64(m), ""
	if m < 0 {
		n, sign = -n, "-"
	}
	return fmt.Appendf(nil, "%s%d.%03d", sign, n/1000, n%1000), nil
}

// traceArgs are written as an object, in their order.
type traceArgs []Arg

func (args traceArgs) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, a := range args {
		name, err := json.Marshal(a.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(a.Value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}
