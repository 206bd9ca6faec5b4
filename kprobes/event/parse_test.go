package event

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// same reports whether two definitions say the same, wherever they were written.
func same(a, b *Definition) bool {
	return reflect.DeepEqual(withoutPositions(a), withoutPositions(b))
}

func withoutPositions(d *Definition) *Definition {
	c := *d
	c.Line, c.Place.Column = "", 0
	c.Args = nil
	for _, arg := range d.Args {
		arg.Column = 0
		arg.Fetch = *fetchWithoutPositions(&arg.Fetch)
		c.Args = append(c.Args, arg)
	}
	if d.Filter != nil {
		c.Filter = &Filter{text: d.Filter.text}
	}
	return &c
}

func fetchWithoutPositions(f *Fetch) *Fetch {
	c := *f
	c.Column = 0
	if f.Of != nil {
		c.Of = fetchWithoutPositions(f.Of)
	}
	return &c
}

func TestParse(t *testing.T) {
	symbol := func(name string) Place { return Place{Symbol: name} }
	glob := func(name string) Place { return Place{Symbol: name, Glob: true} }
	args := func(args ...Arg) []Arg { return args }
	reg := func(name, reg string) Arg { return Arg{Name: name, Fetch: Fetch{Op: FetchReg, Name: reg}} }
	typed := func(arg Arg, typ Type) Arg { arg.Type = typ; return arg }
	tests := []struct {
		line  string
		want  Definition
		print string // "": line
	}{
		// As in Linux's documentation.
		{"p:myprobe do_sys_open dfd=%ax filename=%dx flags=%cx mode=+4($stack)", Definition{
			Kind: KindProbe, Event: "myprobe", Place: symbol("do_sys_open"),
			Args: args(reg("dfd", "ax"), reg("filename", "dx"), reg("flags", "cx"),
				Arg{Name: "mode", Fetch: Fetch{Op: FetchDeref, N: 4, Of: &Fetch{Op: FetchStack}}}),
		}, ""},
		{"r:myretprobe do_sys_open $retval", Definition{
			Kind: KindReturn, Event: "myretprobe", Place: symbol("do_sys_open"),
			Args: args(Arg{Name: "arg1", Fetch: Fetch{Op: FetchRetval}}),
		}, ""},
		{"-:myprobe", Definition{Kind: KindRemove, Event: "myprobe"}, ""},
		{"-:mygroup/", Definition{Kind: KindRemove, Group: "mygroup"}, ""},
		{"-:mygroup/myprobe", Definition{Kind: KindRemove, Group: "mygroup", Event: "myprobe"}, ""},
		{"-:mygroup.myprobe", Definition{Kind: KindRemove, Group: "mygroup", Event: "myprobe"}, "-:mygroup/myprobe"},

		// Heads.
		{"p vfs_read", Definition{Kind: KindProbe, Place: symbol("vfs_read")}, ""},
		{" \tp\tvfs_read  # comment", Definition{Kind: KindProbe, Place: symbol("vfs_read")}, "p vfs_read"},
		{"p vfs_read\r\n", Definition{Kind: KindProbe, Place: symbol("vfs_read")}, "p vfs_read"},
		{"p:g/e vfs_read", Definition{Kind: KindProbe, Group: "g", Event: "e", Place: symbol("vfs_read")}, ""},
		{"p:g/ vfs_read", Definition{Kind: KindProbe, Group: "g", Place: symbol("vfs_read")}, ""},
		{"p:kprobes/e vfs_read", Definition{Kind: KindProbe, Event: "e", Place: symbol("vfs_read")}, "p:e vfs_read"},
		{"r100:e vfs_read", Definition{Kind: KindReturn, MaxActive: 100, Event: "e", Place: symbol("vfs_read")}, ""},
		{"r4096 vfs_read+0", Definition{Kind: KindReturn, MaxActive: 4096, Place: symbol("vfs_read")}, "r4096 vfs_read"},
		{"r0 vfs_read", Definition{Kind: KindReturn, Place: symbol("vfs_read")}, "r vfs_read"},
		{"p -inline vfs_read", Definition{Kind: KindProbe, Inlined: true, Place: symbol("vfs_read")}, ""},

		// Places.
		{"p:e vfs_read%return", Definition{Kind: KindReturn, Event: "e", Place: symbol("vfs_read")}, "r:e vfs_read"},
		{"p vfs_read+0x10", Definition{Kind: KindProbe, Place: Place{Symbol: "vfs_read", Offset: 16}}, ""},
		{"p vfs_read+010", Definition{Kind: KindProbe, Place: Place{Symbol: "vfs_read", Offset: 8}}, "p vfs_read+0x8"},
		{"p 0x1000004", Definition{Kind: KindProbe, Place: Place{Addr: 0x1000004}}, ""},
		{"r 16777216", Definition{Kind: KindReturn, Place: Place{Addr: 0x1000000}}, "r 0x1000000"},
		{"p main.main", Definition{Kind: KindProbe, Place: symbol("main.main")}, ""},
		{"p main.main.func1+4", Definition{Kind: KindProbe, Place: Place{Symbol: "main.main.func1", Offset: 4}}, "p main.main.func1+0x4"},
		{"p main.(*T).M+4", Definition{Kind: KindProbe, Place: Place{Symbol: "main.(*T).M", Offset: 4}}, "p main.(*T).M+0x4"},
		{"p main.(*T).M-fm", Definition{Kind: KindProbe, Place: symbol("main.(*T).M-fm")}, ""},
		{"r sync.(*Mutex).Lock", Definition{Kind: KindReturn, Place: symbol("sync.(*Mutex).Lock")}, ""},
		{"p vendor/golang.org/x/net.Dial", Definition{Kind: KindProbe, Place: symbol("vendor/golang.org/x/net.Dial")}, ""},
		{"p gopkg.in/yaml%2ev3.Load%return", Definition{Kind: KindReturn, Place: symbol("gopkg.in/yaml%2ev3.Load")}, `r "gopkg.in/yaml%2ev3.Load"`},
		{"p main.f[go.shape.struct { X int }]+4 %ax", Definition{
			Kind: KindProbe, Place: Place{Symbol: "main.f[go.shape.struct { X int }]", Offset: 4}, Args: args(reg("arg1", "ax")),
		}, `p "main.f[go.shape.struct { X int }]"+0x4 %ax`},
		{"p main.f[go.shape.int] %ax", Definition{Kind: KindProbe, Place: symbol("main.f[go.shape.int]"), Args: args(reg("arg1", "ax"))}, ""},
		{`p "main.f[go.shape.struct { X int }]"`, Definition{Kind: KindProbe, Place: symbol("main.f[go.shape.struct { X int }]")}, ""},
		{`p:e "main.main"%return`, Definition{Kind: KindReturn, Event: "e", Place: symbol("main.main")}, "r:e main.main"},
		{"p main.F+1", Definition{Kind: KindProbe, Place: symbol("main.F+1")}, `p "main.F+1"`},
		{"p main.F+2", Definition{Kind: KindProbe, Place: Place{Symbol: "main.F", Offset: 2}}, "p main.F+0x2"},
		{"p type:.eq.main.T", Definition{Kind: KindProbe, Place: symbol("type:.eq.main.T")}, `p "type:.eq.main.T"`},
		{"p server.go:12", Definition{Kind: KindProbe, Place: Place{File: "server.go", Line: 12}}, ""},
		{"p net/http/server.go:12 n", Definition{Kind: KindProbe, Place: Place{File: "net/http/server.go", Line: 12},
			Args: args(Arg{Name: "n", Fetch: Fetch{Op: FetchVar, Name: "n"}})}, ""},
		{`p "my file.go":12`, Definition{Kind: KindProbe, Place: Place{File: "my file.go", Line: 12}}, ""},
		{"p 2.go:12", Definition{Kind: KindProbe, Place: Place{File: "2.go", Line: 12}}, `p "2.go":12`},
		{"p sort.*", Definition{Kind: KindProbe, Place: glob("sort.*")}, ""},
		{"r sort.I?t[a-z]", Definition{Kind: KindReturn, Place: glob("sort.I?t[a-z]")}, `r "sort.I?t[a-z]"`},
		{"p sort.*%return", Definition{Kind: KindReturn, Place: glob("sort.*")}, "r sort.*"},
		{`p "main.f[go.shape.struct *"`, Definition{Kind: KindProbe, Place: glob("main.f[go.shape.struct *")}, ""},
		{"p -inline sort.* $arg1", Definition{Kind: KindProbe, Inlined: true, Place: glob("sort.*"),
			Args: args(Arg{Name: "arg1", Fetch: Fetch{Op: FetchArg, N: 1}})}, ""},

		// Fetches.
		{"p vfs_read @0x10 @jiffies @jiffies+8 @jiffies-0x10", Definition{
			Kind: KindProbe, Place: symbol("vfs_read"), Args: args(
				Arg{Name: "arg1", Fetch: Fetch{Op: FetchMem, Addr: 16}},
				Arg{Name: "arg2", Fetch: Fetch{Op: FetchSymbol, Name: "jiffies"}},
				Arg{Name: "arg3", Fetch: Fetch{Op: FetchSymbol, Name: "jiffies", N: 8}},
				Arg{Name: "arg4", Fetch: Fetch{Op: FetchSymbol, Name: "jiffies", N: -16}}),
		}, "p vfs_read @0x10 @jiffies @jiffies+8 @jiffies-16"},
		{`p vfs_read @"go:main.inittasks"+8:u8 x=@"main.f[go.shape.struct { X int }]"`, Definition{
			Kind: KindProbe, Place: symbol("vfs_read"), Args: args(
				typed(Arg{Name: "arg1", Fetch: Fetch{Op: FetchSymbol, Name: "go:main.inittasks", N: 8}}, Type{Kind: TypeUnsigned, Size: 1}),
				Arg{Name: "x", Fetch: Fetch{Op: FetchSymbol, Name: "main.f[go.shape.struct { X int }]"}}),
		}, ""},
		{"p vfs_read $stack $stack0 $stack07 $arg1 $comm $goid $caller", Definition{
			Kind: KindProbe, Place: symbol("vfs_read"), Args: args(
				Arg{Name: "arg1", Fetch: Fetch{Op: FetchStack}}, Arg{Name: "arg2", Fetch: Fetch{Op: FetchStackN}},
				Arg{Name: "arg3", Fetch: Fetch{Op: FetchStackN, N: 7}}, Arg{Name: "arg4", Fetch: Fetch{Op: FetchArg, N: 1}},
				Arg{Name: "arg5", Fetch: Fetch{Op: FetchComm}}, Arg{Name: "goid", Fetch: Fetch{Op: FetchGoid}},
				Arg{Name: "caller", Fetch: Fetch{Op: FetchCaller}}),
		}, "p vfs_read $stack $stack0 $stack7 $arg1 $comm $goid $caller"},
		{"r vfs_read $retval:s32 $ret0 x=$ret1 $dur", Definition{
			Kind: KindReturn, Place: symbol("vfs_read"), Args: args(
				typed(Arg{Name: "arg1", Fetch: Fetch{Op: FetchRetval}}, Type{Kind: TypeSigned, Size: 4}),
				Arg{Name: "ret0", Fetch: Fetch{Op: FetchResult}}, Arg{Name: "x", Fetch: Fetch{Op: FetchResult, N: 1}},
				Arg{Name: "dur", Fetch: Fetch{Op: FetchDur}}),
		}, ""},
		{`p vfs_read \1 \-2 \+3 \0xffffffffffffffff \"a b#\"c"`, Definition{
			Kind: KindProbe, Place: symbol("vfs_read"), Args: args(
				Arg{Name: "arg1", Fetch: Fetch{Op: FetchImm, N: 1}}, Arg{Name: "arg2", Fetch: Fetch{Op: FetchImm, N: -2}},
				Arg{Name: "arg3", Fetch: Fetch{Op: FetchImm, N: 3}}, Arg{Name: "arg4", Fetch: Fetch{Op: FetchImm, N: -1}},
				Arg{Name: "arg5", Fetch: Fetch{Op: FetchString, Name: `a b#"c`}}),
		}, `p vfs_read \1 \-2 \3 \-1 \"a b#\"c"`},
		{"p vfs_read +8(-0x10(+u4(-u2(%si)))):string +0(@0)", Definition{
			Kind: KindProbe, Place: symbol("vfs_read"), Args: args(
				typed(Arg{Name: "arg1", Fetch: Fetch{Op: FetchDeref, N: 8, Of: &Fetch{Op: FetchDeref, N: -16, Of: &Fetch{Op: FetchDeref, N: 4, User: true,
					Of: &Fetch{Op: FetchDeref, N: -2, User: true, Of: &Fetch{Op: FetchReg, Name: "si"}}}}}}, Type{Kind: TypeString}),
				Arg{Name: "arg2", Fetch: Fetch{Op: FetchDeref, Of: &Fetch{Op: FetchMem}}}),
		}, "p vfs_read +8(-16(+u4(-u2(%si)))):string +0(@0x0)"},
		{`p main.handle req.Method name=len(body):x32 *p m["a b=:"] +8(req.URL):u8`, Definition{
			Kind: KindProbe, Place: symbol("main.handle"), Args: args(
				Arg{Name: "req.Method", Fetch: Fetch{Op: FetchVar, Name: "req.Method"}},
				typed(Arg{Name: "name", Fetch: Fetch{Op: FetchVar, Name: "len(body)"}}, Type{Kind: TypeHex, Size: 4}),
				Arg{Name: "*p", Fetch: Fetch{Op: FetchVar, Name: "*p"}}, Arg{Name: `m["a b=:"]`, Fetch: Fetch{Op: FetchVar, Name: `m["a b=:"]`}},
				typed(Arg{Name: "arg5", Fetch: Fetch{Op: FetchDeref, N: 8, Of: &Fetch{Op: FetchVar, Name: "req.URL"}}}, Type{Kind: TypeUnsigned, Size: 1})),
		}, ""},

		// Filters.
		{"p vfs_read %ax if arg1 == 3 && comm != \"main.main\" # comment", Definition{
			Kind: KindProbe, Place: symbol("vfs_read"), Args: args(reg("arg1", "ax")), Filter: &Filter{text: `arg1 == 3 && comm != "main.main"`},
		}, "p vfs_read %ax if arg1 == 3 && comm != \"main.main\""},
		{"p vfs_read c=%ax:char if c=='#'||(c == \"#\")", Definition{}, "error"},
		{"p vfs_read c=%ax:char if c=='#'||!(c > 'a')", Definition{
			Kind: KindProbe, Place: symbol("vfs_read"), Args: args(typed(reg("c", "ax"), Type{Kind: TypeChar, Size: 1})), Filter: &Filter{text: "c=='#'||!(c > 'a')"},
		}, ""},
	}
	for _, test := range tests {
		d, err := Parse(test.line, newTarget())
		if test.print == "error" {
			if err == nil {
				t.Errorf("Parse(%q) succeeds", test.line)
			}
			continue
		}
		if err != nil {
			t.Errorf("Parse(%q): %v", test.line, err)
			continue
		}
		if test.want.Group == "" && test.want.Kind != KindRemove {
			test.want.Group = DefaultGroup
		}
		if !same(d, &test.want) {
			t.Errorf("Parse(%q)\n got %+v\nwant %+v", test.line, *withoutPositions(d), test.want)
		}
		want := test.print
		if want == "" {
			want = test.line
		}
		if got := d.String(); got != want {
			t.Errorf("Parse(%q) prints %q, want %q", test.line, got, want)
		}
		if again, err := Parse(want, newTarget()); err != nil || !same(again, d) {
			t.Errorf("Parse(%q) is not the same as Parse(%q): %v", want, test.line, err)
		}
	}
}

func TestParseTypes(t *testing.T) {
	for _, name := range strings.Fields("u8 u16 u32 u64 s8 s16 s32 s64 x8 x16 x32 x64 char string ustring symbol symstr b4@8/32 b1@0/8 b64@0/64 u8[64] string[1] ustring[2] symbol[3]") {
		line := "p vfs_read +0(%di):" + name
		d, err := Parse(line, newTarget())
		if err != nil {
			t.Errorf("Parse(%q): %v", line, err)
		} else if got := d.String(); got != line {
			t.Errorf("Parse(%q) prints %q", line, got)
		}
	}
}

func TestParseNothing(t *testing.T) {
	for _, line := range []string{"", "  \t", "#", "# p vfs_read", "  # x", "\n"} {
		if d, err := Parse(line, newTarget()); d != nil || err != nil {
			t.Errorf("Parse(%q) = %v, %v", line, d, err)
		}
	}
}

func TestParseColumns(t *testing.T) {
	d, err := Parse("  p:e vfs_read  a=+0(%ax):u8 %bx", newTarget())
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(d.Place.Column, d.Args[0].Column, d.Args[0].Fetch.Column, d.Args[0].Fetch.Of.Column, d.Args[1].Column, d.Args[1].Fetch.Column)
	if want := "7 17 19 22 30 30"; got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
}

func TestEventName(t *testing.T) {
	tests := map[string]string{
		"p:e vfs_read":                           "e",
		"p vfs_read":                             "p_vfs_read_0",
		"r vfs_read":                             "r_vfs_read_0",
		"p vfs_read+0x10":                        "p_vfs_read_16",
		"p 0x1000004":                            "p_0x1000004",
		"p main.(*T).M":                          "p_main_T_M_0",
		"p sync.(*Mutex).Lock+4":                 "p_sync_Mutex_Lock_4",
		"p main.f[go.shape.struct { X int }]+4":  "p_main_f_go_shape_struct_X_int_4",
		"p net/http/server.go:12":                "p_net_http_server_go_12",
		"p " + strings.Repeat("x", 80) + ".go:1": "p_" + strings.Repeat("x", 59) + "_1",
	}
	for line, want := range tests {
		d, err := Parse(line, newTarget())
		if err != nil {
			t.Errorf("Parse(%q): %v", line, err)
			continue
		}
		if got := d.EventName(); got != want || !isIdentifier(got) || len(got) > maxNameLength {
			t.Errorf("Parse(%q) is named %q, want %q", line, got, want)
		}
	}
}

func TestGlob(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "x", false}, {"*", "", true}, {"*", "a/b.c", true}, {"?", "", false}, {"?", "a", true},
		{"sort.*", "sort.Ints", true}, {"sort.*", "sort", false}, {"*Lock", "sync.(*Mutex).Lock", true}, {"*Lock", "sync.(*Mutex).Locked", false},
		{"a*b*c", "aXbXbc", true}, {"a*b*c", "aXbXb", false}, {"[a-c]x", "bx", true}, {"[!a-c]x", "bx", false}, {"[^a-c]x", "dx", true},
		{"[]]", "]", true}, {"[a-]", "-", true}, {"[abc", "[abc", true}, {"[abc", "a", false}, {`\*`, "*", true}, {`\*`, "x", false}, {`a\`, `a\`, true},
		{"*a", "aab", false}, {"**", "x", true}, {"*?", "", false},
	}
	for _, test := range tests {
		if got := Glob(test.pattern, test.name); got != test.want {
			t.Errorf("Glob(%q, %q) = %v", test.pattern, test.name, got)
		}
	}
}

func TestMatchName(t *testing.T) {
	for pattern, want := range map[string]bool{
		"main.f[*]": true, "main.f[go.shape.*]": true, "main.f*": true, "main.[a-f]*": true, "main.f[int]": false,
	} {
		if got := MatchName(pattern, "main.f[go.shape.int]"); got != want {
			t.Errorf("MatchName(%q) = %v", pattern, got)
		}
	}
}
