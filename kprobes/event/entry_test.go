package event

import (
	"errors"
	"strings"
	"testing"
)

// entryTarget knows other variables at a function's entry than at its return.
type entryTarget struct{ *fakeTarget }

func (t entryTarget) Variable(_ *Definition, expr string) (Value, error) {
	if expr != "err" {
		return Value{}, errors.New("no result " + expr)
	}
	return t.variables[expr], nil
}

func (t entryTarget) EntryVariable(_ *Definition, expr string) (Value, error) {
	v, ok := t.variables[expr]
	if !ok {
		return v, errors.New("no parameter " + expr)
	}
	return v, nil
}

// A return event records results and arguments: those as they were at the entry.
func TestEntryArguments(t *testing.T) {
	target := entryTarget{newTarget()}
	d, err := Parse(`r main.handle req.Method $retval first=$arg1:x64 $dur if req.Method == "GET" && dur > 1us`, target)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(d, target)
	if err != nil {
		t.Fatal(err)
	}
	if !p.HasEntry() {
		t.Fatal("nothing is recorded at the entry")
	}
	h := newHit(target.fakeTarget)
	target.put(heapAt, "GET")
	setRegs(h, map[string]uint64{"ax": heapAt, "bx": 3})
	h.Duration = 0
	buf := make([]byte, 512)
	if n := p.RunEntry(h, buf[:p.Size()-1]); n != 0 {
		t.Errorf("%d bytes recorded in too small a buffer", n)
	}
	n := p.RunEntry(h, buf)
	saved := append([]byte(nil), buf[:n]...)

	setRegs(h, map[string]uint64{"ax": 77})
	h.Return, h.Duration = true, 1500
	clear(buf)
	n = p.RunReturn(h, buf, copy(buf, saved))
	rec := buf[:n]
	if got := string(p.Append(nil, rec, target)); !strings.Contains(got, `req.Method="GET"`) || !strings.Contains(got, "=0x4d") || !strings.Contains(got, "first=0xc000200000") || !strings.Contains(got, "dur=1500") {
		t.Errorf("%s", got)
	}
	if got := string(p.Append(nil, rec, target)); strings.Contains(got, "fault") {
		t.Errorf("%s", got)
	}
	if !p.Match(h, rec) {
		t.Error("the filter does not match")
	}
	if n := p.RunReturn(h, buf, 1); n != 0 {
		t.Errorf("%d bytes of a record that was not begun", n)
	}
	if a := testing.AllocsPerRun(100, func() {
		p.RunReturn(h, buf, p.RunEntry(h, buf))
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

func TestEntryArgumentErrors(t *testing.T) {
	target := entryTarget{newTarget()}
	d, err := Parse(`r main.handle nosuch`, target)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = Compile(d, target); err == nil || !strings.Contains(err.Error(), "no result nosuch; at the entry: no parameter nosuch") {
		t.Errorf("%v", err)
	}
	d, err = Parse(`p main.handle err`, target)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Compile(d, target); err != nil || p.HasEntry() {
		t.Errorf("%v: a probe's record is made in one go", err)
	}
}
