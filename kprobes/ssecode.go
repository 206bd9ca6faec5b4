package kprobes

import (
	"tamaprobe/arch/amd64"
	"tamaprobe/arch/amd64/inst"
	"tamaprobe/symtab"
)

// The SSE registers hold the interrupted code's values while handlers run. To save
// them costs as much as the rest of a hit, so it is done only for handlers whose
// code, or code that they call, may use them.

// sseCode remembers by a function's entry whether it may use SSE registers. mu is held.
var sseCode = make(map[uintptr]bool)

// usesSSE reports whether the function at entry, or one that it calls, may use SSE
// registers. It may if it calls what cannot be told. mu is held.
func usesSSE(entry uintptr) bool {
	if uses, ok := sseCode[entry]; ok {
		return uses
	}
	seen := map[uintptr]bool{}
	pending := []uintptr{entry}
	for len(pending) > 0 {
		fn, ok := symtab.Find(pending[len(pending)-1])
		pending = pending[:len(pending)-1]
		if ok && seen[fn.Entry()] {
			continue
		}
		uses, known := sseCode[fn.Entry()]
		if known && !uses {
			continue
		}
		if uses || !ok {
			sseCode[entry] = true
			return true
		}
		seen[fn.Entry()] = true
		calls, ok := callsOf(fn)
		if !ok {
			sseCode[entry] = true
			return true
		}
		pending = append(pending, calls...)
	}
	for fn := range seen {
		sseCode[fn] = false
	}
	return false
}

// callsOf returns where fn calls or jumps to. ok is false if that is not all there is to
// say: it uses SSE registers, or goes where its code does not tell.
func callsOf(fn symtab.Func) (calls []uintptr, ok bool) {
	for pc := fn.Entry(); pc < fn.End(); {
		i, err := inst.Decode(amd64.OriginalText(pc))
		if err != nil || i.UsesSSE() || i.Flow == inst.FlowCallInd || i.Flow == inst.FlowJmpInd {
			return nil, false
		}
		if i.Relative() {
			if to := i.Target(pc); (to < fn.Entry() || to >= fn.End()) && !growsStack(to) {
				calls = append(calls, to)
			}
		}
		pc += uintptr(i.Len)
	}
	return calls, true
}
