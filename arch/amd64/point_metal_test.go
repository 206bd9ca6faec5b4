//go:build metal

package amd64

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"tamaprobe/arch/amd64/inst"
	"tamaprobe/internal/cputest"
)

// A machine is memory and code to run one instruction in. Behind the instruction
// R13 is set to 1; at the offset branchTarget, to 2.
type machine struct {
	memory [8192]byte // data in the first half, stack in the second
	code   [cputest.ScratchSize]byte
	n      int // length of the instruction
}

const branchTarget = 64

func newMachine(insn []byte) *machine {
	m := &machine{n: len(insn)}
	copy(m.code[:], insn)
	m.putEnd(len(insn), 1)
	m.putEnd(branchTarget, 2)
	return m
}

// putEnd puts MOVQ $v, R13; JMP Done at off.
func (m *machine) putEnd(off int, v byte) {
	copy(m.code[off:], []byte{0x49, 0xc7, 0xc5, v, 0, 0, 0})
	off += 7
	putJump(m.code[off:], cputest.Scratch()+uintptr(off), cputest.Done())
}

// load writes the code into the text, as if it had always been there.
func (m *machine) load() {
	scratch := cputest.Scratch()
	store(scratch, m.code[:])
	SyncCores()
	store(scratch, m.code[:]) // see writeText
	copy(original.code[scratch-original.lo:], m.code[:])
	SyncCores()
}

// registers returns a start state for a seed.
func (m *machine) registers(seed uint64) cputest.State {
	rng := rand.New(rand.NewPCG(seed, 1))
	var s cputest.State
	for i := range s.R {
		s.R[i] = rng.Uint64()
	}
	for i := range s.Y {
		for j := range s.Y[i] {
			s.Y[i][j] = rng.Uint64()
		}
	}
	base := uint64(uintptr(unsafe.Pointer(&m.memory)))&^63 + 64
	s.R[1] = rng.Uint64N(7) // CX counts
	s.R[3] = base + 0x800   // BX, SI, DI point to data
	s.R[6] = base + 0x400
	s.R[7] = base + 0xc00
	s.R[8] = rng.Uint64N(8)
	s.R[4] = base + 0x1800 // SP
	s.R[5] = base + 0x1840 // BP, a frame above it
	s.Flags = FlagIF | 2 | rng.Uint64()&arithmeticFlags
	for i := range m.memory {
		m.memory[i] = byte(rng.Uint32())
	}
	return s
}

// A result is what running an instruction left.
type result struct {
	cputest.State
	memory []byte
}

// run runs the instruction with the registers of seed, which adjust may change.
// What an interrupt may overwrite, memory below SP, is not part of the result.
func (m *machine) run(seed uint64, adjust func(*cputest.State, *machine)) result {
	s := m.registers(seed)
	if adjust != nil {
		adjust(&s, m)
	}
	cputest.Run(&s, cputest.Scratch())
	sp := uintptr(s.R[4]) - uintptr(unsafe.Pointer(&m.memory))
	memory := slices.Clone(m.memory[:])
	clear(memory[0x1000+64 : sp])
	return result{s, memory}
}

// testInsn compares the instruction by itself with it resumed and stepped over
// at a breakpoint.
func testInsn(t *testing.T, name string, m *machine, seeds uint64, adjust func(*cputest.State, *machine)) {
	t.Helper()
	m.load()
	p := new(Point)
	if err := p.Prepare(cputest.Scratch(), false); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	tested = p
	defer func() { tested = nil; Release([]*Point{p}) }()
	for seed := range seeds {
		want := m.run(seed, adjust)
		for _, stepMode = range []bool{false, true} {
			SetBreakpoints([]*Point{p}, nil)
			hits, steps = 0, 0
			got := m.run(seed, adjust)
			SetBreakpoints(nil, []*Point{p})
			if hits != 1 || stepMode && steps != 1 || !stepMode && steps != 0 {
				t.Errorf("%s: seed %d, step %v: %d hits, %d steps", name, seed, stepMode, hits, steps)
			}
			if got.State != want.State {
				t.Errorf("%s: seed %d, step %v:\n got %x\nwant %x", name, seed, stepMode, got.State, want.State)
			}
			if i := firstDifference(got.memory, want.memory); i >= 0 {
				t.Errorf("%s: seed %d, step %v: memory differs at %#x", name, seed, stepMode, i)
			}
			if t.Failed() {
				return
			}
		}
	}
	testDetour(t, name, p, m, seeds, adjust)
}

// detourHits counts the hits of testDetour's handler.
var detourHits int

var (
	detourHandler = func(_ uintptr, r *Regs) bool {
		detourHits++
		if r.PC != scratchAddr {
			detourHits += 100
		}
		if seedSSE {
			return CallSaved(FuncPointer(&useSSEFunc), 0, 0, 0) != 0
		}
		return false
	}
	useSSEFunc = func() uintptr {
		useSSE()
		return 0
	}
	scratchAddr = uint64(cputest.Scratch())
	seedSSE     bool
	noLeave     = func(*Regs) bool { return false }
	detourProbe [2]uint64 // what stands for a probe: off
	detourCount [2]uint64
)

// testDetour compares the instruction by itself with it displaced to a detour.
func testDetour(t *testing.T, name string, p *Point, m *machine, seeds uint64, adjust func(*cputest.State, *machine)) {
	t.Helper()
	lo, hi := TextRange()
	none := &Arrivals{lo: lo, hi: hi, marks: make([]uint64, (hi-lo)/64+1)}
	fn := Function{Entry: cputest.Scratch(), End: cputest.Scratch() + cputest.ScratchSize}
	d, err := p.NewDetour(fn, none, &DetourHit{Guard: 1, Leave: &noLeave, Probes: []DetourProbe{{
		Probe: uintptr(unsafe.Pointer(&detourProbe)), Handled: uintptr(unsafe.Pointer(&detourCount[0])), Missed: uintptr(unsafe.Pointer(&detourCount[1])),
		Handler: FuncPointer(&detourHandler), TLS: true, Locks: true,
	}}})
	if err != nil {
		t.Logf("%s: %v", name, err)
		return
	}
	for seed := range seeds {
		want := m.run(seed, adjust)
		seedSSE = seed%2 == 1
		detourHits, detourCount = 0, [2]uint64{}
		SetBreakpoints([]*Point{p}, nil)
		JumpToDetours([]*Detour{d})
		got := m.run(seed, adjust)
		RemoveDetours([]*Detour{d})
		SetBreakpoints(nil, []*Point{p})
		if detourHits != 1 || detourCount != [2]uint64{1, 0} {
			t.Errorf("%s: seed %d, detour: %d hits, counts %d", name, seed, detourHits, detourCount)
		}
		if got.State != want.State {
			t.Errorf("%s: seed %d, detour:\n got %x\nwant %x", name, seed, got.State, want.State)
		}
		if i := firstDifference(got.memory, want.memory); i >= 0 {
			t.Errorf("%s: seed %d, detour: memory differs at %#x", name, seed, i)
		}
		if t.Failed() {
			break
		}
	}
	FreeDetours([]*Detour{d})
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

func TestPlainInstructions(t *testing.T) {
	install(t)
	for _, s := range plain {
		code, err := hex.DecodeString(s.code)
		if err != nil {
			t.Fatal(err)
		}
		testInsn(t, s.name, newMachine(code), 4, func(st *cputest.State, m *machine) {
			if s.name == "divq %r9" || s.name == "idivl %r9d" {
				st.R[0] &= 0x7fffffff
				st.R[2] = 0 // no overflow
			}
		})
	}
}

// ripData is what instructions with an address relative to the instruction pointer
// access.
var ripData [64]byte

func TestRelativeOperands(t *testing.T) {
	install(t)
	for _, s := range relative {
		code, err := hex.DecodeString(s.code)
		if err != nil {
			t.Fatal(err)
		}
		i, err := inst.Decode(code)
		if err != nil || !i.RIPRelative {
			t.Errorf("%s: %+v, %v", s.name, i, err)
			continue
		}
		target := uintptr(unsafe.Pointer(&ripData))&^31 + 32
		binary.LittleEndian.PutUint32(code[i.DispOff:], uint32(target-cputest.Scratch()-uintptr(len(code))))
		m := newMachine(code)
		testInsn(t, s.name, m, 4, func(_ *cputest.State, m *machine) {
			for i := range ripData {
				ripData[i] = byte(i * 7)
			}
		})
	}
}

// rel8 and rel32 append the distance to branchTarget.
func rel8(opcode ...byte) []byte {
	n := len(opcode) + 1
	return append(opcode, byte(branchTarget-n))
}

func rel32(opcode ...byte) []byte {
	n := len(opcode) + 4
	return binary.LittleEndian.AppendUint32(opcode, uint32(branchTarget-n))
}

func TestBranches(t *testing.T) {
	install(t)
	for cc := range byte(16) {
		for flags := range uint64(64) {
			set := func(s *cputest.State, _ *machine) {
				s.Flags = FlagIF | 2 |
					flags&1*FlagCF | flags>>1&1*FlagPF | flags>>2&1*FlagAF |
					flags>>3&1*FlagZF | flags>>4&1*FlagSF | flags>>5&1*FlagOF
			}
			testInsn(t, "jcc rel8", newMachine(rel8(0x70|cc)), 1, set)
			testInsn(t, "jcc rel32", newMachine(rel32(0x0f, 0x80|cc)), 1, set)
		}
	}
	testInsn(t, "jmp rel8", newMachine(rel8(0xeb)), 2, nil)
	testInsn(t, "jmp rel32", newMachine(rel32(0xe9)), 2, nil)
	testInsn(t, "call rel32", newMachine(rel32(0xe8)), 2, nil)
	for op := byte(0xe0); op <= 0xe3; op++ { // LOOPNE, LOOPE, LOOP, JRCXZ
		for _, cx := range []uint64{0, 1, 2, 1 << 32, 1<<32 + 1, ^uint64(0)} {
			for _, zf := range []uint64{0, FlagZF} {
				set := func(s *cputest.State, _ *machine) {
					s.R[1] = cx
					s.Flags = s.Flags&^FlagZF | zf
				}
				testInsn(t, "loop", newMachine(rel8(op)), 1, set)
				testInsn(t, "addr32 loop", newMachine(rel8(0x67, op)), 1, set)
			}
		}
	}
}

func TestIndirectBranches(t *testing.T) {
	install(t)
	target := uint64(cputest.Scratch()) + branchTarget
	inMemory := func(s *cputest.State, m *machine) {
		s.R[0] = target
		s.R[11] = 16
		base := uint64(uintptr(unsafe.Pointer(&m.memory)))
		for _, addr := range []uint64{s.R[3], s.R[3] + 8, s.R[3] + 0x100, s.R[3] + 16*8 + 0x10, s.R[4], s.R[4] + 8} {
			binary.LittleEndian.PutUint64(m.memory[addr-base:], target)
		}
		s.R[12] = s.R[3]
		s.R[13] = s.R[3]
	}
	for _, s := range []sample{
		{"call *%rax", "ffd0"},
		{"jmp *%rax", "ffe0"},
		{"call *(%rbx)", "ff13"},
		{"jmp *(%rbx)", "ff23"},
		{"call *8(%rbx)", "ff5308"},
		{"jmp *0x100(%rbx)", "ffa300010000"},
		{"call *0x10(%rbx,%r11,8)", "42ff54db10"},
		{"jmp *0x10(%rbx,%r11,8)", "42ff64db10"},
		{"call *(%r12)", "41ff1424"},
		{"jmp *0(%r13)", "41ff6500"},
		{"call *8(%rsp)", "ff542408"},
		{"jmp *(%rsp)", "ff2424"},
		{"rex.W call *%rax", "48ffd0"},
		{"notrack jmp *%rax", "3effe0"},
		{"addr32 jmp *(%ebx)", "67ff23"},
		{"ret", "c3"},
		{"ret $24", "c21800"},
		{"rep ret", "f3c3"},
	} {
		code, err := hex.DecodeString(s.code)
		if err != nil {
			t.Fatal(err)
		}
		testInsn(t, s.name, newMachine(code), 3, inMemory)
	}
}

func TestIndirectBranchThroughText(t *testing.T) {
	install(t)
	// The pointer lies behind the code, addressed from the instruction pointer
	// and by a bare 32-bit address.
	const pointer = 128
	addr := uint32(cputest.Scratch() + pointer)
	for _, code := range [][]byte{
		binary.LittleEndian.AppendUint32([]byte{0xff, 0x25}, pointer-6),
		binary.LittleEndian.AppendUint32([]byte{0xff, 0x15}, pointer-6),
		binary.LittleEndian.AppendUint32([]byte{0xff, 0x24, 0x25}, addr),
	} {
		m := newMachine(code)
		binary.LittleEndian.PutUint64(m.code[pointer:], uint64(cputest.Scratch())+branchTarget)
		testInsn(t, hex.EncodeToString(code), m, 2, nil)
	}
}

func TestFlagInstructions(t *testing.T) {
	install(t)
	for _, flags := range []uint64{2, 2 | arithmeticFlags, 2 | FlagDF, 2 | FlagIF, 2 | FlagIF | FlagDF | FlagZF, 2 | 1<<18 | 1<<21} {
		set := func(s *cputest.State, m *machine) {
			s.Flags = FlagIF | 2 | FlagCF
			base := uint64(uintptr(unsafe.Pointer(&m.memory)))
			binary.LittleEndian.PutUint64(m.memory[s.R[4]-base:], flags)
		}
		testInsn(t, "popfq", newMachine([]byte{0x9d}), 2, set)
		testInsn(t, "popfw", newMachine([]byte{0x66, 0x9d}), 2, set)
		set = func(s *cputest.State, _ *machine) { s.Flags = flags | FlagIF }
		testInsn(t, "pushfq", newMachine([]byte{0x9c}), 2, set)
		testInsn(t, "pushfw", newMachine([]byte{0x66, 0x9c}), 2, set)
		set = func(s *cputest.State, _ *machine) { s.Flags = flags }
		testInsn(t, "cli", newMachine([]byte{0xfa}), 2, set)
		testInsn(t, "sti", newMachine([]byte{0xfb}), 2, set)
		testInsn(t, "pushfq", newMachine([]byte{0x9c}), 2, set)
	}
}

// STI; HLT: the tick ends the halt. A step in between must not let it pass unseen.
func TestStiHlt(t *testing.T) {
	install(t)
	for range 20 {
		testInsn(t, "sti; hlt", newMachine([]byte{0xfb, 0xf4}), 1, func(s *cputest.State, _ *machine) { s.Flags = 2 })
	}
}

func TestRefused(t *testing.T) {
	install(t)
	for _, code := range []string{
		"cc", "cd80", "f1", "0f0b", "0fb9c0", "0fffc0", "48cf", "cf", "f4", "0f05", "0f07", "0f34", "0f35",
		"cb", "ca0800", "ff1b", "ff2b", "8ed0", "0faa", "c7f800000000", "c6f800",
		"66e9000000", "660f8400000000", "66c3", "66ffe0", "64ff23",
		"06", "d6", "62",
	} {
		b, _ := hex.DecodeString(code)
		m := newMachine(b)
		m.load()
		if err := new(Point).Prepare(cputest.Scratch(), false); err == nil {
			t.Errorf("%s: can be probed", code)
		} else {
			t.Log(err)
		}
	}
}

// A sample is an instruction in AT&T syntax, as the GNU assembler encodes it.
type sample struct{ name, code string }

var plain = []sample{
	{"addq %rbx, %rax", "4801d8"},
	{"addl %ecx, %edx", "01ca"},
	{"addw %si, %di", "6601f7"},
	{"addb %cl, %dl", "00ca"},
	{"adcq $0x12345678, %rax", "481578563412"},
	{"sbbq %rcx, %rdx", "4819ca"},
	{"subq $8, %rax", "4883e808"},
	{"cmpq %rax, %rcx", "4839c1"},
	{"cmpb $5, %al", "3c05"},
	{"testq %rax, %rdx", "4885c2"},
	{"andl $0xff, %eax", "25ff000000"},
	{"orq %rcx, %rax", "4809c8"},
	{"xorl %edx, %edx", "31d2"},
	{"incq %rax", "48ffc0"},
	{"decl %ecx", "ffc9"},
	{"negq %rdx", "48f7da"},
	{"notq %rcx", "48f7d1"},
	{"imulq %rcx, %rax", "480fafc1"},
	{"imulq $100, %rdx, %rcx", "486bca64"},
	{"mulq %rcx", "48f7e1"},
	{"divq %r9", "49f7f1"},
	{"idivl %r9d", "41f7f9"},
	{"shlq $3, %rax", "48c1e003"},
	{"shrl %cl, %edx", "d3ea"},
	{"sarq %cl, %rax", "48d3f8"},
	{"rolw $5, %dx", "66c1c205"},
	{"rcrq $1, %rax", "48d1d8"},
	{"shldq $7, %rax, %rdx", "480fa4c207"},
	{"shrdl %cl, %eax, %edx", "0fadc2"},
	{"btq %rcx, %rax", "480fa3c8"},
	{"btsl $5, %edx", "0fbaea05"},
	{"bsfq %rcx, %rax", "480fbcc1"},
	{"bsrq %rcx, %rax", "480fbdc1"},
	{"bswapq %rcx", "480fc9"},
	{"popcntq %rcx, %rax", "f3480fb8c1"},
	{"lzcntq %rcx, %rdx", "f3480fbdd1"},
	{"tzcntl %ecx, %edx", "f30fbcd1"},
	{"andnq %rcx, %rdx, %rax", "c4e2e8f2c1"},
	{"bextrq %rcx, %rdx, %rax", "c4e2f0f7c2"},
	{"blsrq %rcx, %rax", "c4e2f8f3c9"},
	{"bzhiq %rcx, %rdx, %rax", "c4e2f0f5c2"},
	{"mulxq %rcx, %rax, %r9", "c462fbf6c9"},
	{"pdepq %rcx, %rdx, %rax", "c4e2ebf5c1"},
	{"rorxq $13, %rcx, %rax", "c4e3fbf0c10d"},
	{"shlxq %rcx, %rdx, %rax", "c4e2f1f7c2"},
	{"adcxq %rcx, %rax", "66480f38f6c1"},
	{"adoxq %rcx, %rdx", "f3480f38f6d1"},
	{"cltq", "4898"},
	{"cqto", "4899"},
	{"cwtl", "98"},
	{"lahf", "9f"},
	{"sahf", "9e"},
	{"setne %al", "0f95c0"},
	{"cmovbq %rcx, %rax", "480f42c1"},
	{"cmovgl %edx, %ecx", "0f4fca"},
	{"xchgq %rcx, %rdx", "4887ca"},
	{"xaddq %rcx, %rdx", "480fc1ca"},
	{"cmpxchgq %rcx, %rdx", "480fb1ca"},
	{"movq %rcx, %rax", "4889c8"},
	{"movl $0x12345678, %eax", "b878563412"},
	{"movabsq $0x123456789abcdef0, %rdx", "48baf0debc9a78563412"},
	{"movzbl %cl, %eax", "0fb6c1"},
	{"movsbq %cl, %rdx", "480fbed1"},
	{"movslq %ecx, %rax", "4863c1"},
	{"leaq 0x10(%rbx,%r8,4), %rax", "4a8d448310"},
	{"leaq -0x80(%rsp), %r12", "4c8d642480"},
	{"nop", "90"},
	{"nopw 0x0(%rax,%rax,1)", "660f1f0400"},
	{"endbr64", "f30f1efa"},
	{"xchgw %ax, %ax", "6690"},
	{"pause", "f390"},
	{"clc", "f8"},
	{"stc", "f9"},
	{"cmc", "f5"},
	{"cld", "fc"},
	{"std", "fd"},
	{"movq (%rbx), %rax", "488b03"},
	{"movq %rax, (%rbx)", "488903"},
	{"movl 8(%rsi), %ecx", "8b4e08"},
	{"movb %cl, 16(%rdi)", "884f10"},
	{"movw %cx, 0x100(%rbx,%r8,2)", "6642898c4300010000"},
	{"addq %rcx, (%rbx)", "48010b"},
	{"addl $1, 4(%rsi)", "83460401"},
	{"incq (%rbx)", "48ff03"},
	{"negl (%rsi)", "f71e"},
	{"cmpq %rcx, (%rbx)", "48390b"},
	{"cmpb $0, (%rsi)", "803e00"},
	{"testb $1, (%rbx)", "f60301"},
	{"lock addq %rcx, (%rbx)", "f048010b"},
	{"lock xaddq %rcx, (%rbx)", "f0480fc10b"},
	{"lock cmpxchgq %rcx, (%rbx)", "f0480fb10b"},
	{"lock incl 8(%rsi)", "f0ff4608"},
	{"lock btsq $3, (%rbx)", "f0480fba2b03"},
	{"lock cmpxchg16b (%rbx)", "f0480fc70b"},
	{"xchgq %rcx, (%rbx)", "48870b"},
	{"shlq $1, (%rbx)", "48d123"},
	{"movzwl (%rbx), %eax", "0fb703"},
	{"movslq (%rbx), %rax", "486303"},
	{"cmovneq (%rbx), %rax", "480f4503"},
	{"sete (%rbx)", "0f9403"},
	{"btq $5, (%rbx)", "480fba2305"},
	{"imulq (%rbx), %rax", "480faf03"},
	{"movbeq (%rbx), %rax", "480f38f003"},
	{"movbel %ecx, (%rbx)", "0f38f10b"},
	{"crc32q (%rbx), %rax", "f2480f38f103"},
	{"crc32b %cl, %eax", "f20f38f0c1"},
	{"movntiq %rcx, (%rbx)", "480fc30b"},
	{"prefetcht0 (%rbx)", "0f180b"},
	{"clflush (%rbx)", "0fae3b"},
	{"mfence", "0faef0"},
	{"lfence", "0faee8"},
	{"sfence", "0faef8"},
	{"pushq %rcx", "51"},
	{"pushq $0x12345678", "6878563412"},
	{"pushq $-5", "6afb"},
	{"pushq (%rbx)", "ff33"},
	{"popq %rax", "58"},
	{"popq (%rbx)", "8f03"},
	{"enter $0, $0", "c8000000"},
	{"leave", "c9"},
	{"movsb", "a4"},
	{"movsq", "48a5"},
	{"stosb", "aa"},
	{"stosq", "48ab"},
	{"lodsq", "48ad"},
	{"scasb", "ae"},
	{"cmpsb", "a6"},
	{"rep movsb", "f3a4"},
	{"rep movsq", "f348a5"},
	{"rep stosb", "f3aa"},
	{"rep stosq", "f348ab"},
	{"rep lodsb", "f3ac"},
	{"repe cmpsb", "f3a6"},
	{"repne scasb", "f2ae"},
	{"xlatb", "d7"},
	{"cpuid", "0fa2"},
	{"movq %rsp, %r12", "4989e4"},
	{"movq %rbp, %rax", "4889e8"},
	{"addss %xmm1, %xmm2", "f30f58d1"},
	{"addpd %xmm1, %xmm2", "660f58d1"},
	{"mulsd (%rbx), %xmm3", "f20f591b"},
	{"movups (%rbx), %xmm4", "0f1023"},
	{"movups %xmm4, (%rbx)", "0f1123"},
	{"movaps %xmm1, %xmm5", "0f28e9"},
	{"movdqu 16(%rsi), %xmm6", "f30f6f7610"},
	{"movq %rcx, %xmm1", "66480f6ec9"},
	{"movq %xmm1, %rax", "66480f7ec8"},
	{"movd %ecx, %xmm2", "660f6ed1"},
	{"cvtsi2sdq %rcx, %xmm1", "f2480f2ac9"},
	{"cvttsd2si %xmm1, %rax", "f2480f2cc1"},
	{"ucomisd %xmm1, %xmm2", "660f2ed1"},
	{"comiss (%rbx), %xmm2", "0f2f13"},
	{"pxor %xmm15, %xmm15", "66450fefff"},
	{"xorps %xmm1, %xmm2", "0f57d1"},
	{"pshufb %xmm1, %xmm2", "660f3800d1"},
	{"pshufd $0x1b, %xmm1, %xmm2", "660f70d11b"},
	{"pcmpeqb (%rbx), %xmm1", "660f740b"},
	{"pmovmskb %xmm1, %eax", "660fd7c1"},
	{"pclmulqdq $1, %xmm1, %xmm2", "660f3a44d101"},
	{"aesenc %xmm1, %xmm2", "660f38dcd1"},
	{"aeskeygenassist $1, %xmm1, %xmm2", "660f3adfd101"},
	{"roundsd $3, %xmm1, %xmm2", "660f3a0bd103"},
	{"pinsrq $1, %rcx, %xmm1", "66480f3a22c901"},
	{"pextrq $1, %xmm1, %rax", "66480f3a16c801"},
	{"pcmpistri $0, %xmm1, %xmm2", "660f3a63d100"},
	{"ptest %xmm1, %xmm2", "660f3817d1"},
	{"shufps $0x1b, %xmm1, %xmm2", "0fc6d11b"},
	{"cmpltsd %xmm1, %xmm2", "f20fc2d101"},
	{"movmskpd %xmm1, %eax", "660f50c1"},
	{"sqrtsd %xmm1, %xmm2", "f20f51d1"},
	{"vaddpd %ymm1, %ymm2, %ymm3", "c5ed58d9"},
	{"vmovdqu (%rbx), %ymm4", "c5fe6f23"},
	{"vmovdqu %ymm4, (%rbx)", "c5fe7f23"},
	{"vmovups %xmm1, 32(%rsi)", "c5f8114e20"},
	{"vpxor %ymm1, %ymm2, %ymm3", "c5edefd9"},
	{"vpshufb (%rbx), %ymm2, %ymm3", "c4e26d001b"},
	{"vpcmpeqb %ymm1, %ymm2, %ymm3", "c5ed74d9"},
	{"vpmovmskb %ymm1, %eax", "c5fdd7c1"},
	{"vpbroadcastb %xmm1, %ymm2", "c4e27d78d1"},
	{"vinserti128 $1, %xmm1, %ymm2, %ymm3", "c4e36d38d901"},
	{"vextracti128 $1, %ymm1, %xmm2", "c4e37d39ca01"},
	{"vperm2i128 $0x21, %ymm1, %ymm2, %ymm3", "c4e36d46d921"},
	{"vpalignr $5, %ymm1, %ymm2, %ymm3", "c4e36d0fd905"},
	{"vfmadd231sd %xmm1, %xmm2, %xmm3", "c4e2e9b9d9"},
	{"vpblendvb %ymm1, %ymm2, %ymm3, %ymm4", "c4e3654ce210"},
	{"vcvtph2ps %xmm1, %ymm2", "c4e27d13d1"},
	{"vptest %ymm1, %ymm2", "c4e27d17d1"},
	{"vzeroupper", "c5f877"},
	{"vzeroall", "c5fc77"},
	{"fld1", "d9e8"},
	{"fldpi", "d9eb"},
	{"fnstcw (%rbx)", "d93b"},
	{"movq %cr0, %rax", "0f20c0"},
	{"movq %cr2, %rax", "0f20d0"},
	{"movq %cr3, %rcx", "0f20d9"},
	{"movq %cr4, %rax", "0f20e0"},
	{"movq %dr7, %rax", "0f21f8"},
	{"sidt (%rbx)", "0f010b"},
	{"sldt %eax", "0f00c0"},
	{"smsw %eax", "0f01e0"},
	{"movw %ds, %ax", "668cd8"},
	{"movw %cs, %cx", "668cc9"},
	{"invlpg (%rbx)", "0f013b"},
	{"clts", "0f06"},
	{"wbinvd", "0f09"},
}

var relative = []sample{
	{"movq 0x1000(%rip), %rax", "488b0500100000"},
	{"movq %rcx, 0x1000(%rip)", "48890d00100000"},
	{"addl $0x12345678, 0x1000(%rip)", "81050010000078563412"},
	{"cmpb $7, 0x1000(%rip)", "803d0010000007"},
	{"leaq 0x1000(%rip), %rdx", "488d1500100000"},
	{"incq 0x1000(%rip)", "48ff0500100000"},
	{"lock addq %rcx, 0x1000(%rip)", "f048010d00100000"},
	{"movups 0x1000(%rip), %xmm3", "0f101d00100000"},
	{"movups %xmm3, 0x1000(%rip)", "0f111d00100000"},
	{"vmovdqu 0x1000(%rip), %ymm3", "c5fe6f1d00100000"},
	{"vpshufb 0x1000(%rip), %ymm1, %ymm2", "c4e275001500100000"},
	{"pshufd $0x1b, 0x1000(%rip), %xmm1", "660f700d001000001b"},
	{"pinsrw $1, 0x1000(%rip), %xmm1", "660fc40d0010000001"},
	{"movl 0x1000(%eip), %eax", "678b0500100000"},
	{"pushq 0x1000(%rip)", "ff3500100000"},
	{"popq 0x1000(%rip)", "8f0500100000"},
}
