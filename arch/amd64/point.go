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
	// instruction is emulated. For a stack check it is a copy of all of it but
	// the branch, which has been decided when it is used.
	slot uintptr

	// resume is where to go on to execute the instruction, if it takes no more
	// than that: the slot, or the target of a jump; else 0.
	resume uintptr

	follower *Detour // the last that NewFollower made

	// prologue is the stack check that starts at addr, if one does; common says
	// that it is CMPQ SP, 16(R14) and a jump.
	prologue inst.Prologue
	common   bool

	// more is where the stack check's branch leads; alone is what SetAlone was
	// told.
	more  uintptr
	alone bool

	// inCheck says that the instruction is the comparison of a larger stack check.
	inCheck bool

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

// Prepare makes p the instruction at addr, which must be the address of an
// instruction in text. entry says that a function starts there. Goroutine
// context.
func (p *Point) Prepare(addr uintptr, entry bool) error {
	*p = Point{addr: addr}
	code := OriginalText(addr)
	var err error
	if p.insn, err = inst.Decode(code); err != nil {
		return &PointError{addr, "", err.Error(), syscall.EINVAL}
	}
	copy(p.code[:], code)
	p.next = addr + uintptr(p.insn.Len)
	if reason := p.insn.Refusal(); reason != "" {
		return &PointError{addr, inst.Text(code, uint64(addr), nil), reason, syscall.EINVAL}
	}
	if entry {
		p.prologue = inst.ParsePrologue(code)
		p.common = p.prologue.Kind == inst.PrologueSmall && !p.prologue.LoadsG
		if p.prologue.Kind != inst.PrologueNone {
			jump := addr + uintptr(p.prologue.Jump)
			if i, err := inst.Decode(OriginalText(jump)); err == nil {
				p.more = i.Target(jump)
			}
		}
	}
	switch {
	case p.prologue.Kind == inst.PrologueHuge:
	case p.prologue.Kind != inst.PrologueNone:
		if p.prologue.Jump+jumpSize <= slotSize-ownerSize {
			err = p.newSlot(code, int(p.prologue.Jump), addr+uintptr(p.prologue.End))
		}
	case p.insn.Flow == inst.FlowSti && p.followedByHlt():
		err = p.newSlot(code, 2, addr+2)
	case p.insn.Flow == inst.FlowJmp:
		p.resume = p.insn.Target(addr)
	case p.insn.Flow.Emulated():
		p.target = newOperand(&p.insn, p.next)
	default:
		err = p.newSlot(code, int(p.insn.Len), p.next)
	}
	if err != nil {
		return &PointError{addr, inst.Text(code, uint64(addr), nil), err.Error(), syscall.ENOMEM}
	}
	if inst.ComparesFrame(code) {
		p.inCheck, p.resume = true, 0
	}
	return nil
}

// followedByHlt recognizes STI; HLT. STI takes effect only after the instruction
// behind it, so that no interrupt comes before the processor halts: both have to
// be executed together.
func (p *Point) followedByHlt() bool {
	return OriginalText(p.next)[0] == 0xf4
}

// newSlot copies n bytes of code, starting with the instruction, to a slot and
// lets a jump to next follow.
func (p *Point) newSlot(code []byte, n int, next uintptr) error {
	slot, err := slots.alloc(p.addr, p.addr)
	if err != nil {
		return err
	}
	b := at[[slotSize]byte](slot)
	copy(b[:n], code)
	if err := p.insn.Relocate(b[:], p.addr, slot); err != nil {
		slots.release(slot)
		return err
	}
	putJump(b[n:], slot+uintptr(n), next)
	p.slot, p.resume = slot, slot
	return nil
}

// jumpSize is the length of a jump with a 32-bit distance.
const jumpSize = 5

// putJump encodes JMP to at from, which must be in reach.
func putJump(b []byte, from, to uintptr) {
	d := uint32(to - (from + jumpSize))
	b[0], b[1], b[2], b[3], b[4] = 0xe9, byte(d), byte(d>>8), byte(d>>16), byte(d>>24)
}

// Addr is the address of the instruction.
func (p *Point) Addr() uintptr { return p.addr }

// Insn is the instruction.
func (p *Point) Insn() *inst.Inst { return &p.insn }

// IsEntry reports whether the instruction begins the stack check of a function:
// Enter then has to be asked whether a hit counts. Goroutine context.
func (p *Point) IsEntry() bool { return p.prologue.Kind != inst.PrologueNone }

// Rest returns where the other instructions of a stack check are, from lo up to hi.
// Goroutine context.
func (p *Point) Rest() (lo, hi uintptr) { return p.next, p.addr + uintptr(p.prologue.End) }

// SetAlone says whether there is no other breakpoint in the rest of a stack check: it
// can then be executed in one go. At first there is none. Goroutine context.
func (p *Point) SetAlone(alone bool) {
	p.alone = alone
	p.resume = 0
	if alone {
		p.resume = p.slot
	}
}

// IsPlain reports whether StepCopy can be used instead of Step, and Next need not be
// called. Goroutine context.
func (p *Point) IsPlain() bool {
	return p.slot != 0 && p.insn.Flow == inst.FlowPlain && p.prologue.Kind == inst.PrologueNone && !p.inCheck
}

// SetResume makes hits by breakpoint go on at addr, where a detour has a copy of the
// instruction; 0 at the instruction's own copy again. Goroutine context.
func (p *Point) SetResume(addr uintptr) {
	switch {
	case addr != 0:
		p.resume = addr
	case p.prologue.Kind != inst.PrologueNone:
		p.SetAlone(p.alone)
	case p.insn.Flow == inst.FlowJmp:
		p.resume = p.insn.Target(p.addr)
	case p.inCheck:
		p.resume = 0
	default:
		p.resume = p.slot
	}
}

// ResumeAddr is the address to go on at for what Resume does, if it does no more than
// that; else 0. Goroutine context.
func (p *Point) ResumeAddr() uintptr { return p.resume }

// Release gives back what the points hold. Their breakpoints must be gone.
// Goroutine context.
func Release(points []*Point) {
	syncMu.Lock()
	defer syncMu.Unlock()
	in := make(map[uintptr]bool, len(points))
	for _, p := range points {
		in[p.slot] = p.slot != 0
	}
	// A processor that took an interrupt in a slot will come back to it.
	drain(func(pc uintptr) bool {
		slot, _ := slots.find(pc)
		return in[slot]
	})
	for _, p := range points {
		if p.slot != 0 {
			slots.release(p.slot)
			p.slot, p.resume = 0, 0
		}
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
//
//go:nosplit
func (p *Point) Enter(r *Regs) (g Guard, counts bool) {
	if p.common {
		g = Guard(*at[uint64](uintptr(r.R14) + goruntime.GStackguard0))
		return g, r.SP > uint64(g)
	}
	if p.prologue.Kind == inst.PrologueNone {
		return 0, true
	}
	return p.enterFunction(r)
}

//go:nosplit
func (p *Point) enterFunction(r *Regs) (g Guard, counts bool) {
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

// Restart lets the instruction be executed after Enter reported that the hit does not
// count: the stack check fails. Trap context.
//
//go:nosplit
func (p *Point) Restart(r *Regs, g Guard) {
	if p.resume == 0 {
		p.step(r, g)
		return
	}
	if p.prologue.LoadsG {
		r.R14 = uint64(r.G)
	}
	r.PC = uint64(p.more)
}

// step executes a stack check, up to the branch if nothing else in it is probed.
//
//go:nosplit
func (p *Point) step(r *Regs, g Guard) {
	p.firstOfPrologue(r, g)
	p.Next(r, g)
}

// Resume makes the interrupted code go on as if it had executed the instruction.
// ok is false if it faulted: r is then that exception. Trap context.
//
//go:nosplit
func (p *Point) Resume(r *Regs, g Guard) (ok bool) {
	if p.resume != 0 {
		r.PC = uint64(p.resume)
		return true
	}
	return p.execute(r, g)
}

//go:nosplit
func (p *Point) execute(r *Regs, g Guard) (ok bool) {
	switch {
	case p.inCheck:
		p.compareInCheck(r)
	case p.prologue.Kind == inst.PrologueNone:
		return p.emulate(r)
	default:
		p.step(r, g)
	}
	return true
}

// Step makes the instruction be executed and the trap path be entered again
// behind it. It reports whether the instruction has been executed already;
// otherwise Stepped will say so, at the next debug exception on this processor. ok
// is as for Resume. Trap context.
//
//go:nosplit
func (p *Point) Step(r *Regs, g Guard) (done, ok bool) {
	switch {
	case p.inCheck && cpuOf(r).decided == p.addr:
		p.compareInCheck(r)
		return true, true
	case p.prologue.Kind != inst.PrologueNone:
		p.firstOfPrologue(r, g)
		return true, true
	case p.slot == 0:
		return true, p.emulate(r)
	case p.insn.Flow == inst.FlowSti: // STI; HLT: HLT is still to come
		r.Flags |= FlagIF
		r.PC = uint64(p.next)
		return true, true
	}
	p.StepCopy(r)
	return false, true
}

// StepCopy is Step for a plain instruction. Trap context.
//
//go:nosplit
func (p *Point) StepCopy(r *Regs) {
	r.PC = uint64(p.slot)
	r.Flags = r.Flags&^FlagIF | FlagTF
}

// Stepped is to be called at a debug exception after Step returned false, with
// the flags from before Step. It reports whether the instruction is complete,
// and lets the registers look as if it had been executed in its place. A
// repeated string instruction traps after every iteration. Trap context.
//
//go:nosplit
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

// InCopy reports whether r is an exception that the copy of an instruction caused,
// in a slot or a detour, and makes it one of the original: r.PC is then the original's
// address. d is the detour. Trap context.
//
//go:nosplit
func InCopy(r *Regs) (d *Detour, ok bool) {
	pc := uintptr(r.PC)
	if _, owner := slots.find(pc); owner != 0 {
		r.PC = uint64(owner)
		return nil, true
	}
	_, owner := detours.find(pc)
	if owner == 0 {
		if _, owner = largeDetours.find(pc); owner == 0 {
			return nil, false
		}
	}
	d = at[Detour](owner)
	return d, d.original(r)
}

// Next is to be called after Step reported that the instruction has been
// executed, or Stepped, when the interrupted code goes on behind it. Trap
// context.
//
//go:nosplit
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
