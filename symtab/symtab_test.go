package symtab

import (
	"reflect"
	"runtime"
	"testing"
)

// What is read from the runtime's tables agrees with what the runtime says.
func TestAgreesWithRuntime(t *testing.T) {
	n := 0
	end := uintptr(0)
	for f := range All() {
		if f.Entry() < end || f.End() <= f.Entry() {
			t.Fatalf("%s: [%#x, %#x) after %#x", f.Name(), f.Entry(), f.End(), end)
		}
		end = f.End()
		n++
		rf := runtime.FuncForPC(f.Entry())
		if rf == nil || rf.Entry() != f.Entry() {
			t.Fatalf("%s at %#x: the runtime has %v", f.Name(), f.Entry(), rf)
		}
		// The runtime may name the function that is inlined at the entry.
		if file, line := rf.FileLine(f.Entry()); rf.Name() != f.Name() && file == "" && line == 0 {
			t.Errorf("%s: the runtime says %s", f.Name(), rf.Name())
		}
		for _, pc := range []uintptr{f.Entry(), f.Entry() + 1, f.End() - 1} {
			if pc >= f.End() {
				continue
			}
			if g, ok := Find(pc); !ok || g != f {
				t.Fatalf("%s: Find(%#x) = %v, %v", f.Name(), pc, g, ok)
			}
		}
	}
	if n != Len() || n < 1000 {
		t.Errorf("%d functions, Len is %d", n, Len())
	}
}

func TestFindOutside(t *testing.T) {
	for _, pc := range []uintptr{0, 1, module.minpc - 1, module.maxpc, ^uintptr(0)} {
		if f, ok := Find(pc); ok {
			t.Errorf("Find(%#x) = %s", pc, f.Name())
		}
		if name, base := Symname(uint64(pc)); name != "" || base != 0 {
			t.Errorf("Symname(%#x) = %s, %#x", pc, name, base)
		}
	}
}

type wrapped struct{ n int }

//go:noinline
func (w wrapped) method() int { return w.n }

// methods keeps the compiler from calling the method directly, and makes it make a
// wrapper for *wrapped.
var methods interface{ method() int } = &wrapped{3}

//go:noinline
func defers(f func()) (recovered bool) {
	defer func() { recovered = recover() != nil }()
	f()
	return false
}

func TestLookup(t *testing.T) {
	fns := Lookup("tamaprobe/symtab.defers")
	if len(fns) != 1 || fns[0].Entry() != reflect.ValueOf(defers).Pointer() {
		t.Fatalf("defers: %v", fns)
	}
	f := fns[0]
	if d := f.Deferreturn(); d <= f.Entry() || d >= f.End() {
		t.Errorf("deferreturn at %#x, not in [%#x, %#x)", d, f.Entry(), f.End())
	}
	if !defers(func() { panic(1) }) {
		t.Error("not recovered")
	}
	plain := Lookup("tamaprobe/symtab.wrapped.method")
	if len(plain) != 1 || plain[0].IsWrapper() || plain[0].Deferreturn() != 0 {
		t.Errorf("method: %v", plain)
	}
	if methods.method() != 3 {
		t.Error("wrong method")
	}
	wrapper := Lookup("tamaprobe/symtab.(*wrapped).method")
	if len(wrapper) != 1 || !wrapper[0].IsWrapper() {
		t.Errorf("wrapper: %v", wrapper)
	}
	for _, name := range []string{"", "nosuch", "tamaprobe/symtab.", "tamaprobe/symtab.defer"} {
		if fns := Lookup(name); len(fns) != 0 {
			t.Errorf("%q: %v", name, fns)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Find(f.Entry() + 5); _ = f.Name() }); n != 0 {
		t.Errorf("Find and Name allocate %v times", n)
	}
}

//go:noinline
func args1(a int, b string, c float64) {}

//go:noinline
func args2(x int, y string, z float64) (int, error) { return x, nil }

//go:noinline
func args3(x int, y []string, z float64) {}

//go:noinline
func args4(a [3]int, b int) [5]int { return [5]int{a[b]} }

func TestArgs(t *testing.T) {
	args1(1, "", 1)
	args2(1, "", 1)
	args3(1, nil, 1)
	args4([3]int{}, 1)
	find := func(name string) Func {
		fns := Lookup(name)
		if len(fns) != 1 {
			t.Fatalf("%d functions named %s", len(fns), name)
		}
		return fns[0]
	}
	f1, f2, f3, f4 := find("tamaprobe/symtab.args1"), find("tamaprobe/symtab.args2"), find("tamaprobe/symtab.args3"), find("tamaprobe/symtab.args4")
	if f1.ArgInfo() == "" || f1.ArgInfo() != f2.ArgInfo() || f1.ArgInfo() == f3.ArgInfo() {
		t.Errorf("%q, %q, %q", f1.ArgInfo(), f2.ArgInfo(), f3.ArgInfo())
	}
	// 3 words on the stack, 5 of results, and 1 to keep b.
	if f4.ArgsSize() != 72 {
		t.Errorf("size %d, want 72", f4.ArgsSize())
	}
	if f1.IsAssembly() || !find("runtime.memmove").IsAssembly() {
		t.Error("IsAssembly is wrong")
	}
}
