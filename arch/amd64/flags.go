package amd64

const arithmeticFlags = FlagCF | FlagPF | FlagAF | FlagZF | FlagSF | FlagOF

// condition evaluates a condition code (SDM vol. 1, appendix B).
//
//go:nosplit
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
