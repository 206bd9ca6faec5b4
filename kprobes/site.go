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

	// follower is what follows calls while there is a breakpoint; guarded by mu.
	follower follower

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

	// called is where a hit goes on that machine code deals with, handlers and all; else 0.
	called uintptr

	detour *amd64.Detour // whose hits use this list
	locks  bool          // the detour notes the count of runtime locks
}

// siteAt returns the site at addr, nil if there is none. It asks the table, not the map: that is slow to
// find that something is not there after much was deleted from it. mu is held.
func siteAt(addr uintptr) *site {
	if l := lookup(addr); l != nil {
		return l.site
	}
	return nil
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
	s.follow(l)
	s.active = l
	enter(s.point.Addr(), l)
}

// A follower is the code that does for a hit by breakpoint what a return probe takes.
type follower struct {
	*amd64.Detour            // nil if there is none
	list          *probeList // for it
	resume        uintptr    // where it goes on
}

// follow makes hits of l, which is not optimized, go on at a follower if there can be one. mu is
// held.
func (s *site) follow(l *probeList) {
	if l.follow() == nil || l.resume == 0 {
		s.dropFollower()
		return
	}
	if f := &s.follower; f.Detour == nil || f.list.probes[0] != l.probes[0] || f.resume != l.resume {
		s.dropFollower()
		own := *l
		d, err := s.point.NewFollower(own.hit())
		if err != nil {
			return
		}
		own.detour = d
		s.follower = follower{d, &own, l.resume}
	}
	l.called = s.follower.CallAddr()
}

// dropFollower lets go of the follower, which may still be in use. mu is held.
func (s *site) dropFollower() {
	if s.follower.Detour != nil {
		oldFollowers = append(oldFollowers, s.follower)
		s.follower = follower{}
	}
}

// oldFollowers are those that no hit goes on at any more. Guarded by mu.
var oldFollowers []follower

// freeFollowers frees them when no processor is in them. It is to be called before
// what they lead to is freed. mu is held.
func freeFollowers() {
	if len(oldFollowers) == 0 {
		return
	}
	ds := make([]*amd64.Detour, len(oldFollowers))
	for i, f := range oldFollowers {
		ds[i] = f.Detour
	}
	amd64.FreeDetours(ds)
	oldFollowers = nil
}

// alone reports whether no other site is in the rest of a function's stack check. mu is
// held.
func (s *site) alone() bool {
	lo, hi := s.point.Rest()
	for addr := lo; addr < hi; addr++ {
		if siteAt(addr) != nil {
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
