package kprobes

import (
	"sync"
	"time"

	"tamaprobe/arch/amd64"
	"tamaprobe/symtab"
)

// The optimizer replaces breakpoints by jumps to detours (see amd64.Detour), where that
// can be done. A probe is always registered with a breakpoint; some time later the
// optimizer, a goroutine, switches all that can be switched. Whatever changes about an
// optimized site turns it back into a breakpoint first.

// optimizeDelay is how long the optimizer lets changes gather.
const optimizeDelay = 20 * time.Millisecond

// All guarded by mu.
var (
	optimization = true // see SetOptimization
	pending      = make(map[*site]bool)
	toOptimize   = sync.NewCond(&mu) // pending is not empty
	arrivals     *amd64.Arrivals
)

// optimizer is the goroutine.
func optimizer() {
	for {
		mu.Lock()
		for len(pending) == 0 {
			toOptimize.Wait()
		}
		mu.Unlock()
		time.Sleep(optimizeDelay)
		WaitOptimizer()
	}
}

// WaitOptimizer returns when the optimizer has dealt with everything that happened
// before. Goroutine context.
func WaitOptimizer() {
	mu.Lock()
	defer mu.Unlock()
	optimizePending()
}

// SetOptimization says whether probes are optimized, which they are at first. When it
// returns after turning that off, none is. Goroutine context.
func SetOptimization(on bool) {
	mu.Lock()
	defer mu.Unlock()
	if optimization == on {
		return
	}
	optimization = on
	for _, s := range sites {
		s.reconsider()
	}
	if !on {
		all := make([]*site, 0, len(sites))
		for _, s := range sites {
			all = append(all, s)
		}
		unoptimize(all)
	}
}

// Optimization returns what SetOptimization set. Goroutine context.
func Optimization() bool {
	mu.Lock()
	defer mu.Unlock()
	return optimization
}

// Unoptimizable says why a registered probe is not optimized, and will not be while
// that is so; nil if it is, or will soon be. Goroutine context.
func Unoptimizable(p *Kprobe) error {
	mu.Lock()
	defer mu.Unlock()
	if p.site == nil {
		return &amd64.RegionError{Reason: "the probe is not registered"}
	}
	return p.site.unoptimizable()
}

// Detour returns where the code is that an optimized probe's jump leads to; ok is false if
// the probe is not optimized. Goroutine context.
func Detour(p *Kprobe) (lo, hi uintptr, ok bool) {
	mu.Lock()
	defer mu.Unlock()
	if p.site == nil || p.site.detour == nil {
		return 0, 0, false
	}
	lo, hi = p.site.detour.Range()
	return lo, hi, true
}

// reconsider makes the optimizer look at s, which has changed. mu is held.
func (s *site) reconsider() {
	pending[s] = true
	toOptimize.Signal()
}

// around returns the sites in front of addr that could have addr in their region. mu is
// held.
func around(addr uintptr) (list []*site) {
	const reach = 40 // more than a region, and than a stack check
	for a := addr - reach; a < addr; a++ {
		if s := siteAt(a); s != nil {
			list = append(list, s)
		}
	}
	return list
}

// unoptimizable returns why s cannot be optimized now. mu is held.
func (s *site) unoptimizable() error {
	if !s.armed {
		return &amd64.RegionError{Reason: "the probe is not armed"}
	}
	return s.unoptimizableArmed()
}

// unoptimizableArmed returns why s could not be optimized if it were armed. mu is held.
func (s *site) unoptimizableArmed() error {
	switch {
	case !optimization:
		return &amd64.RegionError{Reason: "optimization is off"}
	case s.active.post:
		return &amd64.RegionError{Reason: "there is a post handler"}
	}
	findArrivals()
	fn, _ := symtab.Find(s.point.Addr())
	end, err := s.point.CanDetour(function(fn), arrivals)
	if err != nil {
		return err
	}
	for a := s.point.Addr() + 1; a < end; a++ {
		if siteAt(a) != nil {
			return &amd64.RegionError{Reason: "another probe is in the instructions that a jump would replace"}
		}
	}
	return nil
}

func function(fn symtab.Func) amd64.Function {
	return amd64.Function{Entry: fn.Entry(), End: fn.End(), Deferreturn: fn.Deferreturn(), Assembly: fn.IsAssembly()}
}

// findArrivals looks through the image, once. mu is held.
func findArrivals() {
	if arrivals != nil {
		return
	}
	functions := make([]amd64.Function, 0, symtab.Len())
	for fn := range symtab.All() {
		functions = append(functions, function(fn))
	}
	lo, hi := symtab.Data()
	arrivals = amd64.FindArrivals(functions, []amd64.Range{{Lo: lo, Hi: hi}})
	// A new goroutine returns to the instruction behind goexit's first, a NOP
	// (runtime.newproc1).
	for _, fn := range symtab.Lookup("runtime.goexit") {
		arrivals.Mark(fn.Entry() + 1)
	}
}

// optimizePending switches what can be switched. mu is held.
func optimizePending() {
	freeFollowers()
	var detours []*amd64.Detour
	for s := range pending {
		delete(pending, s)
		if siteAt(s.point.Addr()) != s || s.detour != nil || s.unoptimizable() != nil {
			continue
		}
		if s.newDetour() == nil {
			detours = append(detours, s.detour)
		}
	}
	if len(detours) > 0 {
		amd64.JumpToDetours(detours)
	}
}

// detoursOf makes the detours of sites that are about to be armed, without a jump yet. mu is held.
func detoursOf(ss []*site) (detours []*amd64.Detour) {
	for _, s := range ss {
		if s.wanted() && s.detour == nil && s.unoptimizableArmed() == nil && s.newDetour() == nil {
			detours = append(detours, s.detour)
		}
	}
	return detours
}

// newDetour makes s's detour, and lets hits go on in its copy of the instructions. mu is
// held.
func (s *site) newDetour() error {
	l := *s.active
	hit := l.hit()
	fn, _ := symtab.Find(s.point.Addr())
	d, err := s.point.NewDetour(function(fn), arrivals, hit)
	if err != nil {
		return err
	}
	l.detour = d
	l.resume = d.CopyAddr()
	if l.called != 0 {
		l.called = d.CallAddr()
	}
	s.detour = d
	s.point.SetResume(l.resume)
	s.active = &l
	enter(s.point.Addr(), &l)
	return nil
}

// hit describes l to a detour.
func (l *probeList) hit() *amd64.DetourHit {
	hit := &amd64.DetourHit{Guard: uintptr(refTo(l)), Leave: &leaveDetourFunc, Follow: l.follow()}
	for i, p := range l.probes[:len(l.probes)-1] {
		q := amd64.DetourProbe{
			Probe:   uintptr(refTo(p)),
			Off:     offOffset,
			Current: uintptr(refTo(&l.probes[i])),
			Handled: uintptr(refTo(&p.counts[0].handled)),
			Missed:  uintptr(refTo(&p.counts[0].missed)),
			TLS:     p.use&useTLS != 0,
			Locks:   p.use&useRuntime != 0,
		}
		if p.PreHandler != nil {
			q.Handler = amd64.FuncPointer(&p.pre)
		}
		l.locks = l.locks || q.Locks
		hit.Probes = append(hit.Probes, q)
	}
	return hit
}

var leaveDetourFunc = leaveDetour

// leaveDetour is called by a detour when a handler returned true.
//
//go:nosplit
func leaveDetour(r *amd64.Regs) bool { return cpuOf(r).leaves(r) }

// unoptimize puts breakpoints in the place of the jumps at those of the sites that have
// one. When it returns, no processor is in their detours. mu is held.
func unoptimize(ss []*site) {
	var detours []*amd64.Detour
	var optimized []*site
	for _, s := range unique(ss) {
		if s.detour != nil {
			detours = append(detours, s.detour)
			optimized = append(optimized, s)
		}
	}
	if len(detours) == 0 {
		return
	}
	amd64.RemoveDetours(detours)
	for _, s := range optimized {
		s.detour = nil
		s.point.SetResume(0)
		s.publish()
	}
	amd64.FreeDetours(detours)
}
