package kprobes

import (
	"errors"
	"slices"
	"sync"
	"syscall"

	"tamaprobe/arch/amd64"
	"tamaprobe/symtab"
	"tamaprobe/trap"
)

// mu is held while probes are registered, unregistered, enabled and disabled. No hit
// waits for it.
var (
	mu         sync.Mutex
	registered = sync.NewCond(&mu)       // sites is not empty
	sites      = make(map[uintptr]*site) // all, by address
	enabled    = true                    // see SetEnabled
)

// start prepares the engine at the first registration.
var start = sync.OnceValue(func() error {
	if err := trap.Install(); err != nil {
		return err
	}
	initTable()
	initBoundaries()
	failureRings = make([]failureRing, amd64.CPULimit())
	for _, v := range faultVectors {
		if err := trap.Register(v, &trap.Notifier{
			Name: "kprobes", Priority: trap.PriorityProbe, Handle: fault, Integer: true,
		}); err != nil {
			return err
		}
	}
	for i := range amd64.CPULimit() {
		if c := (*cpu)(amd64.HitStateOf(i)); c != nil {
			c.CountOffset = uintptr(i) * countSize
			cpus[i] = refTo(c)
		}
	}
	amd64.SetProbeHandlers(breakpoint, debug)
	amd64.HookThrow()
	go reporter()
	go optimizer()
	return nil
})

// started prepares the engine for an operation on p. mu is held.
func started(op string, p *Kprobe) error {
	if err := start(); err != nil {
		return failed(op, p, syscall.ENOSYS, "%v", err)
	}
	return nil
}

// Register puts a probe in place. When it returns, every execution of the
// instruction on any processor hits the probe. Goroutine context.
func Register(p *Kprobe) error { return RegisterAll([]*Kprobe{p}) }

// RegisterAll registers several probes, or none of them if one cannot be. That takes
// less time than to register them one by one. Goroutine context.
func RegisterAll(ps []*Kprobe) error {
	mu.Lock()
	defer mu.Unlock()
	reportFailures()
	touched := make([]*site, 0, len(ps))
	for i, p := range ps {
		s, err := add(p)
		if err != nil {
			drop(ps[:i])
			return err
		}
		touched = append(touched, s)
	}
	begin(touched)
	return nil
}

// RegisterEach registers those of several probes that can be, in the time that a batch takes.
// It returns an error for each that cannot be, and nil for the others. Goroutine context.
func RegisterEach(ps []*Kprobe) []error {
	mu.Lock()
	defer mu.Unlock()
	reportFailures()
	errs := make([]error, len(ps))
	touched := make([]*site, 0, len(ps))
	for i, p := range ps {
		s, err := add(p)
		if err != nil {
			errs[i] = err
			continue
		}
		touched = append(touched, s)
	}
	begin(touched)
	return errs
}

// begin lets sites be hit to which probes were added. mu is held.
func begin(touched []*site) {
	touched = unique(touched)
	disturb(touched)
	for _, s := range touched {
		s.publish()
	}
	var detours []*amd64.Detour
	if len(touched) > largeBatch {
		detours = detoursOf(touched)
	}
	if slices.ContainsFunc(touched, func(s *site) bool { return s.wanted() != s.armed }) {
		arm(touched...)
	}
	if len(detours) > 0 {
		amd64.JumpToDetours(detours)
	}
}

// largeBatch is what more probes are optimized with at once. They may be at everything that runs, the
// optimizer included, which would take minutes once each of its calls is a breakpoint.
const largeBatch = 1000

// disturb is called for sites that are about to change, or have appeared or gone: it takes
// back their optimization and that of sites that have them in their region, until the
// optimizer looks at them again, and publishes entries whose stack checks they are in.
// mu is held.
func disturb(changed []*site) {
	all := slices.Clone(changed)
	for _, s := range changed {
		all = append(all, around(s.point.Addr())...)
	}
	all = unique(all)
	unoptimize(all)
	for _, s := range all {
		if siteAt(s.point.Addr()) != s {
			continue
		}
		s.reconsider()
		if s.point.IsEntry() {
			s.publish()
		}
	}
}

// unique removes the repetitions from a list of sites.
func unique(list []*site) []*site {
	seen := make(map[*site]bool, len(list))
	return slices.DeleteFunc(list, func(s *site) bool {
		was := seen[s]
		seen[s] = true
		return was
	})
}

// Unregister takes a probe away. When it returns, none of its handlers runs or
// will run. Goroutine context.
func Unregister(p *Kprobe) error { return UnregisterAll([]*Kprobe{p}) }

// UnregisterAll unregisters several probes. The error is about those that are not
// registered; the others are unregistered all the same. Goroutine context.
func UnregisterAll(ps []*Kprobe) error {
	mu.Lock()
	defer mu.Unlock()
	reportFailures()
	var errs []error
	known := make([]*Kprobe, 0, len(ps))
	seen := make(map[*Kprobe]bool, len(ps))
	for _, p := range ps {
		if p.site == nil || seen[p] {
			errs = append(errs, failed("unregister", p, syscall.EINVAL, "the probe is not registered"))
			continue
		}
		seen[p] = true
		known = append(known, p)
	}
	drop(known)
	return errors.Join(errs...)
}

// Enable makes hits call a probe's handlers again, also after one of them failed.
// Goroutine context.
func Enable(p *Kprobe) error { return setDisabled("enable", p, false) }

// Disable keeps hits from calling a probe's handlers, and from being counted. When
// it returns, none of its handlers runs. Goroutine context.
func Disable(p *Kprobe) error { return setDisabled("disable", p, true) }

func setDisabled(op string, p *Kprobe, disabled bool) error {
	mu.Lock()
	defer mu.Unlock()
	reportFailures()
	s := p.site
	if s == nil {
		return failed(op, p, syscall.EINVAL, "the probe is not registered")
	}
	if p.disabled == disabled {
		return nil
	}
	p.disabled = disabled
	if !disabled {
		p.faulted = false
		p.off = 0
	}
	p.setReturns()
	s.update()
	return nil
}

// update makes the site what the state of its probes says. When it returns, no handlers
// of probes that are not enabled run. mu is held.
func (s *site) update() {
	disturb([]*site{s})
	s.publish()
	arm(s)
}

// SetEnabled arms or disarms all probes, those registered later included. What is
// enabled or disabled by itself stays so. When it returns after disarming, no
// handler runs. Goroutine context.
func SetEnabled(on bool) {
	mu.Lock()
	defer mu.Unlock()
	if start() != nil || enabled == on {
		return
	}
	enabled = on
	all := make([]*site, 0, len(sites))
	for _, s := range sites {
		all = append(all, s)
	}
	disturb(all)
	arm(all...)
}

// Enabled returns what SetEnabled set: true at first. Goroutine context.
func Enabled() bool {
	mu.Lock()
	defer mu.Unlock()
	return enabled
}

// add adds p to the site at its address, which it creates if there is none. mu is
// held.
func add(p *Kprobe) (*site, error) {
	const op = "register"
	if err := started(op, p); err != nil {
		return nil, err
	}
	if p.site != nil {
		return nil, failed(op, p, syscall.EBUSY, "the probe is already registered")
	}
	if p.Flags&^FlagDisabled != 0 {
		return nil, failed(op, p, syscall.EINVAL, "flags %#x cannot be set", p.Flags&^FlagDisabled)
	}
	addr, fn, err := p.resolve(op)
	if err != nil {
		return nil, err
	}
	s := siteAt(addr)
	if s == nil {
		s = new(site)
		if err := s.point.Prepare(addr, addr == fn.Entry()); err != nil {
			var perr *amd64.PointError
			if errors.As(err, &perr) {
				return nil, failed(op, p, perr.Errno, "%s", perr.Reason)
			}
			return nil, failed(op, p, syscall.EINVAL, "%v", err)
		}
		s.publish()
		sites[addr] = s
		if len(sites) == 1 {
			registered.Signal()
		}
	}
	p.prepare()
	if rp := p.kretprobe(); rp != nil {
		rp.returns.Returned = uintptr(refTo(&p.counts[0].returned))
	}
	p.Addr = addr
	p.site = s
	s.probes = append(s.probes, p)
	return s, nil
}

// prepare sets what hits use of p. mu is held.
func (p *Kprobe) prepare() {
	p.disabled = p.Flags&FlagDisabled != 0
	p.faulted = false
	p.off = 0
	p.setReturns()
	p.counts = make([]count, amd64.CPULimit())
	p.pre, p.post = p.PreHandler, p.PostHandler
	switch {
	case p.pre == nil:
		p.pre, p.use = noPreHandler, 0
	case p.mirror != nil:
		p.use = usesOf(code(p.mirror)) | useTLS // to call it takes assembly, which asks
	case code(p.pre) == code(enterCall):
		p.use = 0
		if p.entryCode != 0 {
			p.use = usesOf(p.entryCode)
		}
	default:
		p.use = usesOf(code(p.pre))
	}
	if p.use&useSSE != 0 {
		p.pre, p.use = preSaved, useUnknown
	}
	if p.post != nil && usesOf(code(p.post))&useSSE != 0 {
		p.post = postSaved
	}
}

// setReturns lets returns know of the state of p. mu is held.
func (p *Kprobe) setReturns() {
	if rp := p.kretprobe(); rp != nil {
		rp.returns.Off[offDisabled] = 0
		if p.disabled {
			rp.returns.Off[offDisabled] = 1
		}
		if p.off == 0 {
			rp.returns.Off[offFailed] = 0
		}
	}
}

// silence keeps handlers of probes from being called that are about to go, until the function that it
// returns is called: otherwise they may slow down most of what takes them away.
func silence(ps []*Kprobe) (end func()) {
	off := make([]uint32, len(ps))
	for i, p := range ps {
		off[i] = p.off
		p.off = 1
	}
	return func() {
		for i, p := range ps {
			p.off = off[i]
		}
	}
}

// drop takes registered probes away. mu is held.
func drop(ps []*Kprobe) {
	touched := make([]*site, 0, len(ps))
	dropped := make(map[*Kprobe]bool, len(ps))
	for _, p := range ps {
		dropped[p] = true
		touched = append(touched, p.site)
		p.site = nil
	}
	if len(ps) > largeBatch {
		defer silence(ps)()
	}
	touched = unique(touched)
	disturb(touched)
	var free []*amd64.Point
	var gone []*site
	for _, s := range touched {
		s.probes = slices.DeleteFunc(s.probes, func(p *Kprobe) bool { return dropped[p] })
		s.publish()
	}
	if len(touched) > 0 {
		arm(touched...)
	}
	for _, s := range touched {
		if len(s.probes) == 0 {
			delete(sites, s.point.Addr())
			enter(s.point.Addr(), nil)
			gone = append(gone, s)
			free = append(free, &s.point)
		}
	}
	for _, s := range gone {
		s.dropFollower()
	}
	freeFollowers()
	disturb(gone)
	amd64.Release(free)
	// A handler may have failed before it stopped.
	reportFailures()
}

// resolve returns the address that p names, and the function there, if a probe can be
// there. mu is held.
func (p *Kprobe) resolve(op string) (addr uintptr, fn symtab.Func, err error) {
	addr = p.Addr
	switch {
	case p.Symbol != "" && p.Addr != 0:
		return 0, fn, failed(op, p, syscall.EINVAL, "both a symbol and an address (%#x) are given", p.Addr)
	case p.Symbol != "":
		fns := symtab.Lookup(p.Symbol)
		switch len(fns) {
		case 0:
			return 0, fn, failed(op, p, syscall.ENOENT, "no such symbol")
		case 1:
		default:
			return 0, fn, failed(op, p, syscall.EADDRNOTAVAIL, "the symbol is ambiguous: %d functions have the name", len(fns))
		}
		fn = fns[0]
		if p.Offset >= fn.End()-fn.Entry() {
			return 0, fn, failed(op, p, syscall.EINVAL, "the offset is beyond the end of the function (%#x)", fn.End()-fn.Entry())
		}
		addr = fn.Entry() + p.Offset
	case p.Addr == 0:
		return 0, fn, failed(op, p, syscall.EINVAL, "neither a symbol nor an address is given")
	case p.Offset != 0:
		return 0, fn, failed(op, p, syscall.EINVAL, "an offset (%#x) goes with a symbol", p.Offset)
	default:
		var ok bool
		if fn, ok = symtab.Find(addr); !ok {
			return 0, fn, failed(op, p, syscall.EINVAL, "the address is not in the text")
		}
	}
	if reason, ok := blacklisted(fn); ok {
		return 0, fn, failed(op, p, syscall.EINVAL, "%s cannot be probed: %s", fn.Name(), reason)
	}
	if !isBoundary(fn, addr) {
		return 0, fn, failed(op, p, syscall.EILSEQ, "not the start of an instruction")
	}
	return addr, fn, nil
}
