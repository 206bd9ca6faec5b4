package kprobes

import (
	"cmp"
	"slices"
	"sync"

	"tamaprobe/arch/amd64"
	"tamaprobe/arch/amd64/inst"
	"tamaprobe/symtab"
)

// The blacklist: functions that run on the way of a hit while the reentrancy guard
// is not set. A probe there would hit itself for ever. It is derived from the
// image: from the exceptions' entry points and the functions that the trap path is
// told to call, along all direct calls and jumps.

// blacklist maps functions, by entry, to the reason.
var blacklist = sync.OnceValue(func() map[uintptr]string {
	list := make(map[uintptr]string)
	var visit func(addr uintptr, reason string)
	visit = func(addr uintptr, reason string) {
		fn, ok := symtab.Find(addr)
		if !ok || list[fn.Entry()] != "" || growsStack(fn.Entry()) {
			return
		}
		list[fn.Entry()] = reason
		for pc := fn.Entry(); pc < fn.End(); {
			i, err := inst.Decode(amd64.OriginalText(pc))
			if err != nil {
				return
			}
			if i.Relative() {
				if to := i.Target(pc); to < fn.Entry() || to >= fn.End() {
					visit(to, "called by "+fn.Name()+", without the reentrancy guard")
				}
			}
			pc += uintptr(i.Len)
		}
	}
	for _, root := range amd64.UnguardedCode() {
		if root.Calls {
			visit(root.Addr, root.Reason)
		} else if fn, ok := symtab.Find(root.Addr); ok {
			list[fn.Entry()] = root.Reason
		}
	}
	visit(code(leaveDetour), "drops the reentrancy guard in a detour")
	visit(code(resumeHit), "goes on with a hit after a handler failed, and drops the reentrancy guard")
	return list
})

// A Blacklisted is a function that cannot be probed.
type Blacklisted struct {
	Func   symtab.Func
	Reason string
}

// Blacklist returns the functions that cannot be probed, in the order of their
// addresses. Goroutine context.
func Blacklist() ([]Blacklisted, error) {
	if err := start(); err != nil {
		return nil, err
	}
	var bs []Blacklisted
	for entry, reason := range blacklist() {
		fn, _ := symtab.Find(entry)
		bs = append(bs, Blacklisted{fn, reason})
	}
	slices.SortFunc(bs, func(a, b Blacklisted) int { return cmp.Compare(a.Func.Entry(), b.Func.Entry()) })
	return bs, nil
}

// growsStack reports whether the function at addr is morestack: the trap stack
// does not grow, and a call of morestack there is an end in itself.
func growsStack(addr uintptr) bool {
	fn, ok := symtab.Find(addr)
	if !ok {
		return false
	}
	switch fn.Name() {
	case "runtime.morestack", "runtime.morestack_noctxt":
		return true
	}
	return false
}

// blacklisted returns why fn cannot be probed.
func blacklisted(fn symtab.Func) (reason string, ok bool) {
	reason, ok = blacklist()[fn.Entry()]
	return reason, ok
}
