package amd64

import (
	"encoding/binary"
	"math"

	"tamaprobe/arch/amd64/inst"
)

// An assembler encodes the few instructions that detours consist of, at the address
// base. Encodings are those of the SDM, vol. 2.
type assembler struct {
	base uintptr
	code []byte
	err  error
}

// Numbers of registers in instructions (SDM vol. 2A, table 3-1).
const (
	regAX  = 0
	regCX  = 1
	regDX  = 2
	regBX  = 3
	regSP  = 4
	regSI  = 6
	regDI  = 7
	regR12 = 12
	regR14 = 14
)

func (a *assembler) pc() uintptr { return a.base + uintptr(len(a.code)) }

func (a *assembler) bytes(b ...byte) { a.code = append(a.code, b...) }

func (a *assembler) imm32(v uint32) { a.code = binary.LittleEndian.AppendUint32(a.code, v) }

// gs encodes an instruction with a memory operand at GS:off, reg in the ModRM
// byte's register field.
func (a *assembler) gs(opcode byte, wide bool, reg int, off uintptr) {
	rex := byte(0x40)
	if wide {
		rex |= inst.RexW
	}
	if reg >= 8 {
		rex |= inst.RexR
	}
	a.bytes(0x65, rex, opcode, byte(reg&7)<<3|4, 0x25)
	a.imm32(uint32(off))
}

func (a *assembler) storeGS(reg int, off uintptr) { a.gs(0x89, true, reg, off) } // MOVQ reg, GS:off
func (a *assembler) loadGS(off uintptr, reg int)  { a.gs(0x8b, true, reg, off) } // MOVQ GS:off, reg
func (a *assembler) pushGS(off uintptr)           { a.gs(0xff, false, 6, off) }  // PUSHQ GS:off
func (a *assembler) popGS(off uintptr)            { a.gs(0x8f, false, 0, off) }  // POPQ GS:off

// cmpGS is CMPQ reg, GS:off.
func (a *assembler) cmpGS(reg int, off uintptr) { a.gs(0x3b, true, reg, off) }

// cmpGS0 is CMPQ GS:off, $0.
func (a *assembler) cmpGS0(off uintptr) {
	a.gs(0x83, true, 7, off)
	a.bytes(0)
}

// storeImmGS is MOVQ $v, GS:off. It may change AX.
func (a *assembler) storeImmGS(v uint64, off uintptr) {
	if v > math.MaxInt32 {
		a.loadImm(v, regAX)
		a.storeGS(regAX, off)
		return
	}
	a.gs(0xc7, true, 0, off)
	a.imm32(uint32(v))
}

// loadImm is MOVQ $v, reg, for the first 8 registers.
func (a *assembler) loadImm(v uint64, reg int) {
	if v <= math.MaxUint32 {
		a.bytes(0xb8 + byte(reg)) // MOVL zero-extends
		a.imm32(uint32(v))
		return
	}
	a.bytes(0x48, 0xb8+byte(reg))
	a.code = binary.LittleEndian.AppendUint64(a.code, v)
}

// loadTLS and storeTLS move g's slot, FS:-8, which the linker has fixed.
func (a *assembler) loadTLS(reg int)  { a.tls(0x8b, reg) }
func (a *assembler) storeTLS(reg int) { a.tls(0x89, reg) }

func (a *assembler) tls(opcode byte, reg int) {
	rex := byte(0x48)
	if reg >= 8 {
		rex |= inst.RexR
	}
	a.bytes(0x64, rex, opcode, byte(reg&7)<<3|4, 0x25)
	a.imm32(math.MaxUint32 - 7)
}

// mem encodes an instruction with a memory operand at off(base), neither SP nor R12, reg in
// the ModRM byte's register field; all of the first 8 registers.
func (a *assembler) mem(reg, base int, off uintptr, opcode ...byte) {
	a.bytes(opcode...)
	if off < 1<<7 {
		a.bytes(0x40|byte(reg)<<3|byte(base), byte(off))
		return
	}
	a.bytes(0x80 | byte(reg)<<3 | byte(base))
	a.imm32(uint32(off))
}

func (a *assembler) load(base int, off uintptr, reg int)  { a.mem(reg, base, off, 0x48, 0x8b) } // MOVQ off(base), reg
func (a *assembler) store(reg, base int, off uintptr)     { a.mem(reg, base, off, 0x48, 0x89) } // MOVQ reg, off(base)
func (a *assembler) compare(base int, off uintptr, r int) { a.mem(r, base, off, 0x48, 0x39) }   // CMPQ off(base), r

// swap is LOCK CMPXCHGQ reg, off(base).
func (a *assembler) swap(reg, base int, off uintptr) {
	a.mem(reg, base, off, 0xf0, 0x48, 0x0f, 0xb1)
}

// incCX is INCQ v(CX); it may change DX.
func (a *assembler) incCX(v uint64) {
	if v > math.MaxInt32 {
		a.loadImm(v, regDX)
		a.bytes(0x48, 0xff, 0x04, 0x0a) // INCQ (DX)(CX*1)
		return
	}
	a.bytes(0x48, 0xff, 0x81)
	a.imm32(uint32(v))
}

// compare0 is CMPL off(AX), $0.
func (a *assembler) compare0(off uintptr) {
	a.bytes(0x83, 0xb8)
	a.imm32(uint32(off))
	a.bytes(0)
}

// Condition codes (SDM vol. 1, appendix B).
const (
	conditionB  = 2
	conditionAE = 3
	conditionE  = 4
	conditionNE = 5
	conditionBE = 6
	conditionA  = 7
)

// jump is JMP to an address.
func (a *assembler) jump(to uintptr) {
	a.bytes(0xe9)
	a.distance(to)
}

// jumpIf is a conditional jump to an address.
func (a *assembler) jumpIf(condition byte, to uintptr) {
	a.bytes(0x0f, 0x80|condition)
	a.distance(to)
}

// call is CALL to an address.
func (a *assembler) call(to uintptr) {
	a.bytes(0xe8)
	a.distance(to)
}

func (a *assembler) distance(to uintptr) {
	d := int64(to) - int64(a.pc()) - 4
	if d != int64(int32(d)) {
		a.err = inst.ErrReach
	}
	a.imm32(uint32(d))
}

// A label is a jump whose target comes later: the offset behind it.
type label int

// jumpLater and jumpIfLater are jumps to where here is called with their label.
func (a *assembler) jumpLater() label {
	a.jump(a.pc())
	return label(len(a.code))
}

func (a *assembler) jumpIfLater(condition byte) label {
	a.jumpIf(condition, a.pc())
	return label(len(a.code))
}

func (a *assembler) here(l label) {
	binary.LittleEndian.PutUint32(a.code[l-4:], uint32(len(a.code)-int(l)))
}
