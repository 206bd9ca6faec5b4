package inst

// A Flow says what an instruction does besides falling through to the next.
// Those between FlowPlain and FlowRefused are emulated: run at another address
// or with the trap flag set they would not do the same.
type Flow uint8

const (
	FlowPlain   Flow = iota // runs anywhere
	FlowJmp                 // JMP rel8, rel32
	FlowJcc                 // Jcc rel8, rel32
	FlowLoop                // LOOPNE, LOOPE, LOOP, JRCXZ rel8
	FlowCall                // CALL rel32
	FlowCallInd             // CALL r/m64
	FlowJmpInd              // JMP r/m64
	FlowRet                 // RET, RET imm16
	FlowPushf               // PUSHFQ
	FlowPopf                // POPFQ
	FlowCli                 // CLI
	FlowSti                 // STI
	FlowInt3                // INT3, which is no probe's
	FlowRefused             // cannot be probed, see Refusal
)

// Emulated reports whether the instruction has to be emulated.
func (f Flow) Emulated() bool { return f > FlowPlain && f < FlowInt3 }

// Condition returns the condition code of a Jcc: the low half of its opcode
// (SDM vol. 1, appendix B).
func (i *Inst) Condition() uint8 { return i.Opcode & 15 }

// Relative reports whether the instruction branches by a distance.
func (i *Inst) Relative() bool {
	switch i.Flow {
	case FlowJmp, FlowJcc, FlowLoop, FlowCall:
		return true
	}
	return false
}

// Target returns where a relative branch at address pc goes.
func (i *Inst) Target(pc uintptr) uintptr {
	return pc + uintptr(i.Len) + uintptr(i.Imm)
}

// FallsThrough reports whether the instruction behind i can run after it: not
// after an unconditional jump, a return, or an undefined instruction. A call is
// taken to return.
func (i *Inst) FallsThrough() bool {
	switch i.Flow {
	case FlowJmp, FlowJmpInd, FlowRet, FlowInt3:
		return false
	case FlowRefused:
		switch i.refusal() {
		case refuseUD, refuseIret, refuseFar:
			return false
		}
	}
	return true
}

// A refusal is why an instruction cannot be probed.
type refusal uint8

const (
	refuseNot refusal = iota
	refuseInt3
	refuseInt
	refuseUD
	refuseIret
	refuseHlt
	refuseSyscall
	refuseFar
	refuseSS
	refuseTransaction
	refuseRsm
	refuseBranchSize
	refuseBranchSegment
)

var refusals = [...]string{
	refuseInt3:          "INT3 is itself a breakpoint",
	refuseInt:           "a software interrupt enters the trap path",
	refuseUD:            "the instruction is undefined on purpose",
	refuseIret:          "an interrupt return replaces the flags and the stack",
	refuseHlt:           "HLT must follow STI directly",
	refuseSyscall:       "a fast system call leaves without a return address",
	refuseFar:           "a far transfer changes the code segment",
	refuseSS:            "loading SS delays the debug trap past the next instruction",
	refuseTransaction:   "a transaction cannot contain a breakpoint",
	refuseRsm:           "RSM leaves system management mode",
	refuseBranchSize:    "processors disagree on an operand size prefix before a branch",
	refuseBranchSegment: "a branch through a segment override is not emulated",
}

// Refusal says why the instruction cannot be probed, "" if it can.
func (i *Inst) Refusal() string { return refusals[i.refusal()] }

func (i *Inst) refusal() refusal {
	if i.Encoding != Legacy {
		return refuseNot
	}
	reg := i.ModRM >> 3 & 7
	switch i.Map {
	case MapOneByte:
		switch i.Opcode {
		case 0xcc:
			return refuseInt3
		case 0xcd, 0xf1:
			return refuseInt
		case 0xcf:
			return refuseIret
		case 0xf4:
			return refuseHlt
		case 0xca, 0xcb:
			return refuseFar
		case 0x8e:
			if reg == 2 {
				return refuseSS
			}
		case 0xc6, 0xc7:
			if i.ModRM == 0xf8 { // XABORT, XBEGIN
				return refuseTransaction
			}
		case 0xff:
			switch reg {
			case 3, 5:
				return refuseFar
			case 7:
				return refuseUD
			case 2, 4:
				if i.Prefix&PrefixOperandSize != 0 {
					return refuseBranchSize
				}
				if i.ModRM>>6 != 3 && i.Prefix&(PrefixFS|PrefixGS) != 0 {
					return refuseBranchSegment
				}
			}
		case 0xe8, 0xe9, 0xeb, 0xc2, 0xc3, 0xe0, 0xe1, 0xe2, 0xe3:
			if i.Prefix&PrefixOperandSize != 0 {
				return refuseBranchSize
			}
		default:
			if i.Opcode&0xf0 == 0x70 && i.Prefix&PrefixOperandSize != 0 {
				return refuseBranchSize
			}
		}
	case Map0F:
		switch i.Opcode {
		case 0x05, 0x07, 0x34, 0x35:
			return refuseSyscall
		case 0x0b, 0xb9, 0xff:
			return refuseUD
		case 0xaa:
			return refuseRsm
		default:
			if i.Opcode&0xf0 == 0x80 && i.Prefix&PrefixOperandSize != 0 {
				return refuseBranchSize
			}
		}
	}
	return refuseNot
}

func (i *Inst) flow() Flow {
	if i.Encoding != Legacy {
		return FlowPlain
	}
	switch i.refusal() {
	case refuseNot:
	case refuseInt3:
		return FlowInt3
	default:
		return FlowRefused
	}
	if i.Map == Map0F && i.Opcode&0xf0 == 0x80 {
		return FlowJcc
	}
	if i.Map != MapOneByte {
		return FlowPlain
	}
	switch i.Opcode {
	case 0xe9, 0xeb:
		return FlowJmp
	case 0xe8:
		return FlowCall
	case 0xe0, 0xe1, 0xe2, 0xe3:
		return FlowLoop
	case 0xc2, 0xc3:
		return FlowRet
	case 0x9c:
		return FlowPushf
	case 0x9d:
		return FlowPopf
	case 0xfa:
		return FlowCli
	case 0xfb:
		return FlowSti
	case 0xff:
		switch i.ModRM >> 3 & 7 {
		case 2:
			return FlowCallInd
		case 4:
			return FlowJmpInd
		}
	}
	if i.Opcode&0xf0 == 0x70 {
		return FlowJcc
	}
	return FlowPlain
}
