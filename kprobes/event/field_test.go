package event

import (
	"strings"
	"testing"
)

func TestField(t *testing.T) {
	target := newTarget()
	target.put(dataAt, "hello\x00")
	target.put(dataAt+0x1000, strings.Repeat("x", 300))
	target.put(heapAt, uint64(dataAt), uint64(5))
	target.put(itab, uint64(0), uint64(errorStringType))
	tests := []struct {
		arg     string
		regs    map[string]uint64
		integer int64
		isInt   bool
		text    string
		isText  bool
		key     string // as it is printed
		hasKey  bool
	}{
		{"n", map[string]uint64{"ax": ^uint64(4)}, -5, true, "", false, "-5", true},
		{"n8", nil, -2, true, "", false, "-2", true},
		{"%ax:u8", map[string]uint64{"ax": 0x1ff}, 255, true, "", false, "255", true},
		{"%ax", map[string]uint64{"ax": 16}, 16, true, "", false, "0x10", true},
		{"ok", map[string]uint64{"cx": 1}, 1, true, "", false, "true", true},
		{"p", nil, 0, true, "", false, "nil", true},
		{"%ax:symbol", map[string]uint64{"ax": textAt + 4}, textAt + 4, true, "", false, "do_sys_open+0x4", true},
		{"$comm", nil, textAt + 0x200, true, "", false, `"main.main"`, true},
		{"@1", nil, 0, false, "", false, "(fault)", true},
		{"f64", nil, 0, false, "", false, "1.5", true},
		{`\"x"`, nil, 0, false, "", false, `"x"`, true},
		{"+0(%ax):string", map[string]uint64{"ax": dataAt}, 0, false, "hello", true, `"hello"`, true},
		{"+0(%ax):string", nil, 0, false, "", false, "(fault)", true},
		{"req.Method", map[string]uint64{"ax": dataAt, "bx": 2}, 0, false, "he", true, `"he"`, true},
		{"req.Method", map[string]uint64{"ax": dataAt + 0x1000, "bx": 300}, 0, false, strings.Repeat("x", 255), true, `"` + strings.Repeat("x", 255) + `"...`, true},
		{"err", nil, 0, false, "", false, "nil", true},
		{"err", map[string]uint64{"ax": itab, "bx": heapAt}, 0, false, "hello", true, `(*errors.errorString)("hello")`, true},
		{"any", map[string]uint64{"ax": structType, "bx": heapAt}, 0, false, "", false, "(main.T)", true},
		{"any", map[string]uint64{"ax": errorStringType, "bx": 1}, 0, false, "", false, "(*errors.errorString)((fault))", true},
		{"pair", nil, 0, false, "", false, "", false},
		{"body", nil, 0, false, "", false, "", false},
		{"+0(%ax):u8[2]", nil, 0, false, "", false, "", false},
	}
	for _, test := range tests {
		p := compiled(t, target, "p main.handle x="+test.arg)
		h := newHit(target)
		setRegs(h, test.regs)
		rec := make([]byte, 4096)
		rec = rec[:p.Run(h, rec)]
		f, ok := p.Field("x")
		if !ok || f.Name() != "x" || len(p.Fields()) != 1 || p.Fields()[0] != f {
			t.Errorf("%s: no field", test.arg)
			continue
		}
		if got, ok := f.Int(rec); got != test.integer || ok != test.isInt {
			t.Errorf("%s: Int = %d, %v", test.arg, got, ok)
		}
		if f.IsInteger() != (test.isInt || test.arg == "@1") {
			t.Errorf("%s: IsInteger = %v", test.arg, f.IsInteger())
		}
		if f.IsText() != strings.HasSuffix(test.arg, "string") && test.arg != "req.Method" && test.arg != "err" && test.arg != "any" && !strings.HasPrefix(test.arg, `\`) {
			t.Errorf("%s: IsText = %v", test.arg, f.IsText())
		}
		if got, ok := f.Bytes(rec); string(got) != test.text || ok != test.isText {
			t.Errorf("%s: Bytes = %q, %v", test.arg, got, ok)
		}
		if f.HasKey() != test.hasKey {
			t.Errorf("%s: HasKey = %v", test.arg, f.HasKey())
		}
		key := make([]byte, MaxKey)
		n := f.Key(key, rec)
		if n > 0 != test.hasKey {
			t.Errorf("%s: a key of %d bytes", test.arg, n)
			continue
		}
		if got := string(f.AppendKey(nil, key[:n], target)); test.hasKey && got != test.key {
			t.Errorf("%s: key %s, want %s", test.arg, got, test.key)
		}
		if want := " x=" + string(f.Append(nil, rec, target)); want != string(p.Append(nil, rec, target)) {
			t.Errorf("%s: Append = %s", test.arg, want)
		}
		// Short keys are cut, and printed without complaint.
		for size := range MaxKey {
			f.AppendKey(nil, key[:f.Key(key[:size], rec)], target)
		}
	}
	p := compiled(t, target, "p main.handle n")
	if _, ok := p.Field("m"); ok {
		t.Error("there is a field m")
	}
}

func TestKeysTellApart(t *testing.T) {
	target := newTarget()
	target.put(dataAt, "hello\x00help\x00")
	target.put(heapAt, uint64(dataAt), uint64(4), uint64(dataAt+6), uint64(4))
	p := compiled(t, target, "p main.handle +0(%ax):string any")
	key := func(field string, ax, bx uint64) string {
		h := newHit(target)
		setRegs(h, map[string]uint64{"ax": ax, "bx": bx})
		rec, key := make([]byte, 512), make([]byte, MaxKey)
		f, _ := p.Field(field)
		return string(key[:f.Key(key, rec[:p.Run(h, rec)])])
	}
	if key("arg1", dataAt, 0) == key("arg1", dataAt+6, 0) {
		t.Error("two strings have one key")
	}
	if key("arg1", dataAt+3, 0) == key("arg1", 0, 0) {
		t.Error("a string and a fault have one key")
	}
	if key("any", errorStringType, heapAt) == key("any", errorStringType, heapAt+16) {
		t.Error("two errors have one key")
	}
	if key("any", structType, heapAt) != key("any", structType, heapAt+16) {
		t.Error("values of one type have two keys")
	}
}
