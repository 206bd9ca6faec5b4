package inst

// UsesSSE reports whether the instruction reads or writes SSE, AVX or AVX-512
// registers or their control register, or may.
func (i *Inst) UsesSSE() bool {
	switch i.Encoding {
	case EVEX:
		return true
	case VEX:
		switch i.Map {
		case Map0F38:
			return i.Opcode < 0xf0 // the rest, BMI, works on integer registers
		case Map0F3A:
			return i.Opcode != 0xf0 // RORX
		}
		return true
	}
	switch i.Map {
	case Map0F38:
		return i.Opcode < 0xf0 // the rest: MOVBE, CRC32, ADCX, ADOX, ...
	case Map0F3A, Map3DNow:
		return true
	case Map0F:
		switch op := i.Opcode; {
		case op >= 0x10 && op <= 0x17, op >= 0x28 && op <= 0x2f, op >= 0x50 && op <= 0x7f,
			op == 0xc2, op >= 0xc4 && op <= 0xc6, op >= 0xd0 && op <= 0xfe:
			return true
		case op == 0xae: // FXSAVE, XSAVE, LDMXCSR, ...; but the fences are registers
			return i.ModRM>>6 != 3
		case op == 0xc7: // XSAVEC, XRSTORS
			reg := i.ModRM >> 3 & 7
			return i.ModRM>>6 != 3 && reg >= 3 && reg <= 5
		}
	}
	return false
}
