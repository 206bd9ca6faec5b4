package amd64

import (
	"fmt"
	"syscall"

	"tamaprobe/arch/amd64/inst"
	"tamaprobe/goruntime"
)

// A Point is an instruction in text that a breakpoint can replace, together with
// the means to execute it nevertheless: emulation, or a copy in a slot.
type Point struct {
	addr uintptr
	code [codeSize]byte // the original bytes: at least the instruction and a prologue
	insn inst.Inst
	next uintptr // address of the next instruction

	// slot is the address of the copy, which a jump to next follows; 0 if the
	// instruction is emulated.
	slot uintptr

	// prologue is the stack check that starts at addr, if one does.
	prologue inst.Prologue

	target operand // of an indirect branch
}

// codeSize is a power of two above the length of an instruction and of a stack
// check up to its comparison.
const codeSize = 32

// A PointError says why an instruction cannot be probed.
type PointError struct {
	Addr   uintptr
	Insn   string // in Go's syntax, "" if it cannot be decoded
	Reason string
	Errno  syscall.Errno
}

func (e *PointError) Error() string {
	if e.Insn == "" {
		return fmt.Sprintf("%#x: %s", e.Addr, e.Reason)
	}
	return fmt.Sprintf("%#x: %s: %s", e.Addr, e.Insn, e.Reason)
}

// Unwrap returns the errno that kprobes give for the reason.
func (e *PointError) Unwrap() error { return e.Errno }

// NewPoint prepares the instruction at addr, which must be the address of an
// instruction in text. entry says that a function starts there. Goroutine
// context.
func NewPoint(addr uintptr, entry bool) (*Point, error) {
	p := &Point{addr: addr}
	code := OriginalText(addr)
	var err error
	if p.insn, err = inst.Decode(code); err != nil {
		return nil, &PointError{addr, "", err.Error(), syscall.EINVAL}
	}
	copy(p.code[:], code)
	p.next = addr + uintptr(p.insn.Len)
	if reason := p.insn.Refusal(); reason != "" {
		return nil, &PointError{addr, inst.Text(code, uint64(addr), nil), reason, syscall.EINVAL}
	}
	if entry {
		p.prologue = inst.ParsePrologue(code)
	}
	switch {
	case p.prologue.Kind != inst.PrologueNone:
	case p.insn.Flow == inst.FlowSti && p.followedByHlt():
		err = p.newSlot(code, 2)
	case p.insn.Flow.Emulated():
		p.target = newOperand(&p.insn, p.next)
	default:
		err = p.newSlot(code, int(p.insn.Len))
	}
	if err != nil {
		return nil, &PointError{addr, inst.Text(code, uint64(addr), nil), err.Error(), syscall.ENOMEM}
	}
	return p, nil
}

// followedByHlt recognizes STI; HLT. STI takes effect only after the instruction
// behind it, so that no interrupt comes before the processor halts: both have to
// be executed together.
func (p *Point) followedByHlt() bool {
	return OriginalText(p.next)[0] == 0xf4
}

// newSlot copies n bytes of code, starting with the instruction, to a slot and
// lets a jump to the instruction behind them follow.
func (p *Point) newSlot(code []byte, n int) error {
	slot, err := newSlot(p.addr)
	if err != nil {
		return err
	}
	b := at[[slotSize]byte](slot)
	copy(b[:n], code)
	if err := p.insn.Relocate(b[:], p.addr, slot); err != nil {
		freeSlot(slot)
		return err
	}
	putJump(b[n:], slot+uintptr(n), p.addr+uintptr(n))
	p.slot = slot
	return nil
}

// putJump encodes JMP to at from, which must be in reach.
func putJump(b []byte, from, to uintptr) {
	d := uint32(to - (from + 5))
	b[0], b[1], b[2], b[3], b[4] = 0xe9, byte(d), byte(d>>8), byte(d>>16), byte(d>>24)
}

// Addr is the address of the instruction.
func (p *Point) Addr() uintptr { return p.addr }

// Insn is the instruction.
func (p *Point) Insn() *inst.Inst { return &p.insn }

// Release gives back what the point holds. The breakpoint must be gone, and no
// processor in the slot. Goroutine context.
func (p *Point) Release() {
	if p.slot != 0 {
		freeSlot(p.slot)
		p.slot = 0
	}
}

const breakpoint = 0xcc

// A Guard is the stack guard that a breakpoint at a function's entry saw.
type Guard uint64

// Enter is to be called first when the breakpoint was hit. It reports whether
// the hit counts: at a function's entry it does not if the stack check fails,
// because the function then starts over, and the breakpoint is hit again for the
// same call. The guard, which may change at any time (a request to yield is a
// guard), is read once, and Resume and Step decide by the same value. Trap
// context.
func (p *Point) Enter(r *Regs) (g Guard, counts bool) {
	if p.prologue.Kind == inst.PrologueNone {
		return 0, true
	}
	gp := uintptr(r.R14)
	if p.prologue.LoadsG {
		gp = r.G
	}
	g = Guard(*at[uint64](gp + goruntime.GStackguard0))
	sp := r.SP - p.prologue.Frame // 0 for a small frame
	if p.prologue.Kind == inst.PrologueHuge && sp > r.SP {
		return g, false
	}
	return g, sp > uint64(g)
}

// Resume makes the interrupted code go on as if it had executed the instruction.
// Trap context.
func (p *Point) Resume(r *Regs, g Guard) {
	switch {
	case p.slot != 0:
		r.PC = uint64(p.slot)
	case p.prologue.Kind != inst.PrologueNone:
		p.firstOfPrologue(r, g)
		p.Next(r, g)
	default:
		p.emulate(r)
	}
}

// Step makes the instruction be executed and the trap path be entered again
// behind it. It reports whether the instruction has been executed already;
// otherwise Stepped will say so, at the next debug exception or breakpoint on this
// processor. Trap context.
func (p *Point) Step(r *Regs, g Guard) (done bool) {
	switch {
	case p.prologue.Kind != inst.PrologueNone:
		p.firstOfPrologue(r, g)
		return true
	case p.slot == 0:
		p.emulate(r)
		return true
	case p.insn.Flow == inst.FlowSti: // STI; HLT: HLT is still to come
		r.Flags |= FlagIF
		r.PC = uint64(p.next)
		return true
	}
	r.PC = uint64(p.slot)
	r.Flags = r.Flags&^FlagIF | FlagTF
	return false
}

// Stepped is to be called at a debug exception after Step returned false, with
// the flags from before Step. It reports whether the instruction is complete,
// and lets the registers look as if it had been executed in its place. A
// repeated string instruction traps after every iteration. Trap context.
func (p *Point) Stepped(r *Regs, flags uint64) bool {
	if r.PC == uint64(p.slot) {
		return false
	}
	// QEMU does not trap behind some instructions (PAUSE), but one later: the
	// jump back has been executed then.
	if r.PC-uint64(p.slot) < slotSize {
		r.PC += uint64(p.addr) - uint64(p.slot)
	}
	r.Flags = r.Flags&^(FlagIF|FlagTF) | flags&(FlagIF|FlagTF)
	return true
}

// Next is to be called after Step reported that the instruction has been
// executed, or Stepped, when the interrupted code goes on behind it. Trap
// context.
func (p *Point) Next(r *Regs, g Guard) {
	switch {
	case p.prologue.Kind != inst.PrologueNone:
		p.restOfPrologue(r, g)
	case p.insn.Flow == inst.FlowSti && p.slot != 0 && r.PC == uint64(p.next):
		// Once more, together with HLT.
		r.Flags &^= FlagIF
		r.PC = uint64(p.slot)
	}
}
