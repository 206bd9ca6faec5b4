package inst

import (
	"encoding/hex"
	"testing"
)

func decode(t *testing.T, code string) Inst {
	t.Helper()
	b, err := hex.DecodeString(code)
	if err != nil {
		t.Fatal(err)
	}
	i, err := Decode(b)
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	if int(i.Len) != len(b) {
		t.Errorf("%s: length %d, want %d", code, i.Len, len(b))
	}
	return i
}

// Lengths that are easy to get wrong; the whole image is compared with objdump in
// package test.
func TestLength(t *testing.T) {
	for _, code := range []string{
		"c5f877",                         // vzeroupper
		"c5fc77",                         // vzeroall
		"660f38f6c1",                     // adcx %ecx, %eax
		"f3480f38f6d1",                   // adox %rcx, %rdx
		"48b8f0debc9a78563412",           // movabs
		"66b83412",                       // mov $0x1234, %ax
		"48c7c078563412",                 // mov $imm32, %rax
		"a1f0debc9a78563412",             // mov moffs64, %eax
		"67a178563412",                   // mov moffs32, %eax
		"c8341201",                       // enter
		"f6c105",                         // test $5, %cl
		"f6d1",                           // not %cl
		"f7c178563412",                   // test $imm32, %ecx
		"66f7c13412",                     // test $imm16, %cx
		"66480f6ec1",                     // movq %rcx, %xmm0
		"0f20c0",                         // mov %cr0, %rax
		"0f2000",                         // the same: mod is ignored
		"488d0500000000",                 // lea 0(%rip), %rax
		"488b042578563412",               // mov 0x12345678, %rax
		"488b04cd78563412",               // mov 0x12345678(,%rcx,8), %rax
		"488b442408",                     // mov 8(%rsp), %rax
		"62f1fe486f4701",                 // vmovdqu64 64(%rdi), %zmm0
		"62f37d4825d0ff",                 // vpternlogd $0xff, %zmm0, %zmm0, %zmm2
		"62f27d487ac1",                   // vpbroadcastb %ecx, %zmm0
		"c4e37d19c101",                   // vextractf128 $1, %ymm0, %xmm1
		"c4e3fbf0c10d",                   // rorx $13, %rcx, %rax
		"0f01f9",                         // rdtscp
		"0f01d0",                         // xgetbv
		"0f0d08",                         // prefetchw (%rax)
		"0f0fc19e",                       // pfadd %mm1, %mm0
		"660f78c10102",                   // extrq $2, $1, %xmm1
		"e800000000",                     //
		"66e900000000",                   // Intel ignores the prefix
		"f30f1efa",                       // endbr64
		"6666666666662e0f1f840000000000", // 15 bytes
	} {
		decode(t, code)
	}
}

func TestErrors(t *testing.T) {
	for code, want := range map[string]error{
		"":                                 ErrTruncated,
		"48":                               ErrTruncated,
		"0f":                               ErrTruncated,
		"488b":                             ErrTruncated,
		"488b04":                           ErrTruncated,
		"e8000000":                         ErrTruncated,
		"06":                               ErrUndefined,
		"9a":                               ErrUndefined,
		"0f04":                             ErrUndefined,
		"66c5f877":                         ErrUndefined, // a prefix before VEX
		"48c5f877":                         ErrUndefined, // REX before VEX
		"62f17c4877":                       ErrUndefined,
		"8fc9":                             ErrUndefined, // XOP
		"66666666666666666666666666666690": ErrTooLong,
	} {
		b, err := hex.DecodeString(code)
		if err != nil {
			t.Fatal(err)
		}
		if i, err := Decode(b); err != want {
			t.Errorf("%q: %+v, %v, want %v", code, i, err, want)
		}
	}
}

func TestFlow(t *testing.T) {
	for code, want := range map[string]Flow{
		"90":           FlowPlain,
		"eb10":         FlowJmp,
		"e900000000":   FlowJmp,
		"7410":         FlowJcc,
		"0f8400000000": FlowJcc,
		"e210":         FlowLoop,
		"e310":         FlowLoop,
		"e800000000":   FlowCall,
		"ffd0":         FlowCallInd,
		"ff1500000000": FlowCallInd,
		"ffe0":         FlowJmpInd,
		"c3":           FlowRet,
		"c20800":       FlowRet,
		"9c":           FlowPushf,
		"9d":           FlowPopf,
		"fa":           FlowCli,
		"fb":           FlowSti,
		"cc":           FlowInt3,
		"cd80":         FlowRefused,
		"f4":           FlowRefused,
		"0f05":         FlowRefused,
		"0f0b":         FlowRefused,
		"48cf":         FlowRefused,
		"ff18":         FlowRefused,
		"8ed0":         FlowRefused,
		"8ec0":         FlowPlain, // loads ES, not SS
		"66e900000000": FlowRefused,
		"ff30":         FlowPlain, // PUSH
	} {
		i := decode(t, code)
		if i.Flow != want {
			t.Errorf("%s: flow %d, want %d", code, i.Flow, want)
		}
		if (i.Flow == FlowRefused || i.Flow == FlowInt3) != (i.Refusal() != "") {
			t.Errorf("%s: flow %d, but refusal %q", code, i.Flow, i.Refusal())
		}
	}
}

func TestTarget(t *testing.T) {
	for _, c := range []struct {
		code string
		want uintptr
	}{
		{"ebfe", 0x1000},
		{"7410", 0x1012},
		{"0f84faffffff", 0x1000},
		{"e800010000", 0x1105},
		{"e2fc", 0xffe},
	} {
		i := decode(t, c.code)
		if got := i.Target(0x1000); got != c.want {
			t.Errorf("%s: target %#x, want %#x", c.code, got, c.want)
		}
	}
}

func TestRelocate(t *testing.T) {
	for _, c := range []struct {
		code     string
		from, to uintptr
		want     string
	}{
		{"488d0500010000", 0x1000, 0x2000, "488d0500f1ffff"},
		{"488d0500010000", 0x2000, 0x1000, "488d0500110000"},
		{"c7050000000078563412", 0x1000, 0x1010, "c705f0ffffff78563412"},
		{"c5fe6f0500000000", 0x1000, 0xff0, "c5fe6f0510000000"},
		{"488b442408", 0x1000, 0x2000, "488b442408"},
	} {
		i := decode(t, c.code)
		b, _ := hex.DecodeString(c.code)
		if err := i.Relocate(b, c.from, c.to); err != nil || hex.EncodeToString(b) != c.want {
			t.Errorf("%s from %#x to %#x: %x, %v, want %s", c.code, c.from, c.to, b, err, c.want)
		}
	}
	i := decode(t, "488d0500010000")
	b, _ := hex.DecodeString("488d0500010000")
	if err := i.Relocate(b, 0x1000, 0x1_0000_0000); err != ErrReach {
		t.Errorf("out of reach: %v", err)
	}
}

func TestPrologue(t *testing.T) {
	for _, c := range []struct {
		code string
		want Prologue
	}{
		{"493b6610" + "7605" + "55", Prologue{Kind: PrologueSmall, Compare: 0, Jump: 4, End: 6}},
		{"493b6610" + "0f8600010000", Prologue{Kind: PrologueSmall, Jump: 4, End: 10}},
		{"4c8d642480" + "4d3b6610" + "7605", Prologue{Kind: PrologueLarge, Frame: 128, Compare: 5, Jump: 9, End: 11}},
		{"4c8da42478fcffff" + "4d3b6610" + "7605", Prologue{Kind: PrologueLarge, Frame: 904, Compare: 8, Jump: 12, End: 14}},
		{"4989e4" + "4981ec00200000" + "7210" + "4d3b6610" + "7605", Prologue{Kind: PrologueHuge, Frame: 8192, Compare: 12, Jump: 16, End: 18}},
		{"644c8b3425f8ffffff" + "493b6610" + "7605", Prologue{Kind: PrologueSmall, LoadsG: true, Compare: 9, Jump: 13, End: 15}},
		{"493b6610" + "7705", Prologue{}}, // JA
		{"493b6618" + "7605", Prologue{}}, // another field of g
		{"4c8d642480" + "493b6610" + "7605", Prologue{}},
		{"4989e4" + "4981ec00200000" + "7410" + "4d3b6610" + "7605", Prologue{}},
		{"4989e4", Prologue{}},
		{"55", Prologue{}},
		{"", Prologue{}},
	} {
		b, err := hex.DecodeString(c.code)
		if err != nil {
			t.Fatal(err)
		}
		got := ParsePrologue(b)
		if got.Kind == PrologueNone {
			got = Prologue{}
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.code, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	for code, want := range map[string]string{
		"4801d8":       "ADDQ BX, AX",
		"c5f877":       "VZEROUPPER",
		"660f38f6c1":   "ADCX CX, AX",
		"f3480f38f6d1": "ADOX CX, DX",
		"06":           "?",
		"0f0fc19e":     "(0F0F.0F/C1)",
	} {
		b, _ := hex.DecodeString(code)
		if got := Text(b, 0, nil); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}

// Decode must survive anything: no panic, no instruction of no or of more than 15
// bytes, and nothing read past its end.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"90", "c5f877", "62f1fe486f4701", "488d0500000000", "66666666666666666666666666666690"} {
		b, _ := hex.DecodeString(s)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		i, err := Decode(code)
		if err != nil {
			if i.Len != 0 {
				t.Fatalf("%x: length %d with error %v", code, i.Len, err)
			}
			return
		}
		if i.Len == 0 || i.Len > MaxLen || int(i.Len) > len(code) {
			t.Fatalf("%x: length %d", code, i.Len)
		}
		j, err := Decode(code[:i.Len])
		if err != nil || j != i {
			t.Fatalf("%x: depends on what follows: %+v and %+v, %v", code, i, j, err)
		}
		if int(i.DispOff)+int(i.DispLen) > int(i.Len) || int(i.ImmOff)+int(i.ImmLen) > int(i.Len) {
			t.Fatalf("%x: operand outside of the instruction: %+v", code, i)
		}
		b := append([]byte(nil), code[:i.Len]...)
		if i.Relocate(b, 0x1000000, 0x1001000) == nil {
			if k, err := Decode(b); err != nil || k.Len != i.Len {
				t.Fatalf("%x: relocated to %x, %v", code, b, err)
			}
		}
		ParsePrologue(code)
		Text(code, 0x1000000, nil)
	})
}
