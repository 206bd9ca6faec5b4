package tracer

import (
	"errors"
	"slices"
	"syscall"

	"tamaprobe/kprobes"
	"tamaprobe/kprobes/event"
)

// SetFilter gives an event another condition, the EXPR of `if EXPR`, or none if it is "". The event is
// defined anew: the one that is returned takes its place, with figures from zero; what was recorded
// stays. Hits while the probes are changed are not recorded. A condition that is refused
// changes nothing. Goroutine context.
func (t *Tracer) SetFilter(e *Event, expr string) (*Event, error) {
	if e.IsAggregation() || e.mirror != nil {
		return nil, refuse(syscall.EINVAL, "%s: only events that p and r define can be given another condition", e.Name())
	}
	bare := *e.Definition
	bare.Filter = nil
	line := bare.String()
	if expr != "" {
		line += " if " + expr
	}
	d, err := event.Parse(line, &target{Tracer: t})
	if err != nil {
		return nil, t.logged(moved(err, expr, len(line)))
	}
	next := &Event{Definition: d, tracer: t, made: e.made}
	if err := t.replace(e, next); err != nil {
		return nil, t.logged(moved(err, expr, len(line)))
	}
	return next, nil
}

// replace puts next in the place of the event e.
func (t *Tracer) replace(e, next *Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.events, e)
	if i < 0 {
		return refuse(syscall.ENOENT, "%s: no such event; events lists them", e.Name())
	}
	// Disabled until the other one is gone: no hit is recorded twice.
	if err := t.install(next, kprobes.FlagDisabled); err != nil {
		return err
	}
	t.events[i] = next
	next.disabled = true
	err := e.unregister()
	if !e.disabled {
		err = errors.Join(err, next.setDisabled(false))
	}
	return err
}
