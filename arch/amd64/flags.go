package amd64

import "math/bits"

// subFlags returns the arithmetic flags of a 64-bit CMP or SUB a - b (SDM vol. 1,
// 3.4.3.1).
func subFlags(a, b uint64) (f uint64) {
	d := a - b
	if a < b {
		f |= FlagCF
	}
	if bits.OnesCount8(uint8(d))&1 == 0 {
		f |= FlagPF
	}
	if (a^b^d)&0x10 != 0 {
		f |= FlagAF
	}
	if d == 0 {
		f |= FlagZF
	}
	if d>>63 != 0 {
		f |= FlagSF
	}
	if (a^b)&(a^d)>>63 != 0 {
		f |= FlagOF
	}
	return f
}

const arithmeticFlags = FlagCF | FlagPF | FlagAF | FlagZF | FlagSF | FlagOF

// condition evaluates a condition code (SDM vol. 1, appendix B).
func condition(code uint8, flags uint64) bool {
	var v bool
	switch code >> 1 {
	case 0: // O
		v = flags&FlagOF != 0
	case 1: // B
		v = flags&FlagCF != 0
	case 2: // E
		v = flags&FlagZF != 0
	case 3: // BE
		v = flags&(FlagCF|FlagZF) != 0
	case 4: // S
		v = flags&FlagSF != 0
	case 5: // P
		v = flags&FlagPF != 0
	case 6: // L
		v = (flags&FlagSF != 0) != (flags&FlagOF != 0)
	case 7: // LE
		v = flags&FlagZF != 0 || (flags&FlagSF != 0) != (flags&FlagOF != 0)
	}
	return v != (code&1 != 0)
}
