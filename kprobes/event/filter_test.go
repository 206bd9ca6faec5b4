package event

import (
	"math"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	type regs = map[string]uint64
	tests := []struct {
		line string
		regs regs
		want bool
	}{
		{"p vfs_read %ax", nil, true},

		// Integers.
		{"p vfs_read %ax if arg1 == 3", regs{"ax": 3}, true},
		{"p vfs_read %ax if arg1 == 3", regs{"ax": 4}, false},
		{"p vfs_read %ax if arg1 != 0x10", regs{"ax": 16}, false},
		{"p vfs_read %ax if arg1 < 5", regs{"ax": 4}, true},
		{"p vfs_read %ax if arg1 < 5", regs{"ax": math.MaxUint64}, false},
		{"p vfs_read %ax if arg1 <= 5", regs{"ax": 5}, true},
		{"p vfs_read %ax if arg1 <= 5", regs{"ax": 6}, false},
		{"p vfs_read %ax if arg1 > 5", regs{"ax": 5}, false},
		{"p vfs_read %ax if arg1 > 0xfffffffffffffff0", regs{"ax": math.MaxUint64}, true},
		{"p vfs_read %ax if arg1 >= 5", regs{"ax": 5}, true},
		{"p vfs_read %ax if arg1 & 6", regs{"ax": 4}, true},
		{"p vfs_read %ax if arg1 & 6", regs{"ax": 9}, false},
		{"p vfs_read %ax if arg1 == -1", regs{"ax": math.MaxUint64}, true},
		{"p vfs_read %ax:u8 if arg1 == -1", regs{"ax": 0x1ff}, true},
		{"p vfs_read %ax:s8 if arg1 < 0", regs{"ax": 0x80}, true},
		{"p vfs_read %ax:s8 if arg1 >= -128 && arg1 < 127", regs{"ax": 0x80}, true},
		{"p vfs_read %ax:s32 if arg1 > -2", regs{"ax": 0xffffffff}, true},
		{"p vfs_read %ax:s32 if arg1 & 0x80000000", regs{"ax": 0xffffffff}, true},
		{"p vfs_read %ax:b4@4/8 if arg1 == 0xa", regs{"ax": 0xa5}, true},
		{"p vfs_read c=%ax:char if c == 'a'", regs{"ax": 'a'}, true},
		{`p vfs_read c=%ax:char if c == '\n' || c=='#'`, regs{"ax": '#'}, true},
		{"p vfs_read %ax:symbol if arg1 == 0x1000000", regs{"ax": textAt}, true},
		{"p vfs_read x=@1 if x == 0", nil, false},
		{"p vfs_read x=@1 if x != 0", nil, false},
		{"p vfs_read x=@1 if !(x != 0)", nil, true},

		// What is no argument.
		{"p main.handle if n > 20 && n != 23", regs{"ax": 22}, true},
		{"p main.handle if n > 20 && n != 23", regs{"ax": 23}, false},
		{"p main.handle u16 if n > 20", regs{"ax": 21, "bx": 1}, true},
		{"p main.handle n if n > 20 && len(body)==2", regs{"ax": 21, "bx": 2}, true},
		{"p main.handle if len(body)==2||%ax < 3", regs{"ax": 3, "bx": 3}, false},
		{"p main.handle if (*p == 0)", nil, false},
		{"p main.handle if !(*p == 0)", nil, true},
		{"p main.handle if $arg1 == 5 && $comm == \"main.main\"", regs{"ax": 5}, true},

		// Logic: && binds more than ||.
		{"p vfs_read %ax %bx if arg1==1 || arg1==2 && arg2==9", regs{"ax": 1, "bx": 0}, true},
		{"p vfs_read %ax %bx if (arg1==1 || arg1==2) && arg2==9", regs{"ax": 1, "bx": 0}, false},
		{"p vfs_read %ax %bx if !arg1==1&&!(arg2==2)", regs{"ax": 2, "bx": 3}, true},
		{"p vfs_read %ax %bx if !!(arg1 == 1)", regs{"ax": 1}, true},
		{"p vfs_read arg=%ax arg10=%bx if arg10 == 5 && arg == 4", regs{"ax": 4, "bx": 5}, true},

		// Strings.
		{`p vfs_read s=+0(%ax):string if s == "hello"`, regs{"ax": dataAt}, true},
		{`p vfs_read s=+0(%ax):string if s == 'hello'`, regs{"ax": dataAt}, true},
		{`p vfs_read s=+0(%ax):string if s == "hell"`, regs{"ax": dataAt}, false},
		{`p vfs_read s=+0(%ax):string if s != "hell"`, regs{"ax": dataAt}, true},
		{`p vfs_read s=+0(%ax):string if s != "hell"`, regs{"ax": 1}, false},
		{`p vfs_read s=+0(%ax):string if s ~ "h*l?"`, regs{"ax": dataAt}, true},
		{`p vfs_read s=+0(%ax):string if s ~ "h?l"`, regs{"ax": dataAt}, false},
		{`p vfs_read s=\"é\xff" if s == "é\xff" && s ~ "é?"`, nil, true},
		{`p vfs_read s=\"abc" if s == "abc" && s ~ "a*" && !(s != "abc")`, nil, true},
		{`p main.handle req.Method if req.Method == "hel"`, regs{"ax": dataAt, "bx": 3}, true},
		{`p main.handle req.Method if req.Method == ""`, nil, true},
		{`p main.handle req.Method if req.Method == "` + strings.Repeat("x", 255) + `"`, regs{"ax": dataAt + 0x1000, "bx": 256}, false},
		{`p main.handle req.Method if req.Method != "` + strings.Repeat("x", 255) + `"`, regs{"ax": dataAt + 0x1000, "bx": 256}, true},
		{`p main.handle req.Method if req.Method == "` + strings.Repeat("x", 255) + `"`, regs{"ax": dataAt + 0x1000, "bx": 255}, true},

		// Other values of Go.
		{"p main.handle n len(body) if len(body) > 3 && n < 0", regs{"ax": math.MaxUint64, "bx": 4}, true},
		{"p main.handle ok if ok == true", regs{"cx": 1}, true},
		{"p main.handle ok if ok != false", regs{"cx": 0x100}, false},
		{"p main.handle p if p == nil", nil, true},
		{"p main.handle p m if p != nil && m > 0x1000", regs{"ax": 0x2000}, true},
		{"p main.handle err if err == nil", nil, true},
		{"p main.handle err if err != nil", nil, false},
		{"p main.handle err if err != nil", regs{"ax": itab}, true},
		{"p main.handle err if err == nil", regs{"ax": 1}, false},
		{`p main.handle err if err ~ "he*"`, regs{"ax": itab, "bx": heapAt}, true},
		{`p main.handle err if err == "hello" && err != "world"`, regs{"ax": itab, "bx": heapAt}, true},
		{`p main.handle err if err ~ "*"`, nil, false},
		{`p main.handle any if any ~ "*"`, regs{"ax": structType, "bx": heapAt}, false},
		{"p main.handle f64 if f64 > 1.25 && f64 < 2 && f64 == 1.5 && f64 >= -3e10", nil, true},
		{"p main.handle f32 if f32 == 0.1 && f32 > 0 && f32 > -1", nil, true},
		{"p main.handle f32 if f32 < 0.0", nil, false},

		// What every event has.
		{"p vfs_read if common_pid == 7 && common_cpu == 1", nil, true},
		{"p vfs_read if common_cpu == 0", nil, false},
		{`p vfs_read if comm == "main.main"`, nil, true},
		{`p vfs_read if comm != "main.main"`, nil, false},
		{`p vfs_read if comm ~ "main.*" && !(comm ~ "*func*")`, nil, true},
		{`p vfs_read who=$comm if who ~ "sort.*"`, nil, false},
		{"r vfs_read if dur == 1500", nil, true},
		{"r vfs_read if dur > 1.5us", nil, false},
		{"r vfs_read took=$dur if took >= 1500ns && took < 10ms", nil, true},
	}
	target := newTarget()
	target.put(dataAt, "hello\x00")
	target.put(dataAt+0x1000, strings.Repeat("x", 300))
	target.put(heapAt, uint64(dataAt), uint64(5))
	target.put(itab, uint64(0), uint64(errorStringType))
	for _, test := range tests {
		p := compiled(t, target, test.line)
		h := newHit(target)
		setRegs(h, test.regs)
		buf := make([]byte, 4096)
		if got := p.Match(h, buf[:p.Run(h, buf)]); got != test.want {
			t.Errorf("%s: %v, with %v", test.line, got, test.regs)
		}
	}
}

func TestFloatOrder(t *testing.T) {
	ascending := []float64{math.Inf(-1), -math.MaxFloat64, -2, -1, -math.SmallestNonzeroFloat32, 0, math.SmallestNonzeroFloat32, 1, 1.5, math.MaxFloat32, math.Inf(1)}
	for i := range ascending[1:] {
		a, b := ascending[i], ascending[i+1]
		x, ok1 := floatOrder(math.Float64bits(a), 8)
		y, ok2 := floatOrder(math.Float64bits(b), 8)
		if x >= y || !ok1 || !ok2 {
			t.Errorf("%g is not before %g", a, b)
		}
		x, _ = floatOrder(uint64(math.Float32bits(float32(a))), 4)
		y, _ = floatOrder(uint64(math.Float32bits(float32(b))), 4)
		if x > y || x == y && float32(a) != float32(b) {
			t.Errorf("%g is not before %g as a float32", a, b)
		}
	}
	negative, _ := floatOrder(math.Float64bits(math.Copysign(0, -1)), 8)
	if zero, _ := floatOrder(0, 8); zero != negative {
		t.Error("the zeros differ")
	}
	for _, size := range []int{4, 8} {
		bits := math.Float64bits(math.NaN())
		if size == 4 {
			bits = uint64(math.Float32bits(float32(math.NaN())))
		}
		if _, ok := floatOrder(bits, size); ok {
			t.Errorf("a not-a-number of %d bytes has an order", size)
		}
	}
}

// withoutFunctions hides that the target can list functions.
type withoutFunctions struct{ Target }

func TestCommPatternWithoutFunctions(t *testing.T) {
	target := withoutFunctions{newTarget()}
	d, err := Parse(`p vfs_read if comm ~ "main.*"`, target)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Compile(d, target)
	badLine{`p vfs_read if comm ^~ "main.*"`, "Operator ~ is not available for comm here: use == with a function's name", 22}.check(t, err)
}

// TestUnrecorded looks for what only the filter needs: it is not printed, and no field.
func TestUnrecorded(t *testing.T) {
	const line = "p main.handle u16 if n > 20 && n < 30"
	target := newTarget()
	d, err := Parse(line, target)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.String(); got != line {
		t.Errorf("printed again it is %q", got)
	}
	if len(d.Args) != 2 || d.Args[0].Hidden || !d.Args[1].Hidden {
		t.Errorf("arguments %+v", d.Args)
	}
	p := compiled(t, target, line)
	h := newHit(target)
	setRegs(h, map[string]uint64{"ax": 22, "bx": 7})
	rec := make([]byte, 64)
	rec = rec[:p.Run(h, rec)]
	if got := string(p.Append(nil, rec, target)); got != " u16=7" || !p.Match(h, rec) {
		t.Errorf("recorded %q, matches: %v", got, p.Match(h, rec))
	}
	if fields := p.Fields(); len(fields) != 1 || fields[0].Name() != "u16" {
		t.Errorf("fields %v", fields)
	}
	if _, ok := p.Field("n"); ok {
		t.Error("n is a field")
	}
}
