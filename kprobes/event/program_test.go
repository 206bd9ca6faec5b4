package event

import (
	"math"
	"strings"
	"testing"
)

// newHit returns a hit in the target's memory.
func newHit(target *fakeTarget) *Hit {
	h := &Hit{Regs: new([32]uint64), Floats: new([16][2]uint64), Read: target.read, Goid: 7, StartPC: target.functions["main.main"],
		Caller: target.functions["main.handle"] + 0x12, Duration: 1500, Stack: stackAt, CPU: 1}
	h.Floats[0][0] = math.Float64bits(1.5)
	h.Floats[1][0] = uint64(math.Float32bits(0.1))
	h.Floats[2][0] = math.Float64bits(-2)
	target.put(stackAt, uint64(0x111), uint64(0x222), uint64(0xfffffffffffffffe))
	return h
}

func setRegs(h *Hit, values map[string]uint64) {
	for i, name := range registers {
		h.Regs[i] = values[name]
	}
}

func TestRun(t *testing.T) {
	const handle = "main.handle"
	tests := []struct {
		line string
		regs map[string]uint64
		want string
	}{
		// The language of Linux.
		{"p:myprobe do_sys_open dfd=%ax filename=%dx flags=%cx mode=+4($stack)", map[string]uint64{"ax": 1, "dx": 2, "cx": 3},
			" dfd=0x1 filename=0x2 flags=0x3 mode=0x22200000000"},
		{"r:myretprobe do_sys_open $retval", map[string]uint64{"ax": 3}, " arg1=0x3"},
		{"p vfs_read %ax:u8 %ax:s8 %ax:x8 %ax:u16 %ax:s16 %ax:x16", map[string]uint64{"ax": 0xfffe}, " arg1=254 arg2=-2 arg3=0xfe arg4=65534 arg5=-2 arg6=0xfffe"},
		{"p vfs_read %ax:u32 %ax:s32 %ax:x32 %ax:u64 %ax:s64 %ax:x64", map[string]uint64{"ax": math.MaxUint64},
			" arg1=4294967295 arg2=-1 arg3=0xffffffff arg4=18446744073709551615 arg5=-1 arg6=0xffffffffffffffff"},
		{"p vfs_read %eax:u64 %ax:char", map[string]uint64{"ax": 0x1_00000041}, " arg1=65 arg2='A'"},
		{"p vfs_read %ax:b4@8/32 %ax:b1@0/8 %ax:b64@0/64", map[string]uint64{"ax": 0xfa51}, " arg1=10 arg2=1 arg3=64081"},
		{"p vfs_read +2($stack):b12@4/16", nil, " arg1=0"},
		{"p vfs_read $arg1 $arg2 $arg3 $arg4 $arg5 $arg6", map[string]uint64{"ax": 1, "bx": 2, "cx": 3, "di": 4, "si": 5, "r8": 6},
			" arg1=0x1 arg2=0x2 arg3=0x3 arg4=0x4 arg5=0x5 arg6=0x6"},
		{"p vfs_read $stack $stack0 $stack1 $stack9", nil, " arg1=0xc000100000 arg2=0x111 arg3=0x222 arg4=(fault)"},
		{"p vfs_read @jiffies @jiffies+8:u8 @main.table-0xf8:u8 @0x2000000:u16 +0(@main.table)", nil, " arg1=0x907060504030201 arg2=9 arg3=9 arg4=513 arg5=0x907060504030201"},
		{"p vfs_read +0(+0x100(@main.table)):u8 +0(+0x200(@main.table)):u8", nil, " arg1=1 arg2=(fault)"},
		{`p vfs_read \12 \-1:s8 \0x10:u8 \"text" \0x2000010:string`, nil, ` arg1=0xc arg2=-1 arg3=16 arg4="text" arg5="hello"`},
		{"p vfs_read +0(%ax):string +2(%ax):string +u0(%ax):ustring +0(%bx):string", map[string]uint64{"ax": dataAt + 0x10, "bx": 1},
			` arg1="hello" arg2="llo" arg3="hello" arg4=(fault)`},
		{"p vfs_read +0(%ax):u8[3] +0(%ax):x16[2] +0(%ax):char[2] +0(%ax):s8[9]", map[string]uint64{"ax": dataAt},
			` arg1={1,2,3} arg2={0x201,0x403} arg3={'\x01','\x02'} arg4={1,2,3,4,5,6,7,9,9}`},
		{"p vfs_read +0(%ax):u64[64] @main.table:string[2]", map[string]uint64{"ax": dataAt}, ` arg1=(fault) arg2={(fault),"hello"}`},
		{"p vfs_read %ax:symbol %ax:symstr %bx:symbol +0(%cx):symbol[2]", map[string]uint64{"ax": textAt + 0x104, "bx": 5, "cx": dataAt + 0x400},
			` arg1=vfs_read+0x4 arg2="vfs_read+0x4" arg3=0x5 arg4={do_sys_open+0x0,do_sys_open+0x1}`},
		{"r vfs_read $comm comm=$comm:string $goid $caller $dur", nil, ` arg1="main.main" comm="main.main" goid=7 caller=main.handle+0x12 dur=1500`},
		{"p vfs_read who=$goid:x32 $caller:x64", nil, ` who=0x7 caller=0x1000412`},

		// Go's values.
		{"p main.handle n n8 u16 ok f64 f32 z", map[string]uint64{"ax": ^uint64(4), "bx": 0x1_0050, "cx": 0x100},
			" n=-5 n8=-2 u16=80 ok=false f64=1.5 f32=0.1 z=(1.5-2i)"},
		{"p main.handle n:x32 h=n8:x16 l=n:u8 p:symbol", map[string]uint64{"ax": ^uint64(4)}, " n=0xfffffffb h=0xfffe l=251 p=0xfffffffffffffffb"},
		{"p main.handle p *p m c fn", map[string]uint64{"ax": dataAt + 0x400}, " p=0x2000400 *p=16777216 m=map[string]int(0x2000400) c=chan int(0x2000400) fn=do_sys_open"},
		{"p main.handle p *p m fn", nil, " p=nil *p=(fault) m=nil fn=nil"},
		{"p main.handle fn", map[string]uint64{"ax": 1}, " fn=(fault)"},
		{"p main.handle req.Method len(body)", map[string]uint64{"ax": dataAt + 0x10, "bx": 4}, ` req.Method="hell" len(body)=4`},
		{"p main.handle req.Method", map[string]uint64{"ax": 0, "bx": 0}, ` req.Method=""`},
		{"p main.handle req.Method", map[string]uint64{"ax": 1, "bx": 3}, ` req.Method=(fault)`},
		{"p main.handle req.Method", map[string]uint64{"ax": dataAt + 0x1000, "bx": 300}, ` req.Method="` + strings.Repeat("x", 255) + `"...`},
		{"p main.handle req.Method", map[string]uint64{"ax": dataAt + 0x1000, "bx": 255}, ` req.Method="` + strings.Repeat("x", 255) + `"`},
		{"p main.handle +0(%ax):string", map[string]uint64{"ax": dataAt + 0x1000}, ` arg1="` + strings.Repeat("x", 255) + `"...`},
		{"p main.handle +0(%ax):string", map[string]uint64{"ax": dataAt + 0x1000 + 45}, ` arg1="` + strings.Repeat("x", 255) + `"`},
		{"p main.handle body", map[string]uint64{"ax": dataAt + 0x500, "bx": 3}, " body=[0 1 2]"},
		{"p main.handle body", map[string]uint64{"ax": dataAt + 0x500, "bx": 1000}, " body=[0 1 2 3 4 5 6 7 ...] len=1000"},
		{"p main.handle body", map[string]uint64{"ax": 0, "bx": 2}, " body=[(fault) (fault)]"},
		{"p main.handle body", nil, " body=[]"},
		{"p main.handle empties", map[string]uint64{"bx": 3}, " empties=[{} {} {}]"},
		{"p main.handle pairs", map[string]uint64{"ax": heapAt, "bx": 2}, ` pairs=[{Name:"hello" Port:80} {Name:"wor\nld" Port:81}]`},
		{"p main.handle pair secret", map[string]uint64{"ax": dataAt + 0x10, "bx": 5, "cx": 80}, ` pair={Name:"hello" Port:80} secret=sync.Mutex`},
		{"p main.handle a[2] long", nil, " a[2]=-2 long=[273 546 -2 (fault) (fault) (fault) (fault) (fault) ...]"},
		{"p main.handle err any", nil, " err=nil any=nil"},
		{"p main.handle err", map[string]uint64{"ax": itab, "bx": heapAt}, ` err=(*errors.errorString)("hello")`},
		{"p main.handle err", map[string]uint64{"ax": itab, "bx": 16}, ` err=(*errors.errorString)((fault))`},
		{"p main.handle err", map[string]uint64{"ax": 64, "bx": heapAt}, ` err=(fault)`},
		{"p main.handle any", map[string]uint64{"ax": wrapErrorType, "bx": heapAt}, ` any=(*fmt.wrapError)("hello")`},
		{"p main.handle any", map[string]uint64{"ax": intType, "bx": dataAt + 0x508}, ` any=(int)(1)`},
		{"p main.handle any", map[string]uint64{"ax": intType, "bx": 8}, ` any=(int)(0x8)`},
		{"p main.handle any", map[string]uint64{"ax": structType, "bx": heapAt}, ` any=(main.T)(0xc000200000)`},
		{"p main.handle any", map[string]uint64{"ax": 12345}, ` any=(0x3039)(nil)`},
		{"r main.handle $ret0 e=$ret1", map[string]uint64{"ax": 0, "bx": 0}, " ret0=0 e=nil"},
		{"p main.handle +0(p):u8 +1(req.Method):char", map[string]uint64{"ax": dataAt + 0x10}, " arg1=104 arg2='e'"},
		{"p " + handle, nil, ""},
	}
	target := newTarget()
	target.put(dataAt, uint64(0x907060504030201), uint8(9), uint8(1))
	target.put(dataAt+0x10, "hello\x00")
	target.put(dataAt+0x100, uint64(dataAt), uint64(dataAt+0x10))
	target.put(dataAt+0x400, uint64(textAt), uint64(textAt+1))
	target.put(dataAt+0x500, uint64(0), uint64(1), uint64(2), uint64(3), uint64(4), uint64(5), uint64(6), uint64(7))
	target.put(dataAt+0x1000, strings.Repeat("x", 300)+"\x00")
	target.put(heapAt, uint64(dataAt+0x10), uint64(5), uint64(80), uint64(heapAt+0x100), uint64(6), uint64(81))
	target.put(heapAt+0x100, "wor\nld")
	target.put(itab, uint64(0), uint64(errorStringType))
	for _, test := range tests {
		h := newHit(target)
		setRegs(h, test.regs)
		buf := make([]byte, 4096)
		for i := range buf {
			buf[i] = 0xa5
		}
		p := compiled(t, target, test.line)
		n := p.Run(h, buf)
		if got := string(p.Append(nil, buf[:n], target)); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.line, got, test.want)
		}
	}
}
