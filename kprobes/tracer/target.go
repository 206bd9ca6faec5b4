package tracer

import (
	"tamaprobe/kprobes/event"
	"tamaprobe/kprobes/govars"
	"tamaprobe/symtab"
)

// A target tells the event language what names mean, at one place in the image.
type target struct {
	*Tracer
	pc     uint64       // where the probe is, or will be
	ret    bool         // it is at the function's return
	copy   *govars.Copy // the inlined copy that it is at the beginning of, nil for none
	floats bool         // something that was asked for is in an SSE register
}

var _ event.Target = (*target)(nil)
var _ event.Functions = (*target)(nil)
var _ event.Entries = (*target)(nil)

// Function knows also functions of which there are only inlined copies: they are refused later, by
// saying so, unless the copies are asked for.
func (t *target) Function(name string) bool {
	return len(symtab.Lookup(name)) > 0 || t.image != nil && isWord(name) && t.image.IsInlined(name)
}

// isWord reports whether a name has no blanks, but in type arguments: it could be more than a name
// otherwise, and most of those can be told apart without looking anywhere.
func isWord(name string) bool {
	depth := 0
	for i := range len(name) {
		switch name[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ' ', '=':
			if depth <= 0 {
				return false
			}
		}
	}
	return true
}

func (t *target) Symbol(name string) (addr uint64, ok bool) {
	if fns := symtab.Lookup(name); len(fns) > 0 {
		return uint64(fns[0].Entry()), true
	}
	if t.image == nil {
		return 0, false
	}
	addr, _, ok = t.image.Symbol(name)
	return addr, ok
}

func (t *target) SymbolAt(addr uint64) (name string, offset uint64, ok bool) {
	fn, ok := symtab.Find(uintptr(addr))
	if !ok {
		return "", 0, false
	}
	return fn.Name(), addr - uint64(fn.Entry()), true
}

func (t *target) Functions(yield func(name string, addr uint64) bool) {
	for fn := range symtab.All() {
		if !yield(fn.Name(), uint64(fn.Entry())) {
			return
		}
	}
}

func (t *target) Register(name string) (index, size int, ok bool) {
	index, ok = registerWords[name]
	return index, 8, ok
}

func (t *target) Variable(_ *event.Definition, expr string) (event.Value, error) {
	if t.image == nil {
		return event.Value{}, t.noVars
	}
	if t.copy != nil {
		return t.noted(t.image.ResolveInlined(*t.copy, expr))
	}
	return t.noted(t.image.Resolve(t.pc, t.ret, expr))
}

func (t *target) EntryVariable(_ *event.Definition, expr string) (event.Value, error) {
	if t.image == nil {
		return event.Value{}, t.noVars
	}
	return t.noted(t.image.Resolve(t.pc, false, expr))
}

func (t *target) Result(_ *event.Definition, n int) (event.Value, error) {
	if t.image == nil {
		return event.Value{}, t.noVars
	}
	return t.noted(t.image.ResultValue(t.pc, n))
}

// noted notes whether a value is in SSE registers.
func (t *target) noted(v event.Value, err error) (event.Value, error) {
	if err == nil && usesFloats(&v) {
		t.floats = true
	}
	return v, err
}

func usesFloats(v *event.Value) bool {
	for i := range v.Parts {
		for f := &v.Parts[i]; f != nil; f = f.Of {
			if f.Op == event.FetchFloat {
				return true
			}
		}
	}
	for i := range v.Elems {
		if usesFloats(&v.Elems[i]) {
			return true
		}
	}
	return v.Elem != nil && usesFloats(&v.Elem.Value)
}

func (t *target) TypeName(addr uint64) (string, bool) {
	if t.image == nil {
		return "", false
	}
	return t.image.TypeName(addr)
}

func (t *target) StringTypes() []uint64 {
	if t.image == nil {
		return nil
	}
	types, err := t.image.StringTypes()
	if err != nil {
		return nil // the text is not shown then
	}
	return types
}
