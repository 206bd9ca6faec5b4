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

// mu is held while probes are registered and unregistered. No hit waits for it.
var mu sync.Mutex

// start prepares the engine at the first registration.
var start = sync.OnceValue(func() error {
	if err := trap.Install(); err != nil {
		return err
	}
	initTable()
	initBoundaries()
	if err := trap.Register(amd64.VectorBreakpoint, &trap.Notifier{
		Name: "kprobes", Priority: trap.PriorityProbe, Handle: breakpoint, Integer: true,
	}); err != nil {
		return err
	}
	return trap.Register(amd64.VectorDebug, &trap.Notifier{
		Name: "kprobes", Priority: trap.PriorityProbe, Handle: debug, Integer: true,
	})
})

// Register puts a probe in place. When it returns, every execution of the
// instruction on any processor hits the probe. Goroutine context.
func Register(p *Kprobe) error {
	mu.Lock()
	defer mu.Unlock()
	s, err := add(p)
	if err != nil {
		return err
	}
	if len(s.probes) == 1 {
		amd64.SetBreakpoints([]*amd64.Point{s.point}, true)
	}
	return nil
}

// Unregister takes a probe away. When it returns, none of its handlers runs or
// will run. Goroutine context.
func Unregister(p *Kprobe) error {
	mu.Lock()
	defer mu.Unlock()
	s := p.site
	if s == nil {
		return failed("unregister", p, syscall.EINVAL, "the probe is not registered")
	}
	s.probes = slices.DeleteFunc(s.probes, func(q *Kprobe) bool { return q == p })
	s.publish()
	p.site = nil
	if len(s.probes) > 0 {
		amd64.SyncCores()
		return nil
	}
	amd64.SetBreakpoints([]*amd64.Point{s.point}, false)
	enter(s.point.Addr(), nil)
	s.point.Release()
	return nil
}

// add adds p to the site at its address, which it creates if there is none. mu is
// held.
func add(p *Kprobe) (*site, error) {
	const op = "register"
	if err := start(); err != nil {
		return nil, failed(op, p, syscall.ENOSYS, "%v", err)
	}
	if p.site != nil {
		return nil, failed(op, p, syscall.EBUSY, "the probe is already registered")
	}
	addr, err := p.resolve(op)
	if err != nil {
		return nil, err
	}
	s := lookup(addr)
	if s == nil {
		fn, _ := symtab.Find(addr)
		point, err := amd64.NewPoint(addr, addr == fn.Entry())
		if err != nil {
			var perr *amd64.PointError
			if errors.As(err, &perr) {
				return nil, failed(op, p, perr.Errno, "%s", perr.Reason)
			}
			return nil, failed(op, p, syscall.EINVAL, "%v", err)
		}
		s = &site{point: point}
	}
	p.Addr = addr
	p.site = s
	p.counts = make([]count, amd64.NumCPU())
	s.probes = append(s.probes, p)
	s.publish()
	enter(addr, s)
	return s, nil
}

// resolve returns the address that p names, if a probe can be there.
func (p *Kprobe) resolve(op string) (uintptr, error) {
	addr := p.Addr
	switch {
	case p.Symbol != "" && p.Addr != 0:
		return 0, failed(op, p, syscall.EINVAL, "both a symbol and an address (%#x) are given", p.Addr)
	case p.Symbol != "":
		fns := symtab.Lookup(p.Symbol)
		switch len(fns) {
		case 0:
			return 0, failed(op, p, syscall.ENOENT, "no such symbol")
		case 1:
		default:
			return 0, failed(op, p, syscall.EADDRNOTAVAIL, "the symbol is ambiguous: %d functions have the name", len(fns))
		}
		if p.Offset >= fns[0].End()-fns[0].Entry() {
			return 0, failed(op, p, syscall.EINVAL, "the offset is beyond the end of the function (%#x)", fns[0].End()-fns[0].Entry())
		}
		addr = fns[0].Entry() + p.Offset
	case p.Addr == 0:
		return 0, failed(op, p, syscall.EINVAL, "neither a symbol nor an address is given")
	case p.Offset != 0:
		return 0, failed(op, p, syscall.EINVAL, "an offset (%#x) goes with a symbol", p.Offset)
	}
	fn, ok := symtab.Find(addr)
	if !ok {
		return 0, failed(op, p, syscall.EINVAL, "the address is not in the text")
	}
	if reason, ok := blacklisted(fn); ok {
		return 0, failed(op, p, syscall.EINVAL, "%s cannot be probed: %s", fn.Name(), reason)
	}
	if !isBoundary(fn, addr) {
		return 0, failed(op, p, syscall.EILSEQ, "not the start of an instruction")
	}
	return addr, nil
}
