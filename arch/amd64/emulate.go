package amd64

import "tamaprobe/arch/amd64/inst"

// An operand is the operand of an indirect branch: a register, or memory.
type operand struct {
	memory      bool
	base, index uint8 // register numbers; for a register operand, base
	hasBase     bool
	hasIndex    bool
	scale       uint8  // shift of the index
	disp        uint64 // for an address relative to the instruction pointer, the address
	addr32      bool   // address size prefix
}

// newOperand decodes the ModRM operand of an instruction in front of next (SDM
// vol. 2A, 2.1.5).
func newOperand(i *inst.Inst, next uintptr) (o operand) {
	if !i.HasModRM {
		return o
	}
	rm := i.ModRM&7 | i.Rex&inst.RexB<<3
	if i.ModRM>>6 == 3 {
		return operand{base: rm}
	}
	o = operand{memory: true, base: rm, hasBase: true, disp: uint64(int64(i.Disp)),
		addr32: i.Prefix&inst.PrefixAddressSize != 0}
	if i.RIPRelative {
		o.hasBase = false
		o.disp += uint64(next)
	}
	if i.HasSIB {
		o.base = i.SIB&7 | i.Rex&inst.RexB<<3
		o.index = i.SIB>>3&7 | i.Rex&inst.RexX<<2
		o.hasIndex = o.index != 4
		o.scale = i.SIB >> 6
		o.hasBase = i.SIB&7 != 5 || i.ModRM>>6 != 0
	}
	return o
}

// load returns the operand's value.
//
//go:nosplit
func (o *operand) load(r *Regs) (v uint64, ok bool) {
	if !o.memory {
		return *r.reg(o.base), true
	}
	addr := o.disp
	if o.hasBase {
		addr += *r.reg(o.base)
	}
	if o.hasIndex {
		addr += *r.reg(o.index) << o.scale
	}
	if o.addr32 {
		addr = uint64(uint32(addr))
	}
	return tryLoad64(uintptr(addr))
}

// emulate does what the instruction would do (SDM vol. 2). A memory operand that
// cannot be read makes r the fault that the instruction would take, and ok false.
//
//go:nosplit
func (p *Point) emulate(r *Regs) (ok bool) {
	i := &p.insn
	next := uint64(p.next)
	switch i.Flow {
	case inst.FlowJmp:
		next += uint64(i.Imm)
	case inst.FlowJcc:
		if condition(i.Condition(), r.Flags) {
			next += uint64(i.Imm)
		}
	case inst.FlowLoop:
		if p.loop(r) {
			next += uint64(i.Imm)
		}
	case inst.FlowCall:
		push(r, next)
		next += uint64(i.Imm)
	case inst.FlowCallInd, inst.FlowJmpInd:
		v, ok := p.target.load(r)
		if !ok {
			c := cpuOf(r)
			r.Vector, r.Error = c.loadVector, c.loadError
			return false
		}
		if i.Flow == inst.FlowCallInd {
			push(r, next)
		}
		next = v
	case inst.FlowRet:
		next = *at[uint64](uintptr(r.SP))
		r.SP += 8 + uint64(uint16(i.Imm))
	case inst.FlowPushf:
		if i.Prefix&inst.PrefixOperandSize != 0 {
			r.SP -= 2
			*at[uint16](uintptr(r.SP)) = uint16(r.Flags)
		} else {
			push(r, r.Flags&^(FlagRF|FlagVM))
		}
	case inst.FlowPopf:
		if i.Prefix&inst.PrefixOperandSize != 0 {
			r.Flags = r.Flags&^(popfMask&0xffff) | uint64(*at[uint16](uintptr(r.SP)))&popfMask
			r.SP += 2
		} else {
			r.Flags = r.Flags&^popfMask | *at[uint64](uintptr(r.SP))&popfMask
			r.SP += 8
		}
	case inst.FlowCli:
		r.Flags &^= FlagIF
	case inst.FlowSti:
		r.Flags |= FlagIF
	}
	r.PC = next
	return true
}

// popfMask are the flags that POPFQ loads at privilege level 0: the arithmetic
// ones, TF, IF, DF, IOPL, NT, AC and ID (SDM vol. 2B, POPF).
const popfMask = arithmeticFlags | FlagTF | FlagIF | FlagDF | 3<<12 | 1<<14 | 1<<18 | 1<<21

//go:nosplit
func push(r *Regs, v uint64) {
	r.SP -= 8
	*at[uint64](uintptr(r.SP)) = v
}

// loop counts CX down, except for JRCXZ, and reports whether the branch is
// taken. With an address size prefix the counter is ECX.
//
//go:nosplit
func (p *Point) loop(r *Regs) bool {
	const (
		opLoopne = 0xe0
		opLoope  = 0xe1
		opLoop   = 0xe2
		opJrcxz  = 0xe3
	)
	op := p.insn.Opcode
	cx := r.CX
	if op != opJrcxz {
		cx--
	}
	if p.insn.Prefix&inst.PrefixAddressSize != 0 {
		cx = uint64(uint32(cx))
	}
	if op == opJrcxz {
		return cx == 0
	}
	r.CX = cx
	switch op {
	case opLoopne:
		return cx != 0 && r.Flags&FlagZF == 0
	case opLoope:
		return cx != 0 && r.Flags&FlagZF != 0
	default:
		return cx != 0
	}
}

// firstOfPrologue executes the first instruction of a stack check.
//
//go:nosplit
func (p *Point) firstOfPrologue(r *Regs, g Guard) {
	switch {
	case p.prologue.LoadsG:
		r.R14 = uint64(r.G)
	case p.prologue.Kind == inst.PrologueSmall:
		p.compare(r, r.SP, g)
		return
	case p.prologue.Kind == inst.PrologueLarge:
		r.R12 = r.SP - p.prologue.Frame
	case p.prologue.Kind == inst.PrologueHuge:
		r.R12 = r.SP
	}
	r.PC = uint64(p.next)
}

// restOfPrologue executes the rest up to the conditional jump, so that it is
// decided by the guard that Enter saw. An instruction that is itself probed has to
// run by itself; the probe of a comparison then finds the guard in the cpu.
//
//go:nosplit
func (p *Point) restOfPrologue(r *Regs, g Guard) {
	if r.PC != uint64(p.next) || p.next == p.addr+uintptr(p.prologue.Jump) {
		return // all done, or a handler changed the way
	}
	for i := uintptr(p.insn.Len); i <= uintptr(p.prologue.Compare); i++ {
		if *at[byte](p.addr + i) != p.code[i%codeSize] {
			c := cpuOf(r)
			c.decided, c.decidedBy = p.addr+uintptr(p.prologue.Compare), g
			return
		}
	}
	sp := r.SP
	switch p.prologue.Kind {
	case inst.PrologueLarge:
		r.R12 = r.SP - p.prologue.Frame
		sp = r.R12
	case inst.PrologueHuge:
		r.R12 = r.SP - p.prologue.Frame
		sp = r.R12
		if sp > r.SP {
			return // JCS takes the branch by itself
		}
	}
	p.compare(r, sp, g)
}

// compare executes CMPQ sp, guard.
//
//go:nosplit
func (p *Point) compare(r *Regs, sp uint64, g Guard) {
	r.Flags = r.Flags&^arithmeticFlags | compareFlags(sp, uint64(g))&arithmeticFlags
	r.PC = uint64(p.addr + uintptr(p.prologue.Jump))
}

// compareInCheck executes CMPQ R12, 16(R14), which is only found in stack checks. If
// the probe at the function's entry has decided by a guard, so does the comparison:
// nothing else can have run on this processor in between.
//
//go:nosplit
func (p *Point) compareInCheck(r *Regs) {
	c := cpuOf(r)
	if c.decided != p.addr {
		r.PC = uint64(p.slot)
		return
	}
	c.decided = 0
	r.Flags = r.Flags&^arithmeticFlags | compareFlags(r.R12, uint64(c.decidedBy))&arithmeticFlags
	r.PC = uint64(p.next)
}
