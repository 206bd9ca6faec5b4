package kprobes

import (
	"sync/atomic"

	"tamaprobe/arch/amd64"
)

// A site is an instruction with probes.
type site struct {
	point  *amd64.Point
	probes []*Kprobe // in order of registration; guarded by mu

	// active are the probes whose handlers a hit calls. The list is replaced,
	// never changed: a hit works with the one it found.
	active atomic.Pointer[probeList]
}

type probeList struct {
	probes []*Kprobe
	post   bool // one of them has a post handler
}

// publish makes hits see the site's probes as they are now. mu is held.
func (s *site) publish() {
	l := &probeList{probes: append([]*Kprobe(nil), s.probes...)}
	for _, p := range l.probes {
		l.post = l.post || p.PostHandler != nil
	}
	s.active.Store(l)
}
