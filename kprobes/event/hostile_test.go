package event

import (
	"encoding/binary"
	"math"
	"testing"
)

// everything is a line with all kinds of arguments.
const everything = `p main.handle n n8 u16 ok f64 f32 z p *p m c fn req.Method body len(body) pairs empties err any long pair secret ` +
	`%ax:u8 s=+0(%bx):string us=+u8(%cx):ustring[4] a=+0(%ax):x8[64] b=%ax:b3@2/8 sym=%ax:symbol str=%ax:symstr ch=%ax:char ` +
	`$stack $stack3 $comm $goid $caller @jiffies \1 lit=\"text" deep=+0(+8(-8(%ax))) ` +
	`if n > 3 && (s ~ "*a*" || err ~ "*b*" || comm ~ "main.*" || f64 > 1.5 || any != nil) && !(req.Method == "x") && ch != 'a'`

func TestNoAllocation(t *testing.T) {
	target := newTarget()
	p := compiled(t, target, everything)
	memory := make([]byte, 256)
	for i := range memory {
		memory[i] = byte(i)
	}
	h := newHit(target)
	h.Read = func(dst []byte, addr uint64) int { return copy(dst, memory[addr%256:]) }
	buf, key := make([]byte, 2048), make([]byte, MaxKey)
	fields := p.Fields()
	for _, regs := range []map[string]uint64{nil, {"ax": 5, "bx": 6, "cx": 7}, {"ax": errorStringType, "bx": 0x20, "cx": 8}} {
		setRegs(h, regs)
		allocations := testing.AllocsPerRun(100, func() {
			rec := buf[:p.Run(h, buf)]
			p.Match(h, rec)
			for _, f := range fields {
				f.Int(rec)
				f.Bytes(rec)
				f.Key(key, rec)
			}
		})
		if allocations != 0 {
			t.Errorf("%g allocations at a hit", allocations)
		}
	}
}

// hostileReaders answer with anything.
var hostileReaders = map[string]func(dst []byte, addr uint64) int{
	"nothing":  func([]byte, uint64) int { return 0 },
	"negative": func([]byte, uint64) int { return -1 },
	"too much": func(dst []byte, _ uint64) int { return len(dst) + 1 },
	"minimum":  func([]byte, uint64) int { return math.MinInt },
	"half":     func(dst []byte, _ uint64) int { return len(dst) / 2 },
	"ones": func(dst []byte, _ uint64) int {
		for i := range dst {
			dst[i] = 0xff
		}
		return len(dst)
	},
	"zeros": func(dst []byte, _ uint64) int { clear(dst); return len(dst) },
	"itself": func(dst []byte, addr uint64) int {
		for i := range dst {
			dst[i] = byte(addr >> (8 * ((addr + uint64(i)) & 7)))
		}
		return len(dst)
	},
	"types": func(dst []byte, addr uint64) int {
		for i := range dst {
			dst[i] = byte(uint64(errorStringType) >> (8 * (uint64(i) & 7)))
		}
		return len(dst)
	},
	"absent": nil,
}

func TestHostileMemory(t *testing.T) {
	target := newTarget()
	p := compiled(t, target, everything)
	for name, read := range hostileReaders {
		for _, value := range []uint64{0, 1, errorStringType, 1 << 47, 1<<63 - 1, 1 << 63, math.MaxUint64 - 7, math.MaxUint64} {
			for _, size := range []int{0, 1, p.Size() - 1, p.Size(), p.Size() + 1, p.Size() + 3, p.Size() + 300, 4096, maxRecord, maxRecord + 4096} {
				h := &Hit{Read: read, Regs: new([32]uint64), Floats: new([16][2]uint64), Stack: value, Goid: value, StartPC: value}
				for i := range h.Regs {
					h.Regs[i] = value
				}
				if value == 1 {
					h.Regs, h.Floats = nil, nil
				}
				buf := make([]byte, size)
				n := p.Run(h, buf)
				if (n == 0) != (size < p.Size()) || n > size {
					t.Fatalf("%s: %d bytes of %d are used", name, n, size)
				}
				p.Match(h, buf[:n])
				p.Append(nil, buf[:n], target)
			}
		}
	}
}

// seeds are lines that fuzzing begins with.
var seeds = []string{
	everything, "r10:g/e vfs_read $retval:s32 if dur > 10ms", "-:g/e", "p main.f[go.shape.struct { X int }]+4 %ax", `p "main.F+1"%return`,
	"p net/http/server.go:12 n", "p -inline sort.*", "p 0x1000004 @\"go:main.inittasks\"+8:b4@8/32", `p vfs_read \"a b" +u-8(@jiffies):string[3] # x`,
}

func FuzzParse(f *testing.F) {
	for _, line := range seeds {
		f.Add(line)
	}
	for _, bad := range badLines() {
		f.Add(bad.line)
	}
	target := newTarget()
	f.Fuzz(func(t *testing.T, line string) {
		d, err := Parse(line, target)
		if err != nil {
			checkColumn(t, err, line)
			return
		}
		if d == nil {
			return
		}
		again, err := Parse(d.String(), target)
		if err != nil {
			t.Fatalf("%q prints %q: %v", line, d, err)
		}
		if !same(again, d) || again.String() != d.String() {
			t.Fatalf("%q prints %q, which prints %q", line, d, again)
		}
		if d.Kind != KindRemove && (!isIdentifier(d.EventName()) || len(d.EventName()) > maxNameLength) {
			t.Fatalf("%q is named %q", line, d.EventName())
		}
		if _, err := Compile(d, target); err != nil {
			checkColumn(t, err, line)
		}
	})
}

// checkColumn checks that an error is one line and that its column is in the line.
func checkColumn(t *testing.T, err error, line string) {
	t.Helper()
	e, ok := err.(*Error)
	if !ok || e.Column < 1 || e.Column > len(line)+1 || e.Message == "" || e.Errno == 0 || e.Line != line {
		t.Fatalf("%q: %#v", line, err)
	}
	e.Caret()
}

func FuzzRun(f *testing.F) {
	f.Add([]byte("hello"), []byte{1, 2, 3}, uint16(2048))
	f.Add(binary.LittleEndian.AppendUint64(nil, errorStringType), []byte{}, uint16(700))
	target := newTarget()
	p := compiled(f, target, everything)
	f.Fuzz(func(t *testing.T, regs, memory []byte, size uint16) {
		h := &Hit{Regs: new([32]uint64), Floats: new([16][2]uint64), Read: func(dst []byte, addr uint64) int {
			if len(memory) == 0 {
				return 0
			}
			return copy(dst, memory[addr%uint64(len(memory)):])
		}}
		for i := range h.Regs {
			for j := range 8 {
				if k := i*8 + j; len(regs) > 0 {
					h.Regs[i] = h.Regs[i]<<8 | uint64(regs[k%len(regs)])
				}
			}
		}
		buf := make([]byte, size)
		rec := buf[:p.Run(h, buf)]
		p.Match(h, rec)
		p.Append(nil, rec, target)
		// What is printed may come from anywhere.
		p.Append(nil, memory, target)
		p.Match(h, memory)
		key := make([]byte, MaxKey)
		for _, field := range p.Fields() {
			field.Int(memory)
			field.Bytes(memory)
			field.AppendKey(nil, key[:field.Key(key, memory)], target)
			field.AppendKey(nil, memory, target)
		}
	})
}
