package govars

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tamaprobe/kprobes/event"
)

// build links the test program with flags of the linker.
func build(t *testing.T, ldflags string) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "shapes")
	cmd := exec.Command("go", "build", "-ldflags="+ldflags, "-o", name, "./testdata/shapes")
	cmd.Env = hostEnvironment()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	contents, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return contents
}

// TestOpenRefuses opens what is no image with debugging information.
func TestOpenRefuses(t *testing.T) {
	contents := build(t, "-w")
	foreign := bytes.Clone(contents)
	foreign[18] = byte(elf.EM_AARCH64)
	for _, test := range []struct {
		name, want string
		contents   []byte
	}{
		{"nothing", "not an ELF file", nil},
		{"text", "not an ELF file", []byte("#!/bin/sh\nexit 0\n")},
		{"no DWARF", "link it without -ldflags=-w", contents},
		{"another processor", "not for x86-64", foreign},
	} {
		_, err := Open(bytes.NewReader(test.contents))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// TestDamaged reads debugging information with wrong bytes. Errors are fine, panics are not.
func TestDamaged(t *testing.T) {
	contents := build(t, "-compressdwarf=false")
	file, err := elf.NewFile(bytes.NewReader(contents))
	if err != nil {
		t.Fatal(err)
	}
	pc := address(t, openShapes(t), "main.structs")
	opened := 0
	for _, s := range file.Sections {
		if !strings.HasPrefix(s.Name, ".debug_") {
			continue
		}
		for _, at := range []uint64{0, 6, 12, s.Size / 2, s.Size/2 + 1, s.Size - 5} {
			damaged := bytes.Clone(contents)
			for i := range uint64(5) {
				damaged[s.Offset+at+i] ^= 0x5a
			}
			im, err := Open(bytes.NewReader(damaged))
			if err != nil {
				continue
			}
			opened++
			for _, expr := range []string{"n", "e.id", "runtime.ncpu"} {
				im.Resolve(pc, false, expr)
				im.Resolve(pc+20, false, expr)
			}
			im.ResultValue(pc, 0)
			im.InlinedCopies("main.inlined")
			im.Lines("shapes/main.go", 100)
		}
	}
	if opened == 0 {
		t.Error("no damaged file could be opened")
	}
}

// TestFunction compares signatures.
func TestFunction(t *testing.T) {
	im := openShapes(t)
	for _, test := range []struct{ name, signature string }{
		{"main.integers", "a int8, b uint16, c int32, d uint64, e bool, f uintptr -> ~r0 int16, ~r1 uint8"},
		{"main.structs", "n main.named, e *main.embedding, m main.mixed -> ~r0 main.named, ~r1 error"},
		{"main.(*named).method", "n *main.named, suffix string -> full string"},
		{"main.blanks", "~p0 int, a string, ~p2 float64, b int -> ~r0 int, err error"},
		{"main.generic[go.shape.int,go.shape.int]", "k go.shape.int, vs []go.shape.int -> ~r0 go.shape.int, ~r1 int"},
		{"main.nothing", " -> "},
	} {
		entry := address(t, im, test.name)
		f, err := im.Function(entry)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var lists [2][]string
		for i, variables := range [][]Variable{f.Params, f.Results} {
			for _, v := range variables {
				lists[i] = append(lists[i], v.Name+" "+v.Type)
			}
		}
		if got := strings.Join(lists[0], ", ") + " -> " + strings.Join(lists[1], ", "); got != test.signature {
			t.Errorf("%s: %s, want %s", test.name, got, test.signature)
		}
		if f.Name != test.name || f.Entry != entry || f.End <= f.Entry {
			t.Errorf("%s: it is %s, %#x to %#x", test.name, f.Name, f.Entry, f.End)
		}
	}
	f, err := im.Function(address(t, im, "main.nothing"))
	if want := lineOf(t, "func nothing()"); err != nil || f.Line != want {
		t.Errorf("main.nothing is declared at %d: %v, want %d", f.Line, err, want)
	}
}

// TestEveryFunction resolves all parameters of all functions at their entries, among them the
// runtime's, and compares the registers with those in the location lists.
func TestEveryFunction(t *testing.T) {
	im := openShapes(t)
	symbols, err := im.file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	functions, resolved, failed := 0, 0, 0
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			continue
		}
		f, err := im.Function(s.Value)
		if err != nil || f.Entry != s.Value {
			continue
		}
		functions++
		for _, p := range f.Params {
			if strings.HasPrefix(p.Name, "~") {
				continue
			}
			v, err := im.Resolve(f.Entry, false, p.Name)
			if err != nil {
				failed++
				t.Logf("%s: %v", f.Name, err)
				continue
			}
			if n := leaves(v); n > maxLeaves+1 {
				t.Errorf("%s: %s has %d leaves", f.Name, p.Name, n)
			}
			resolved++
		}
		for i := range f.Results {
			if _, err := im.ResultValue(f.Entry, i); err != nil {
				t.Errorf("%s: result %d: %v", f.Name, i, err)
			}
		}
		r := im.routines[im.mustProcedure(t, s.Value).offset]
		if n, err := im.contradictions(r, r.abi); n > 1 || err != nil {
			t.Errorf("%s: %d parameters are in other registers: %v", f.Name, n, err)
		}
	}
	if functions < 1000 || resolved < 100*failed {
		t.Errorf("%d functions, %d parameters resolved, %d not", functions, resolved, failed)
	}
}

func (im *Image) mustProcedure(t *testing.T, pc uint64) procedure {
	p, ok, err := im.procedureAt(pc)
	if !ok || err != nil {
		t.Fatalf("no function at %#x: %v", pc, err)
	}
	return p
}

// leaves counts a value's leaves.
func leaves(v event.Value) int {
	if v.Type.Kind != event.TypeStruct && v.Type.Kind != event.TypeGoArray {
		return 1
	}
	n := 0
	for _, e := range v.Elems {
		n += leaves(e)
	}
	return n
}

// TestPlaces resolves variables at every instruction-aligned and other address of some
// functions.
func TestPlaces(t *testing.T) {
	im := openShapes(t)
	for _, name := range []string{"main.body", "main.main", "runtime.mallocgc", "fmt.(*pp).printValue", "main.escapes"} {
		f, err := im.Function(address(t, im, name))
		if err != nil {
			t.Fatal(err)
		}
		available := 0
		for pc := f.Entry; pc < f.End; pc++ {
			variables, err := im.Locals(pc)
			if err != nil {
				t.Fatalf("%s+%#x: %v", name, pc-f.Entry, err)
			}
			for _, v := range variables {
				if strings.HasPrefix(v.Name, "~") {
					continue
				}
				_, err := im.Resolve(pc, false, v.Name)
				if err == nil {
					available++
				} else if !strings.Contains(err.Error(), "not available") && !strings.Contains(err.Error(), "is a result") {
					t.Fatalf("%s+%#x: %s: %v", name, pc-f.Entry, v.Name, err)
				}
			}
		}
		if available == 0 {
			t.Errorf("%s: no variable is available anywhere", name)
		}
	}
}

// TestAssigned compares registers and stack slots with what cmd/compile/abi-internal.md says.
func TestAssigned(t *testing.T) {
	im := openShapes(t)
	for _, test := range []struct{ function, expr, want string }{
		{"main.strs", "s", "ax,bx"},
		{"main.strs", "b", "cx,di"},
		{"main.strs", "cap(b)", "si"},
		{"main.strs", "p", "stack+8,stack+16"}, // only one register is left
		{"main.floats", "a", "x0"},
		{"main.floats", "c", "x2,x3"},
		{"main.floats", "e", "x6"},
		{"main.blanks", "a", "bx,cx"},
		{"main.blanks", "b", "di"},
		{"main.arrays", "one[0]", "ax,bx"},
		{"main.arrays", "two[1]", "stack+12"},
		{"main.pointers", "n.next.value", "*(*(bx+8))"},
		{"main.(*named).method", "n.At.Y", "*(ax+24)"},
		{"main.variadic", "len(args)", "di"},
		{"main.generic[go.shape.int,go.shape.int]", "k", "bx"},
		{"main.(*list[go.shape.string]).push", "item", "cx,di"},
		{"main.integers", "cpu.CacheLineSize", fmt.Sprintf("@%#x", address(t, im, "internal/cpu.CacheLineSize"))},
		{"main.integers", "internal/cpu.CacheLineSize", fmt.Sprintf("@%#x", address(t, im, "internal/cpu.CacheLineSize"))},
		{"main.integers", "main.counter", fmt.Sprintf("@%#x", address(t, im, "main.counter"))},
	} {
		v, err := im.Resolve(address(t, im, test.function), false, test.expr)
		if err != nil {
			t.Errorf("%s: %s: %v", test.function, test.expr, err)
			continue
		}
		if got := describeAll(v.Parts); got != test.want {
			t.Errorf("%s: %s is in %s, want %s", test.function, test.expr, got, test.want)
		}
	}
}

func describeAll(fs []event.Fetch) string {
	var parts []string
	for _, f := range fs {
		parts = append(parts, describe(f))
	}
	return strings.Join(parts, ",")
}

func describe(f event.Fetch) string {
	switch f.Op {
	case event.FetchReg:
		return f.Name
	case event.FetchFloat:
		return fmt.Sprintf("x%d", f.N)
	case event.FetchMem:
		return fmt.Sprintf("@%#x", f.Addr)
	case event.FetchDeref:
		if f.Of.Op == event.FetchStack {
			return fmt.Sprintf("stack+%d", f.N)
		}
		if f.N == 0 {
			return "*(" + describe(*f.Of) + ")"
		}
		return fmt.Sprintf("*(%s+%d)", describe(*f.Of), f.N)
	}
	return fmt.Sprintf("fetch %d", f.Op)
}

// TestErrors compares the errors for expressions that cannot be fetched.
func TestErrors(t *testing.T) {
	im := openShapes(t)
	for _, test := range []struct {
		function string
		expr     string
		want     string
	}{
		{"main.structs", "foo", "main.structs has no variable foo here; it has n, e, m"},
		{"main.nothing", "foo", "main.nothing has no variable foo here, nor any other"},
		{"main.structs", "n.foo", "n (main.named) has no field foo; it has Name, At, tags"},
		{"main.structs", "e.foo", "has no field foo; it has Mutex, named, id"},
		{"main.structs", "n.At.X.y", "n.At.X (int) has no fields"},
		{"main.structs", "*n", "n (main.named) is not a pointer that can be followed"},
		{"main.pointers", "*u", "u (unsafe.Pointer) is not a pointer that can be followed"},
		{"main.structs", "n[0]", "n (main.named) has no elements"},
		{"main.pointers", "m[1]", "m (map[string]int) is a map: a probe cannot look into it; len(m) works"},
		{"main.interfaces", "e.path", "e (error) is an interface"},
		{"main.structs", "n.tags[x]", "the index in n.tags[x] is not a number"},
		{"main.structs", "n.tags[-1]", "the index in n.tags[-1] is not a number"},
		{"main.structs", "n.tags[99999999999]", "the index 99999999999 is too large"},
		{"main.arrays", "two[2]", "two ([2]uint32) has 2 elements: the index 2 is out of range"},
		{"main.structs", "len(n)", "n (main.named) has no len"},
		{"main.structs", "cap(n.Name)", "n.Name (string) has no cap"},
		{"main.structs", "len(len(n.Name))", "len(n.Name) (int) has no len"},
		{"main.structs", "len(n.Name).x", "len(n.Name) (int) has no fields"},
		{"main.structs", "*len(n.Name)", "len(n.Name) (int) is not a pointer"},
		{"main.structs", "len(n.Name)[0]", "len(n.Name) (int) has no elements"},
		{"main.structs", "len(n.Name, m)", "calls a function, which a probe cannot"},
		{"main.structs", "f(n)", "f(n) calls a function, which a probe cannot: use NAME"},
		{"main.structs", "n+1", "n+1 is not what a probe can fetch: use NAME"},
		{"main.structs", "&n", "&n is not what a probe can fetch"},
		{"main.structs", "n.tags[1:2]", "is not what a probe can fetch"},
		{"main.structs", "func(){}", "is not what a probe can fetch"},
		{"main.structs", "5", "5 is not what a probe can fetch"},
		{"main.structs", "m[", `"m[" is not a Go expression: use NAME`},
		{"main.structs", "", `"" is not a Go expression`},
		{"main.structs", strings.Repeat("(", 2000), "longer than 1000 bytes"},
		{"main.structs", "$ret0", "$ret0 (main.named) is a result, and not yet there: probe the return"},
		{"main.(*named).method", "full", "full (string) is a result, and not yet there"},
		{"main.structs", "runtime.nothing", "package runtime has no variable nothing"},
		{"main.structs", "cpu.nothing", "package cpu has no variable nothing"},
		{"main.structs", "nowhere/cpu.X86", "there is no package nowhere/cpu"},
		{"main.structs", "n/m", "n/m is not what a probe can fetch"},
	} {
		_, err := im.Resolve(address(t, im, test.function), false, test.expr)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %s: %v, want %q", test.function, test.expr, err, test.want)
		}
	}
	if _, err := im.Resolve(0x1234, false, "n"); err == nil || !strings.Contains(err.Error(), "no debugging information about code at 0x1234") {
		t.Errorf("no function: %v", err)
	}
}

// TestReturn resolves expressions at returns.
func TestReturn(t *testing.T) {
	im := openShapes(t)
	for _, test := range []struct{ function, expr, want, err string }{
		{"main.blanks", "err", "bx,cx", ""},
		{"main.blanks", "$ret0", "ax", ""},
		{"main.blanks", "~r0", "ax", ""},
		{"main.blanks", "$ret1", "bx,cx", ""},
		{"main.pointers", "$ret0.value", "*(ax)", ""},
		{"main.(*named).method", "len(full)", "bx", ""},
		{"main.overflow", "r1", "ax,bx", ""},
		{"main.overflow", "r4", "r9,r10", ""},
		// The stack has the parameters i4, last and b before the results.
		{"main.overflow", "r5", "stack+88,stack+96", ""},
		{"main.overflow", "ok", "r11", ""},
		{"main.strs", "s", "", "s is a parameter: at the return of main.strs only its results are there: $ret0, $ret1"},
		{"main.strs", "nothing", "", "main.strs has no variable nothing here; it has $ret0, $ret1"},
		{"main.strs", "$ret2", "", "main.strs has no variable $ret2 here; it has $ret0, $ret1"},
		{"main.addressed", "main.counter", fmt.Sprintf("@%#x", address(t, im, "main.counter")), ""},
	} {
		v, err := im.Resolve(address(t, im, test.function), true, test.expr)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %s: %v, want %q", test.function, test.expr, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %s: %v", test.function, test.expr, err)
			continue
		}
		if got := describeAll(v.Parts); got != test.want {
			t.Errorf("%s: %s is in %s, want %s", test.function, test.expr, got, test.want)
		}
	}
	for n, want := range map[int]string{-1: "has 2 results, $ret0 to $ret1", 2: "has 2 results, $ret0 to $ret1"} {
		if _, err := im.ResultValue(address(t, im, "main.strs"), n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("result %d: %v, want %q", n, err, want)
		}
	}
	if _, err := im.ResultValue(address(t, im, "main.nothing"), 0); err == nil || !strings.Contains(err.Error(), "has no results") {
		t.Errorf("result of main.nothing: %v", err)
	}
}

// TestLines finds the code of lines.
func TestLines(t *testing.T) {
	im := openShapes(t)
	line := lineOf(t, "func strs(")
	full, err := im.Lines("testdata/shapes/main.go", line)
	if err != nil || len(full) != 1 || full[0] != address(t, im, "main.strs") {
		t.Errorf("main.go:%d is at %#x: %v, want main.strs", line, full, err)
	}
	// A line of an inlined function is in its copies, and in itself.
	line = lineOf(t, "y := x * by")
	pcs, err := im.Lines("shapes/main.go", line)
	if err != nil || len(pcs) < 2 {
		t.Errorf("main.go:%d, of an inlined function, is at %#x: %v", line, pcs, err)
	}
	for _, test := range []struct {
		file string
		line int
		want string
	}{
		{"shapes/main.go", 2, "shapes/main.go:2 has no code; the first line that has is"},
		{"shapes/main.go", 100000, "shapes/main.go:100000 has no code; the last line that has is"},
		{"shapes/main.go", lineOf(t, "func integers(") - 1, "the nearest lines that have are"},
		{"nowhere.go", 1, "no code is from a file nowhere.go"},
		{"apes/main.go", 1, "no code is from a file apes/main.go"},
		{"print.go", 1, "print.go is ambiguous: it may be"},
	} {
		if _, err := im.Lines(test.file, test.line); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s:%d: %v, want %q", test.file, test.line, err, test.want)
		}
	}
}

// TestNames looks up what has a name.
func TestNames(t *testing.T) {
	im := openShapes(t)
	if addr, size, ok := im.Symbol("main.state"); !ok || addr == 0 || size != 40 {
		t.Errorf("main.state: %#x, %d, %v", addr, size, ok)
	}
	if _, _, ok := im.Symbol("main.nothing.at.all"); ok {
		t.Error("main.nothing.at.all exists")
	}
	if v, err := im.Variable("main.counter"); err != nil || v.Type.Name != "uint32" {
		t.Errorf("main.counter: %+v, %v", v, err)
	}
	if _, err := im.Variable("main.none"); err == nil {
		t.Error("main.none exists")
	}
	types, err := im.StringTypes()
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, addr := range types {
		name, ok := im.TypeName(addr)
		if !ok {
			t.Errorf("no type at %#x", addr)
		}
		names[name] = true
	}
	for _, name := range []string{"*errors.errorString", "*main.closedError"} {
		if !names[name] {
			t.Errorf("%s is not among %v", name, names)
		}
	}
	if name, ok := im.TypeName(1); ok {
		t.Errorf("the type at 1 is %s", name)
	}
	if copies, err := im.InlinedCopies("main.nothing"); err != nil || len(copies) != 0 {
		t.Errorf("main.nothing: %v, %v", copies, err)
	}
}

func TestIsInlined(t *testing.T) {
	im := openShapes(t)
	for name, want := range map[string]bool{
		"main.inlined": true, "main.nothing": false, "main.counter": false, "main.no": false, "": false,
	} {
		if got := im.IsInlined(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// TestNeverInlined compares what is known at once with all of the debugging information.
func TestNeverInlined(t *testing.T) {
	im := openShapes(t)
	if err := im.index.all(im.info); err != nil {
		t.Fatal(err)
	}
	known, functions := 0, 0
	for _, u := range im.index.units {
		if strings.HasPrefix(u.name, "internal/") {
			continue // for the time that it takes
		}
		for _, p := range u.procedures {
			name := im.procedureName(p)
			never, err := im.neverInlined(name)
			if err != nil {
				t.Fatal(err)
			}
			functions++
			if never {
				known++
			}
			for _, origin := range im.index.abstract[name] {
				if copies := im.index.copies[origin]; never && len(copies) > 0 {
					t.Errorf("%s: has %d copies", name, len(copies))
				}
			}
		}
	}
	if known < functions/2 {
		t.Errorf("of %d functions only %d are known to have no copies", functions, known)
	}
}

// FuzzResolve resolves any text.
func FuzzResolve(f *testing.F) {
	im := openShapes(f)
	for _, seed := range []string{"n", "e.id", "*e", "n.tags[1]", "len(n.Name)", "runtime.ncpu", "internal/cpu.X86.HasAVX", "$ret0", "~r1", "a/b.c[3]", "((n))", "m.d[0]"} {
		f.Add(seed)
	}
	pc := address(f, im, "main.structs")
	f.Fuzz(func(t *testing.T, expr string) {
		for _, atReturn := range []bool{false, true} {
			if v, err := im.Resolve(pc, atReturn, expr); err == nil && v.Type.Name == "" {
				t.Errorf("%q: %+v", expr, v)
			} else if err != nil && strings.Contains(err.Error(), "damaged") {
				t.Errorf("%q: %v", expr, err)
			}
		}
	})
}
