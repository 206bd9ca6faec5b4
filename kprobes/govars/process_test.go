package govars

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"tamaprobe/kprobes/event"
)

// A process is the test program, stopped. It must be used on the thread that started it.
type process struct {
	pid   int
	regs  syscall.PtraceRegs
	float [512]byte // as FXSAVE writes it
	image *Image
}

// start starts the test program and stops it before its first instruction.
func start(t *testing.T, im *Image) *process {
	t.Helper()
	runtime.LockOSThread()
	cmd := exec.Command(shapes)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) {
			t.Skipf("processes cannot be traced here: %v", err)
		}
		t.Fatal(err)
	}
	p := &process{pid: cmd.Process.Pid, image: im}
	t.Cleanup(func() {
		cmd.Process.Kill()
		var status syscall.WaitStatus
		syscall.Wait4(p.pid, &status, syscall.WALL, nil)
		runtime.UnlockOSThread()
	})
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.pid, &status, syscall.WALL, nil); err != nil || !status.Stopped() {
		t.Fatalf("the program did not stop: %v, status %#x", err, status)
	}
	return p
}

// stopAt puts a breakpoint at an address and returns the byte that was there.
func (p *process) stopAt(t *testing.T, pc uint64) byte {
	t.Helper()
	var old [1]byte
	if _, err := syscall.PtracePeekText(p.pid, uintptr(pc), old[:]); err != nil {
		t.Fatal(err)
	}
	p.poke(t, pc, 0xcc)
	return old[0]
}

func (p *process) poke(t *testing.T, pc uint64, b byte) {
	t.Helper()
	if _, err := syscall.PtracePokeText(p.pid, uintptr(pc), []byte{b}); err != nil {
		t.Fatal(err)
	}
}

// run goes on until a breakpoint, and returns its address; 0 at the end.
func (p *process) run(t *testing.T) uint64 {
	t.Helper()
	signal := 0
	for {
		if err := syscall.PtraceCont(p.pid, signal); err != nil {
			t.Fatal(err)
		}
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(p.pid, &status, syscall.WALL, nil); err != nil {
			t.Fatal(err)
		}
		switch {
		case status.Exited():
			return 0
		case !status.Stopped():
			t.Fatalf("the program ended with status %#x", status)
		case status.StopSignal() != syscall.SIGTRAP:
			signal = int(status.StopSignal())
			continue
		}
		if err := syscall.PtraceGetRegs(p.pid, &p.regs); err != nil {
			t.Fatal(err)
		}
		if _, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, syscall.PTRACE_GETFPREGS, uintptr(p.pid), 0,
			uintptr(unsafe.Pointer(&p.float)), 0, 0); errno != 0 {
			t.Fatal(errno)
		}
		return p.regs.Rip - 1
	}
}

// resume sets where the program goes on, and takes the breakpoint there away.
func (p *process) resume(t *testing.T, pc uint64, old byte) {
	t.Helper()
	p.poke(t, pc, old)
	p.regs.Rip = pc
	if err := syscall.PtraceSetRegs(p.pid, &p.regs); err != nil {
		t.Fatal(err)
	}
}

func (p *process) read(addr uint64, size int) []byte {
	b := make([]byte, size)
	if _, err := syscall.PtracePeekData(p.pid, uintptr(addr), b); err != nil {
		panic(fmt.Sprintf("no memory at %#x: %v", addr, err))
	}
	return b
}

// word fetches a number; base is what FetchImm stands for in a slice's element.
func (p *process) word(f event.Fetch, size int, base uint64) uint64 {
	b := make([]byte, 8)
	switch f.Op {
	case event.FetchReg:
		r := &p.regs
		binary.LittleEndian.PutUint64(b, map[string]uint64{
			"ax": r.Rax, "bx": r.Rbx, "cx": r.Rcx, "dx": r.Rdx, "si": r.Rsi, "di": r.Rdi, "bp": r.Rbp, "sp": r.Rsp,
			"r8": r.R8, "r9": r.R9, "r10": r.R10, "r11": r.R11, "r12": r.R12, "r13": r.R13, "r14": r.R14, "r15": r.R15,
		}[f.Name])
	case event.FetchFloat:
		copy(b, p.float[160+16*f.N:])
	case event.FetchStack:
		binary.LittleEndian.PutUint64(b, p.regs.Rsp)
	case event.FetchMem:
		copy(b, p.read(f.Addr, size))
	case event.FetchDeref:
		copy(b, p.read(p.word(*f.Of, 8, base)+uint64(f.N), size))
	case event.FetchImm:
		binary.LittleEndian.PutUint64(b, uint64(f.N)+base)
	default:
		panic(fmt.Sprintf("fetch %d", f.Op))
	}
	clear(b[size:])
	return binary.LittleEndian.Uint64(b)
}

// print prints a value as it is in the process.
func (p *process) print(v event.Value, base uint64) string {
	part := func(i, size int) uint64 { return p.word(v.Parts[i], size, base) }
	float := func(n uint64, size int) string {
		if size == 4 {
			return strconv.FormatFloat(float64(math.Float32frombits(uint32(n))), 'g', -1, 32)
		}
		return strconv.FormatFloat(math.Float64frombits(n), 'g', -1, 64)
	}
	switch v.Type.Kind {
	case event.TypeBool:
		return strconv.FormatBool(part(0, 1) != 0)
	case event.TypeSigned:
		shift := 64 - 8*v.Type.Size
		return strconv.FormatInt(int64(part(0, v.Type.Size)<<shift)>>shift, 10)
	case event.TypeUnsigned:
		return strconv.FormatUint(part(0, v.Type.Size), 10)
	case event.TypeHex:
		return fmt.Sprintf("%#x", part(0, v.Type.Size))
	case event.TypeFloat:
		return float(part(0, v.Type.Size), v.Type.Size)
	case event.TypeComplex:
		half := v.Type.Size / 2
		return float(part(0, half), half) + "," + float(part(1, half), half) + "i"
	case event.TypeGoString:
		return strconv.Quote(string(p.read(part(0, 8), int(part(1, 8)))))
	case event.TypePointer, event.TypeFunc, event.TypeMap, event.TypeChan:
		if part(0, 8) == 0 {
			return "nil"
		}
		return v.Type.Name
	case event.TypeSlice:
		if v.Elem == nil {
			return fmt.Sprintf("%s of %d", v.Type.Name, part(1, 8))
		}
		var elements []string
		for i := range part(1, 8) {
			elements = append(elements, p.print(v.Elem.Value, part(0, 8)+i*uint64(v.Elem.Stride)))
		}
		return "[" + strings.Join(elements, " ") + "]"
	case event.TypeStruct:
		var fields []string
		for _, e := range v.Elems {
			fields = append(fields, e.Name+":"+p.print(e, base))
		}
		return "{" + strings.Join(fields, " ") + "}"
	case event.TypeGoArray:
		var elements []string
		for _, e := range v.Elems {
			elements = append(elements, p.print(e, base))
		}
		return "[" + strings.Join(elements, " ") + "]"
	case event.TypeInterface:
		descriptor := part(0, 8)
		if descriptor == 0 {
			return "nil"
		}
		if !v.Empty {
			descriptor = binary.LittleEndian.Uint64(p.read(descriptor+8, 8))
		}
		name, ok := p.image.TypeName(descriptor)
		if !ok {
			return fmt.Sprintf("type %#x", descriptor)
		}
		return name
	}
	return v.Type.Name
}

// A stop is what expressions are expected to give at the entry of a function, what results
// when it returns.
type stop struct {
	function string
	entry    map[string]string
	results  []string
}

// The program's calls, in their order.
var stops = []stop{
	{"main.integers", map[string]string{"a": "-5", "b": "600", "c": "-70000", "d": "1099511627785", "e": "true", "f": "0xabc",
		"main.counter": "77", "counter": "77", "state": `{count:3 last:"third" where:{X:5 Y:6}}`, "main.state.where.Y": "6",
		"len(state.last)": "5"}, []string{"595", "9"}},
	{"main.floats", map[string]string{"a": "1.5", "b": "2.25", "c": "1,-1i", "d": "3,4i", "e": "36.5"}, []string{"3.75", "37.5", "3,4i"}},
	{"main.strs", map[string]string{"s": `"hello"`, "b": "[98 121 116 101 115]", "l": `["one" "two"]`, "p": "[{X:1 Y:2} {X:3 Y:4}]",
		"len(s)": "5", "len(b)": "5", "cap(l)": "2", "s[1]": "101", "b[2]": "116", "l[1]": `"two"`, "p[1].Y": "4", "p[0]": "{X:1 Y:2}", "(l[0])[0]": "111"},
		[]string{`"hello!"`, "[121 116 101 115]"}},
	{"main.pointers", map[string]string{"p": "*int", "*p": "7", "n": "*main.node", "n.value": "1", "n.next.value": "2", "n.next.next": "nil",
		"*n": "{value:1 next:*main.node}", "(*n).value": "1", "u": "unsafe.Pointer", "f": "func(int) int", "m": "map[string]int", "c": "chan int",
		"len(m)": "3", "len(c)": "2", "cap(c)": "8"}, []string{"*main.node"}},
	{"main.structs", map[string]string{"n": `{Name:"widget" At:{X:10 Y:20} tags:["x" "yy"]}`, "n.At.X": "10", "n.tags[1]": `"yy"`, "len(n.tags)": "2",
		"e.id": "9", "e.Name": `"widget"`, "e.At": "{X:10 Y:20}", "e.named.At.Y": "20", "m": `{a:1 b:2.5 c:3 d:"four"}`, "m.b": "2.5", "m.d": `"four"`},
		[]string{`{Name:"widgetfour" At:{X:19 Y:20} tags:["x" "yy"]}`, "nil"}},
	{"main.overflow", map[string]string{"s1": `"s1"`, "s3": `"s3"`, "i1": "1", "i3": "3", "i4": "4", "last": `"last"`, "small": "200",
		"b": `{head:5 cells:[6 7 8 9] tail:"tail"}`, "b.cells[2]": "8"},
		[]string{`"s1"`, `"s2"`, `"s3"`, `"last"`, `"s1"`, `{head:9 cells:[6 7 8 9] tail:"tail"}`, "true"}},
	{"main.arrays", map[string]string{"one": `["only"]`, "one[0]": `"only"`, "two": "[11 22]", "two[1]": "22", "none": "[]", "e": "{}", "len(two)": "2",
		"w.f[3]": "33", "len(w.f)": "40"},
		[]string{"[4]", "[11 2 33]"}},
	{"main.interfaces", map[string]string{"e": "*errors.errorString", "a": "int", "r": "*strings.Reader", "d": "1500000000"},
		[]string{"int", "*errors.errorString"}},
	{"main.blanks", map[string]string{"a": `"named"`, "b": "3"}, []string{"3", "*errors.errorString"}},
	{"main.escapes", map[string]string{"kept": "31", "s": `"esc"`}, []string{`"escesc"`}},
	{"main.addressed", map[string]string{"n.Name": `"widget"`, "n.At": "{X:10 Y:20}"}, []string{"26"}},
	{"main.deepStruct", map[string]string{"d.a.b.c.d": "4", "d": "{a:{b:{c:struct { main.d int }}}}", "w.f[3]": "33",
		"w": "{f:[0 0 0 33 0 0 0 0 0 0 0 0 0 0 0 0 ...]}"}, []string{"4"}},
	{"main.variadic", map[string]string{"format": `"%d %s"`, "args": "[int string]"}, []string{"7"}},
	{"main.(*named).method", map[string]string{"n.Name": `"widget"`, "suffix": `"-suffix"`}, []string{`"widget-suffix"`}},
	{"main.point.scaled", map[string]string{"p": "{X:3 Y:4}", "by": "2"}, []string{"{X:6 Y:8}"}},
	{"main.generic[go.shape.int,go.shape.int]", map[string]string{"k": "2", "vs": "[1 2 3]"}, []string{"2", "1"}},
	{"main.generic[go.shape.string,go.shape.string]", map[string]string{"k": `"b"`, "vs": `["a" "b"]`}, []string{`"b"`, "1"}},
	{"main.(*list[go.shape.string]).push", map[string]string{"item": `"item"`, "len(l.items)": "0"}, []string{"1"}},
	{"main.callsInlined", map[string]string{"n": "4"}, []string{"47"}},
	{"main.callsInlinedToo", map[string]string{"s": `"four"`}, []string{"50"}},
	{"main.body", map[string]string{"limit": "1", "names": `["zero" "first" "second"]`}, []string{`"first"`}},
	{"main.closure", map[string]string{"base": "100", "name": `"captured"`}, []string{"func(int) int"}},
}

// TestCalls compares what expressions give with what the program was called with.
func TestCalls(t *testing.T) {
	im := openShapes(t)
	p := start(t, im)
	old := make(map[uint64]byte)
	for _, s := range stops {
		pc := address(t, im, s.function)
		old[pc] = p.stopAt(t, pc)
	}
	for _, s := range stops {
		entry := address(t, im, s.function)
		if pc := p.run(t); pc != entry {
			t.Fatalf("stopped at %#x, want %s", pc, s.function)
		}
		for expr, want := range s.entry {
			if want == "" {
				continue
			}
			v, err := im.Resolve(entry, false, expr)
			if err != nil {
				t.Errorf("%s: %s: %v", s.function, expr, err)
				continue
			}
			if got := p.print(v, 0); got != want {
				t.Errorf("%s: %s = %s, want %s", s.function, expr, got, want)
			}
		}
		p.resume(t, entry, old[entry])
		if s.results == nil {
			continue
		}
		caller := binary.LittleEndian.Uint64(p.read(p.regs.Rsp, 8))
		returns := p.stopAt(t, caller)
		for {
			pc := p.run(t)
			if pc == caller {
				break
			}
			// A function that this one calls.
			nested, ok := old[pc]
			if !ok {
				t.Fatalf("stopped at %#x in %s", pc, s.function)
			}
			p.resume(t, pc, nested)
		}
		for i, want := range s.results {
			v, err := im.ResultValue(entry, i)
			if err != nil {
				t.Errorf("%s: result %d: %v", s.function, i, err)
				continue
			}
			if got := p.print(v, 0); got != want {
				t.Errorf("%s: result %d = %s, want %s", s.function, i, got, want)
			}
		}
		p.resume(t, caller, returns)
	}
}

// runTo starts the test program and runs it up to an address.
func runTo(t *testing.T, im *Image, pc uint64) *process {
	t.Helper()
	p := start(t, im)
	p.stopAt(t, pc)
	if stopped := p.run(t); stopped != pc {
		t.Fatalf("stopped at %#x, want %#x", stopped, pc)
	}
	return p
}

// TestInside compares variables in the middle of functions.
func TestInside(t *testing.T) {
	im := openShapes(t)
	for _, test := range []struct {
		line   string
		values map[string]string
	}{
		{"the loop's body", map[string]string{"i": "1", "limit": "1", "name": `"first"`, "len(names)": "3", "state.count": "3"}},
		{"escaped = &kept", map[string]string{"kept": "31", "s": `"esc"`}}, // kept is in the heap
		{"n.At.X += int(e.id)", map[string]string{"n.Name": `"widget"`, "e.id": "9", "m.d": `"four"`}},
		{"b.head += i4", map[string]string{"b.tail": `"tail"`, "i4": "4", "s2": `"s2"`, "small": "200"}},
	} {
		pcs, err := im.Lines("shapes/main.go", lineOf(t, test.line))
		if err != nil {
			t.Error(err)
			continue
		}
		if len(pcs) != 1 {
			t.Errorf("%q is at %#x, want one address", test.line, pcs)
			continue
		}
		p := runTo(t, im, pcs[0])
		for expr, want := range test.values {
			v, err := im.Resolve(pcs[0], false, expr)
			if err != nil {
				t.Errorf("%q: %s: %v", test.line, expr, err)
				continue
			}
			if got := p.print(v, 0); got != want {
				t.Errorf("%q: %s = %s, want %s", test.line, expr, got, want)
			}
		}
	}
}

// TestInlinedVariables compares the variables of inlined copies.
func TestInlinedVariables(t *testing.T) {
	im := openShapes(t)
	copies, err := im.InlinedCopies("main.inlined")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"total := inlined(n, 3)": "4", "total += inlined(total, 2)": "15", "return inlined(len(s), 10)": ""}
	if len(copies) != len(want) {
		t.Fatalf("%d copies, want %d: %+v", len(copies), len(want), copies)
	}
	for text, x := range want {
		line := lineOf(t, text)
		i := slices.IndexFunc(copies, func(c Copy) bool { return c.Line == line })
		if i < 0 {
			t.Errorf("no copy on line %d: %+v", line, copies)
			continue
		}
		c := copies[i]
		if !strings.HasPrefix(c.Caller, "main.callsInlined") || !strings.HasSuffix(c.File, "/main.go") {
			t.Errorf("%q: the copy is in %s, %s", text, c.Caller, c.File)
		}
		v, err := im.ResolveInlined(c, "x")
		if x == "" {
			if err == nil || !strings.Contains(err.Error(), "x is not available here") {
				t.Errorf("%q: x, which is nowhere: %v", text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: x: %v", text, err)
			continue
		}
		p := runTo(t, im, c.PC)
		if got := p.print(v, 0); got != x {
			t.Errorf("%q: x = %s, want %s", text, got, x)
		}
	}
}
