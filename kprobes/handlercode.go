package kprobes

import (
	"strings"

	"tamaprobe/arch/amd64"
	"tamaprobe/arch/amd64/inst"
	"tamaprobe/symtab"
)

// What handlers use decides what has to be saved for them. The SSE registers hold the
// interrupted code's values, and to save them costs as much as the rest of a hit.

// A use is what a handler's code, or code that it calls, may do.
type use uint8

const (
	useSSE     use = 1 << iota // use SSE registers
	useTLS                     // ask for g by its slot
	useRuntime                 // call the runtime

	useUnknown = useSSE | useTLS | useRuntime
)

// uses remembers what is found, by a function's entry. mu is held.
var uses = make(map[uintptr]use)

// usesOf returns what the function at entry, or one that it calls, may do: everything, if it
// calls what cannot be told. mu is held.
func usesOf(entry uintptr) (u use) {
	if u, ok := uses[entry]; ok {
		return u
	}
	seen := map[uintptr]bool{}
	todo := []uintptr{entry}
	for len(todo) > 0 && u != useUnknown {
		fn, ok := symtab.Find(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		if !ok {
			u = useUnknown
			break
		}
		if known, ok := uses[fn.Entry()]; ok {
			u |= known
			continue
		}
		if seen[fn.Entry()] {
			continue
		}
		seen[fn.Entry()] = true
		own, calls := usesOfCode(fn)
		u |= own
		todo = append(todo, calls...)
	}
	uses[entry] = u
	if u == 0 {
		for fn := range seen {
			uses[fn] = 0
		}
	}
	return u
}

// usesOfCode returns what fn's own code does, and where it calls or jumps to.
func usesOfCode(fn symtab.Func) (u use, calls []uintptr) {
	if name := fn.Name(); strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/") {
		u |= useRuntime
	}
	for pc := fn.Entry(); pc < fn.End(); {
		i, err := inst.Decode(amd64.OriginalText(pc))
		if err != nil || i.UsesSSE() || i.Flow == inst.FlowCallInd || i.Flow == inst.FlowJmpInd {
			return useUnknown, nil
		}
		if i.Prefix&inst.PrefixFS != 0 {
			u |= useTLS
		}
		if i.Relative() {
			if to := i.Target(pc); (to < fn.Entry() || to >= fn.End()) && !growsStack(to) {
				calls = append(calls, to)
			}
		}
		pc += uintptr(i.Len)
	}
	return u, calls
}
