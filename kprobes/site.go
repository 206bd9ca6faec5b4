package kprobes

import (
	"tamaprobe/arch/amd64"
)

// A site is an instruction with probes.
type site struct {
	point  amd64.Point
	probes []*Kprobe     // in order of registration; guarded by mu
	armed  bool          // the breakpoint or the jump is there; guarded by mu
	detour *amd64.Detour // where the jump leads to, nil if there is none; guarded by mu

	// active is what a hit finds: the probes that are enabled; guarded by mu.
	active *probeList
}

// A probeList is what a hit finds in the table. It is never changed, but replaced: a
// hit works with the one it found.
type probeList struct {
	site   *site
	probes []*Kprobe // that are enabled, and nil behind the last
	entry  bool      // the instruction is a function's stack check
	post   bool      // one of them has a post handler
	faults bool      // one of them has a fault handler

	// step: there is, and the instruction is stepped in its copy and needs nothing
	// else.
	step bool

	// resume is where a hit goes on, if the handlers are all there is to do and the
	// instruction need not be emulated; else 0.
	resume uintptr

	detour *amd64.Detour // of an optimized site, whose hits use this list
	locks  bool          // the detour notes the count of runtime locks
}

// publish makes hits see the site's probes as they are now. It is not optimized. mu is
// held.
func (s *site) publish() {
	if s.point.IsEntry() {
		s.point.SetAlone(s.alone())
	}
	l := &probeList{
		site:   s,
		probes: make([]*Kprobe, 0, len(s.probes)+1),
		entry:  s.point.IsEntry(),
	}
	for _, p := range s.probes {
		if p.disabled {
			continue
		}
		l.probes = append(l.probes, p)
		l.post = l.post || p.PostHandler != nil
		l.faults = l.faults || p.FaultHandler != nil
	}
	l.probes = append(l.probes, nil)
	if l.post {
		l.step = s.point.IsPlain()
	} else {
		l.resume = s.point.ResumeAddr()
	}
	s.active = l
	enter(s.point.Addr(), l)
}

// alone reports whether no other site is in the rest of a function's stack check. mu is
// held.
func (s *site) alone() bool {
	lo, hi := s.point.Rest()
	for addr := lo; addr < hi; addr++ {
		if sites[addr] != nil {
			return false
		}
	}
	return true
}

// wanted reports whether the site's breakpoint should be there. mu is held.
func (s *site) wanted() bool {
	return enabled && len(s.active.probes) > 1
}

// arm puts the breakpoints of sites in place or takes them away, whichever is wanted,
// all at once. It always synchronizes: when it returns, no handler runs
// that is not in a published list. mu is held.
func arm(sites ...*site) {
	var on, off []*amd64.Point
	for _, s := range sites {
		if wanted := s.wanted(); wanted != s.armed {
			s.armed = wanted
			if wanted {
				on = append(on, &s.point)
			} else {
				off = append(off, &s.point)
			}
		}
	}
	if len(on)+len(off) > 0 {
		amd64.SetBreakpoints(on, off)
	} else {
		amd64.SyncCores()
	}
}
