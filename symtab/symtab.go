// Package symtab finds functions by name and by address, in the function table
// that every Go image holds for the runtime.
//
// Lookups by address do not allocate or lock and can be made in any context, in
// exception handlers too. The package knows nothing of debugging information:
// no variables, no types.
package symtab

import (
	"iter"
	"sort"
	"sync"
	"unsafe"
)

// A Func is a function of the image, as long as the image runs.
type Func struct {
	index int // in the runtime's table
}

// module describes the image. There is one: no plugins on bare metal.
var module = lastmoduledatap

// Find returns the function whose code, padding included, holds pc. Any context.
func Find(pc uintptr) (f Func, ok bool) {
	if pc < module.minpc || pc >= module.maxpc {
		return Func{}, false
	}
	off := uint32(pc - module.text)
	// The last entry of the table only ends the one before.
	lo, hi := 0, len(module.ftab)-1
	for hi-lo > 1 {
		mid := int(uint(lo+hi) / 2)
		if module.ftab[mid].entryoff <= off {
			lo = mid
		} else {
			hi = mid
		}
	}
	return Func{lo}, true
}

// Data returns the range of the image behind the text that holds initialized data,
// constants included.
func Data() (lo, hi uintptr) { return module.etext, module.edata }

// Symname returns the name and the entry of the function that holds addr, in the
// form that disassemblers ask for: "" if there is none. Any context.
func Symname(addr uint64) (name string, base uint64) {
	f, ok := Find(uintptr(addr))
	if !ok {
		return "", 0
	}
	return f.Name(), uint64(f.Entry())
}

// Len returns the number of functions.
func Len() int { return len(module.ftab) - 1 }

// All returns the functions in the order of their addresses.
func All() iter.Seq[Func] {
	return func(yield func(Func) bool) {
		for i := range Len() {
			if !yield(Func{i}) {
				return
			}
		}
	}
}

// Entry returns the address of the function's first instruction. Any context.
func (f Func) Entry() uintptr { return module.text + uintptr(module.ftab[f.index].entryoff) }

// End returns the end of its code, the padding in front of the next function
// included. Any context.
func (f Func) End() uintptr { return module.text + uintptr(module.ftab[f.index+1].entryoff) }

// Name returns the function's name as the linker knows it, package path first.
// Any context.
func (f Func) Name() string {
	name := module.funcnametab[f.info().nameOff:]
	n := 0
	for name[n] != 0 {
		n++
	}
	return unsafe.String(&name[0], n)
}

// Deferreturn returns the address at which execution goes on in the function
// after one of its deferred calls recovered from a panic, 0 if it defers nothing.
func (f Func) Deferreturn() uintptr {
	if off := f.info().deferreturn; off != 0 {
		return f.Entry() + uintptr(off)
	}
	return 0
}

// IsWrapper reports whether the compiler made the function to convert between
// calling conventions or receivers. It has the name of the function it calls, or
// one derived from it.
func (f Func) IsWrapper() bool { return f.info().funcID == funcIDWrapper }

// ArgsSize is the size of what the function finds above its return address: arguments and
// results that are not in registers, and room to keep those that are. Any context.
func (f Func) ArgsSize() int { return int(f.info().args) }

// IsAssembly reports whether the function is written in assembly. Any context.
func (f Func) IsAssembly() bool { return f.info().flag&flagAsm != 0 }

// IsTop reports whether unwinding a stack ends at the function. Any context.
func (f Func) IsTop() bool { return f.info().flag&flagTopFrame != 0 }

// WritesSP reports whether the function sets the stack pointer to something else. Any
// context.
func (f Func) WritesSP() bool { return f.info().flag&flagSPWrite != 0 }

// Lookup returns the functions with the given name: usually one. Wrappers are
// left out if the function itself is there. Goroutine context.
func Lookup(name string) []Func {
	byName := names()
	i := sort.Search(len(byName), func(i int) bool { return byName[i].Name() >= name })
	var funcs, wrappers []Func
	for ; i < len(byName) && byName[i].Name() == name; i++ {
		if f := byName[i]; f.IsWrapper() {
			wrappers = append(wrappers, f)
		} else {
			funcs = append(funcs, f)
		}
	}
	if len(funcs) == 0 {
		return wrappers
	}
	return funcs
}

// names are the functions sorted by name.
var names = sync.OnceValue(func() []Func {
	fs := make([]Func, 0, Len())
	for f := range All() {
		fs = append(fs, f)
	}
	sort.SliceStable(fs, func(i, j int) bool { return fs[i].Name() < fs[j].Name() })
	return fs
})
