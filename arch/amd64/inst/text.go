package inst

import (
	"fmt"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// Text returns the instruction at address pc in the syntax of Go's assembler.
// symname finds the name and the address of the symbol that contains an address;
// it may be nil. Text allocates.
func Text(code []byte, pc uint64, symname func(addr uint64) (name string, base uint64)) string {
	i, err := Decode(code)
	if err != nil {
		return "?"
	}
	if name, ok := fixed[key{i.Encoding, i.Map, i.Opcode, i.mandatory()}]; ok {
		return strings.TrimSpace(name + " " + i.operands())
	}
	x, err := x86asm.Decode(code, 64)
	if err != nil || x.Len != int(i.Len) || x.Op == 0 {
		return i.generic()
	}
	return x86asm.GoSyntax(x, pc, symname)
}

// A key identifies an instruction that x86asm gets wrong.
type key struct {
	Encoding
	Map
	opcode    uint8
	mandatory Prefix
}

var fixed = map[key]string{
	{VEX, Map0F, 0x77, 0}:                      "VZEROUPPER",
	{Legacy, Map0F38, 0xf6, PrefixOperandSize}: "ADCX",
	{Legacy, Map0F38, 0xf6, PrefixRep}:         "ADOX",
}

// mandatory returns the prefix that selects among instructions of one opcode.
func (i *Inst) mandatory() Prefix {
	return i.Prefix & (PrefixOperandSize | PrefixRep | PrefixRepne)
}

// operands describes the ModRM operands of the instructions in fixed.
func (i *Inst) operands() string {
	if !i.HasModRM {
		return ""
	}
	reg := i.ModRM>>3&7 | i.Rex<<1&8
	if i.ModRM>>6 != 3 {
		return "mem, " + Registers[reg]
	}
	return Registers[i.ModRM&7|i.Rex<<3&8] + ", " + Registers[reg]
}

// Registers are the names of the integer registers in Go's assembler, by
// number.
var Registers = [16]string{
	"AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI",
	"R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15",
}

// generic names an instruction by its encoding.
func (i *Inst) generic() string {
	enc := [...]string{Legacy: "", VEX: "VEX.", EVEX: "EVEX."}[i.Encoding]
	m := [...]string{"", "0F.", "0F38.", "0F3A.", "0F0F.", "MAP5.", "MAP6."}[i.Map]
	s := fmt.Sprintf("(%s%s%02X", enc, m, i.Opcode)
	if i.HasModRM {
		s += fmt.Sprintf("/%02X", i.ModRM)
	}
	return s + ")"
}
