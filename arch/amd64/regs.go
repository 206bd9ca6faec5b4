package amd64

// Regs are the registers of the interrupted code, as the entry code saves them
// on the trap stack. What a handler changes takes effect when the code goes on,
// except for the fields that say otherwise. The SSE and AVX registers are not
// here: they hold the interrupted code's values when a handler starts, and are
// restored after it. See SSE and FloatArg.
//
// Assembly shares the layout (entry_amd64.s).
type Regs struct {
	CPU uint64  // number of the processor; read only
	G   uintptr // the interrupted g; read only

	R15, R14, R13, R12, R11, R10, R9, R8 uint64
	DI, SI, BP, BX, DX, CX, AX           uint64

	Vector uint64 // read only
	Error  uint64 // error code, 0 for a vector without one; read only

	// What the processor pushes (SDM vol. 3A, figure 6-9).
	PC, CS, Flags, SP, SS uint64
}

// Bits of Flags (SDM vol. 1, 3.4.3).
const (
	FlagCF = 1 << 0
	FlagPF = 1 << 2
	FlagAF = 1 << 4
	FlagZF = 1 << 6
	FlagSF = 1 << 7
	FlagTF = 1 << 8
	FlagIF = 1 << 9
	FlagDF = 1 << 10
	FlagOF = 1 << 11
	FlagRF = 1 << 16
	FlagVM = 1 << 17
)

// Arg returns integer argument i of a Go function, counted in registers, at the
// function's entry; 0 if it is not in a register (Go internal ABI,
// cmd/compile/abi-internal.md). A string takes two registers, a slice three.
func (r *Regs) Arg(i int) uint64 {
	if p := r.arg(i); p != nil {
		return *p
	}
	return 0
}

// SetArg changes integer argument i. It does nothing for one that is not in a
// register.
func (r *Regs) SetArg(i int, v uint64) {
	if p := r.arg(i); p != nil {
		*p = v
	}
}

// NumArgs is the number of integer argument registers. Results use the same
// registers.
const NumArgs = 9

func (r *Regs) arg(i int) *uint64 {
	switch i {
	case 0:
		return &r.AX
	case 1:
		return &r.BX
	case 2:
		return &r.CX
	case 3:
		return &r.DI
	case 4:
		return &r.SI
	case 5:
		return &r.R8
	case 6:
		return &r.R9
	case 7:
		return &r.R10
	case 8:
		return &r.R11
	}
	return nil
}

// StackArg returns word i of the arguments that a Go function has on the stack, at its
// entry: above the return address.
func (r *Regs) StackArg(i int) uint64 { return *r.stackWord(i + 1) }

// StackResult returns word i of the arguments and results that a Go function has on the
// stack, at its return: the results come after the arguments.
func (r *Regs) StackResult(i int) uint64 { return *r.stackWord(i) }

// SetStackResult changes it.
func (r *Regs) SetStackResult(i int, v uint64) { *r.stackWord(i) = v }

func (r *Regs) stackWord(i int) *uint64 { return at[uint64](uintptr(r.SP) + 8*uintptr(i)) }

// ArgNames are the names of the argument registers in Go's assembler.
var ArgNames = [NumArgs]string{"AX", "BX", "CX", "DI", "SI", "R8", "R9", "R10", "R11"}

// reg returns the register with the number that instructions use for it (SDM
// vol. 2A, table 3-1).
//
//go:nosplit
func (r *Regs) reg(n uint8) *uint64 {
	switch n & 15 {
	case 0:
		return &r.AX
	case 1:
		return &r.CX
	case 2:
		return &r.DX
	case 3:
		return &r.BX
	case 4:
		return &r.SP
	case 5:
		return &r.BP
	case 6:
		return &r.SI
	case 7:
		return &r.DI
	case 8:
		return &r.R8
	case 9:
		return &r.R9
	case 10:
		return &r.R10
	case 11:
		return &r.R11
	case 12:
		return &r.R12
	case 13:
		return &r.R13
	case 14:
		return &r.R14
	default:
		return &r.R15
	}
}
