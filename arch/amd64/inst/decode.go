// Package inst decodes x86-64 instructions as far as a probe must know them: how
// long one is, whether it can run at another address, and what it does to the
// flow of control.
//
// It works on bytes alone: it runs on any host, and knows neither memory nor
// registers' contents.
//
// Lengths and layouts are decoded here, from the opcode maps of the Intel SDM
// (vol. 2D, appendix A). golang.org/x/arch/x86/x86asm, which names instructions
// and operands (see Text), cannot be trusted with lengths: it reads a ModRM byte
// that VZEROUPPER does not have, returns length 1 for ADCX and ADOX, and does not
// know every EVEX and system instruction.
package inst

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// MaxLen is the length of the longest instruction (SDM vol. 2A, 2.3.11).
const MaxLen = 15

// A Map is one of the opcode maps.
type Map uint8

const (
	MapOneByte Map = iota
	Map0F
	Map0F38
	Map0F3A
	Map3DNow // 0F 0F
	Map5     // EVEX only
	Map6     // EVEX only
)

// An Encoding is how the opcode is prefixed.
type Encoding uint8

const (
	Legacy Encoding = iota
	VEX
	EVEX
)

// Prefix is a set of legacy prefixes.
type Prefix uint16

const (
	PrefixLock Prefix = 1 << iota
	PrefixRepne
	PrefixRep
	PrefixCS
	PrefixSS
	PrefixDS
	PrefixES
	PrefixFS
	PrefixGS
	PrefixOperandSize
	PrefixAddressSize
)

// REX bits, also filled in from VEX and EVEX prefixes.
const (
	RexB = 1 << 0
	RexX = 1 << 1
	RexR = 1 << 2
	RexW = 1 << 3
)

// An Inst is a decoded instruction.
type Inst struct {
	Len      uint8
	Encoding Encoding
	Map      Map
	Opcode   uint8
	Prefix   Prefix
	Rex      uint8 // RexW, RexR, RexX, RexB
	HasModRM bool
	ModRM    uint8
	HasSIB   bool
	SIB      uint8

	// Offset and length of the displacement and the immediate operand, the
	// length 0 if there is none. A branch's distance is an immediate.
	DispOff, DispLen uint8
	ImmOff, ImmLen   uint8

	Disp int32
	Imm  int64 // sign-extended

	// RIPRelative: the memory operand's address is relative to the end of
	// the instruction. Disp is the distance.
	RIPRelative bool

	Flow Flow
}

// Decoding errors.
var (
	ErrTruncated = errors.New("truncated instruction")
	ErrUndefined = errors.New("undefined instruction")
	ErrTooLong   = errors.New("instruction longer than 15 bytes")
)

// Decode decodes the instruction at the start of code. It never reads past
// MaxLen bytes, and does not allocate.
func Decode(code []byte) (Inst, error) {
	d := decoder{code: code, limitErr: ErrTruncated}
	if len(code) > MaxLen {
		d.code, d.limitErr = code[:MaxLen], ErrTooLong
	}
	d.decode()
	if d.err != nil {
		return Inst{}, d.err
	}
	d.Inst.Len = d.pos
	d.Inst.Flow = d.Inst.flow()
	return d.Inst, nil
}

type decoder struct {
	Inst
	code     []byte
	pos      uint8
	err      error
	limitErr error // error at the end of code
}

// next returns the next byte, 0 at the end of the code.
func (d *decoder) next() uint8 {
	if int(d.pos) >= len(d.code) {
		d.err = d.limitErr
		return 0
	}
	b := d.code[d.pos]
	d.pos++
	return b
}

func (d *decoder) decode() {
	b := d.prefixes()
	switch b {
	case 0x62:
		d.evex()
	case 0xc4, 0xc5:
		d.vex(b)
	default:
		d.legacy(b)
	}
	if d.err != nil {
		return
	}
	if d.HasModRM {
		d.modrm()
	}
	d.immediate()
}

// prefixes reads legacy prefixes and REX, and returns the byte behind them. A
// REX prefix counts only directly before the opcode (SDM vol. 2A, 2.2.1).
func (d *decoder) prefixes() uint8 {
	for d.err == nil {
		b := d.next()
		if p := legacyPrefix(b); p != 0 {
			d.Prefix |= p
			// The last of F2 and F3 counts.
			if p == PrefixRep {
				d.Prefix &^= PrefixRepne
			} else if p == PrefixRepne {
				d.Prefix &^= PrefixRep
			}
			d.Rex = 0
			continue
		}
		if b&0xf0 == 0x40 {
			d.Rex = b
			continue
		}
		return b
	}
	return 0
}

func legacyPrefix(b uint8) Prefix {
	switch b {
	case 0xf0:
		return PrefixLock
	case 0xf2:
		return PrefixRepne
	case 0xf3:
		return PrefixRep
	case 0x2e:
		return PrefixCS
	case 0x36:
		return PrefixSS
	case 0x3e:
		return PrefixDS
	case 0x26:
		return PrefixES
	case 0x64:
		return PrefixFS
	case 0x65:
		return PrefixGS
	case 0x66:
		return PrefixOperandSize
	case 0x67:
		return PrefixAddressSize
	}
	return 0
}

func (d *decoder) legacy(b uint8) {
	d.Opcode = b
	var form form
	if b != 0x0f {
		form = oneByteForms[b]
	} else if d.Opcode = d.next(); d.Opcode == 0x38 {
		d.Map, d.Opcode = Map0F38, d.next()
		form = formModRM
	} else if d.Opcode == 0x3a {
		d.Map, d.Opcode = Map0F3A, d.next()
		form = formModRM | formImm8
	} else if d.Opcode == 0x0f {
		d.Map = Map3DNow // the opcode proper is the immediate
		form = formModRM | formImm8
	} else {
		d.Map = Map0F
		form = twoByteForms[d.Opcode]
	}
	if d.err == nil {
		d.setForm(form)
	}
}

// vex reads the rest of a two- or three-byte VEX prefix (SDM vol. 2A, 2.3.5)
// and the opcode.
func (d *decoder) vex(b uint8) {
	d.Encoding = VEX
	if d.Rex != 0 || d.Prefix&(PrefixLock|PrefixRep|PrefixRepne|PrefixOperandSize) != 0 {
		d.err = ErrUndefined
		return
	}
	d.Map = Map0F
	p := d.next()
	if b == 0xc5 {
		d.Rex = ^p >> 5 & RexR
	} else {
		d.Rex = ^p >> 5 & (RexR | RexX | RexB)
		d.setVectorMap(p & 0x1f)
		d.Rex |= d.next() >> 4 & RexW
	}
	d.vectorOpcode()
}

// evex reads the rest of an EVEX prefix (SDM vol. 2A, 2.7.1) and the opcode.
func (d *decoder) evex() {
	d.Encoding = EVEX
	if d.Rex != 0 || d.Prefix&(PrefixLock|PrefixRep|PrefixRepne|PrefixOperandSize) != 0 {
		d.err = ErrUndefined
		return
	}
	p0, p1, _ := d.next(), d.next(), d.next()
	if p0&8 != 0 || p1&4 == 0 {
		d.err = ErrUndefined
	}
	d.Rex = ^p0>>5&(RexR|RexX|RexB) | p1>>4&RexW
	d.setVectorMap(p0 & 7)
	d.vectorOpcode()
}

func (d *decoder) setVectorMap(m uint8) {
	switch m {
	case 1:
		d.Map = Map0F
	case 2:
		d.Map = Map0F38
	case 3:
		d.Map = Map0F3A
	case 5:
		d.Map = Map5
	case 6:
		d.Map = Map6
	default:
		d.err = ErrUndefined
	}
	if d.Encoding == VEX && d.Map >= Map5 {
		d.err = ErrUndefined
	}
}

func (d *decoder) vectorOpcode() {
	d.Opcode = d.next()
	if d.err != nil {
		return
	}
	form := formModRM
	switch d.Map {
	case Map0F:
		switch d.Opcode {
		case 0x77:
			form = 0 // VZEROUPPER, VZEROALL
			if d.Encoding == EVEX {
				form = formUndefined
			}
		case 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6:
			form |= formImm8
		}
	case Map0F3A:
		form |= formImm8
	}
	d.setForm(form)
}

// modrm reads the SIB byte and the displacement (SDM vol. 2A, 2.1.3).
func (d *decoder) modrm() {
	mod, rm := d.ModRM>>6, d.ModRM&7
	if mod == 3 || d.Encoding == Legacy && d.Map == Map0F && d.Opcode >= 0x20 && d.Opcode <= 0x23 {
		return // a register; MOV to and from CR and DR ignore mod
	}
	base := rm
	if rm == 4 {
		d.HasSIB = true
		d.SIB = d.next()
		base = d.SIB & 7
	}
	switch {
	case mod == 0 && rm == 5:
		d.RIPRelative = true
		d.DispLen = 4
	case mod == 0 && base == 5:
		d.DispLen = 4
	case mod == 1:
		d.DispLen = 1
	case mod == 2:
		d.DispLen = 4
	}
	if d.DispLen != 0 {
		d.DispOff = d.pos
		d.Disp = int32(d.number(d.DispLen))
	}
}

// number reads n bytes, sign-extended.
func (d *decoder) number(n uint8) int64 {
	if int(d.pos)+int(n) > len(d.code) {
		d.err = d.limitErr
		return 0
	}
	b := d.code[d.pos:]
	d.pos += n
	switch n {
	case 1:
		return int64(int8(b[0]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 3: // ENTER
		return int64(binary.LittleEndian.Uint16(b)) | int64(b[2])<<16
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	default:
		return int64(binary.LittleEndian.Uint64(b))
	}
}

func (d *decoder) immediate() {
	if d.err == nil && d.ImmLen != 0 {
		d.ImmOff = d.pos
		d.Imm = d.number(d.ImmLen)
	}
}

// A form is what follows an opcode.
type form uint8

const (
	formModRM form = 1 << iota
	formImm8
	formImm16
	formImmZ   // 2 bytes with an operand size prefix, else 4
	formImmV   // as formImmZ, 8 bytes with REX.W
	formMoffs  // an address: 8 bytes, 4 with an address size prefix
	formGroup3 // ModRM, and an immediate for TEST only
	formUndefined
)

// setForm reads the ModRM byte and sets the immediate's length.
func (d *decoder) setForm(f form) {
	if f == formUndefined {
		d.err = ErrUndefined
		return
	}
	if f&(formModRM|formGroup3) != 0 {
		d.HasModRM = true
		d.ModRM = d.next()
	}
	z := uint8(4)
	if d.Prefix&PrefixOperandSize != 0 && d.Rex&RexW == 0 {
		z = 2
	}
	if f&formGroup3 != 0 && d.ModRM>>3&7 <= 1 {
		if d.Opcode == 0xf6 {
			f |= formImm8
		} else {
			f |= formImmZ
		}
	}
	if f&formImm8 != 0 {
		d.ImmLen++
	}
	if f&formImm16 != 0 {
		d.ImmLen += 2
	}
	if f&formImmZ != 0 {
		d.ImmLen = z
	}
	if f&formImmV != 0 {
		d.ImmLen = z
		if d.Rex&RexW != 0 {
			d.ImmLen = 8
		}
	}
	if f&formMoffs != 0 {
		d.ImmLen = 8
		if d.Prefix&PrefixAddressSize != 0 {
			d.ImmLen = 4
		}
	}
	if d.Encoding == Legacy {
		d.irregular()
	}
}

// irregular corrects the immediate's length where it depends on more than the
// opcode.
func (d *decoder) irregular() {
	reg := d.ModRM >> 3 & 7
	switch {
	case d.Map == MapOneByte && d.Opcode == 0x8f && reg != 0:
		d.err = ErrUndefined // XOP (AMD)
	case d.Map == MapOneByte && isNearBranch(d.Opcode) && d.ImmLen == 2,
		d.Map == Map0F && d.Opcode&0xf0 == 0x80:
		d.ImmLen = 4 // Intel ignores the operand size prefix, see flow
	case d.Map == Map0F && d.Opcode == 0x78 && d.Prefix&(PrefixOperandSize|PrefixRepne) != 0:
		d.ImmLen = 2 // EXTRQ and INSERTQ (SSE4A) with two immediates
	}
}

// isNearBranch: CALL and JMP with a 32-bit distance.
func isNearBranch(op uint8) bool { return op == 0xe8 || op == 0xe9 }

// oneByteForms and twoByteForms follow the opcode maps (SDM vol. 2D, tables A-2
// and A-3), one character for each opcode:
//
//	.  nothing     m  ModRM           x  undefined in 64-bit mode
//	b  imm8        B  ModRM, imm8     w  imm16
//	z  immZ        Z  ModRM, immZ     v  immV
//	e  ENTER       a  moffs           3  group 3
//	p  a prefix or escape, decoded elsewhere
var oneByteForms = forms("" +
	/*       0123456789abcdef */
	/* 00 */
	"mmmmbzxxmmmmbzxp" +
	/* 10 */ "mmmmbzxxmmmmbzxx" +
	/* 20 */ "mmmmbzpxmmmmbzpx" +
	/* 30 */ "mmmmbzpxmmmmbzpx" +
	/* 40 */ "pppppppppppppppp" +
	/* 50 */ "................" +
	/* 60 */ "xxpmppppzZbB...." +
	/* 70 */ "bbbbbbbbbbbbbbbb" +
	/* 80 */ "BZxBmmmmmmmmmmmm" +
	/* 90 */ "..........x....." +
	/* a0 */ "aaaa....bz......" +
	/* b0 */ "bbbbbbbbvvvvvvvv" +
	/* c0 */ "BBw.ppBZe.w..bx." +
	/* d0 */ "mmmmxxx.mmmmmmmm" +
	/* e0 */ "bbbbbbbbzzxb...." +
	/* f0 */ "p.pp..33......mm")

var twoByteForms = forms("" +
	/*       0123456789abcdef */
	/* 00 */
	"mmmmx.....x.xm.p" +
	/* 10 */ "mmmmmmmmmmmmmmmm" +
	/* 20 */ "mmmmxxxxmmmmmmmm" +
	/* 30 */ "......x.pxpxxxxx" +
	/* 40 */ "mmmmmmmmmmmmmmmm" +
	/* 50 */ "mmmmmmmmmmmmmmmm" +
	/* 60 */ "mmmmmmmmmmmmmmmm" +
	/* 70 */ "BBBBmmm.mmxxmmmm" +
	/* 80 */ "zzzzzzzzzzzzzzzz" +
	/* 90 */ "mmmmmmmmmmmmmmmm" +
	/* a0 */ "...mBmxx...mBmmm" +
	/* b0 */ "mmmmmmmmmmBmmmmm" +
	/* c0 */ "mmBmBBBm........" +
	/* d0 */ "mmmmmmmmmmmmmmmm" +
	/* e0 */ "mmmmmmmmmmmmmmmm" +
	/* f0 */ "mmmmmmmmmmmmmmmm")

func forms(s string) (t [256]form) {
	if len(s) != len(t) {
		panic(fmt.Sprintf("opcode map of %d entries", len(s)))
	}
	for i := range t {
		switch s[i] {
		case '.':
		case 'm':
			t[i] = formModRM
		case 'b':
			t[i] = formImm8
		case 'B':
			t[i] = formModRM | formImm8
		case 'w':
			t[i] = formImm16
		case 'z':
			t[i] = formImmZ
		case 'Z':
			t[i] = formModRM | formImmZ
		case 'v':
			t[i] = formImmV
		case 'e':
			t[i] = formImm16 | formImm8
		case 'a':
			t[i] = formMoffs
		case '3':
			t[i] = formGroup3
		default: // 'x' and 'p'
			t[i] = formUndefined
		}
	}
	return t
}
