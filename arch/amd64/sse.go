package amd64

import (
	"math"
	"unsafe"
)

// SSE returns the interrupted code's registers X0 to X15, low half first, in a handler whose code
// uses SSE registers itself, or does what cannot be told: they have then been saved, and
// what is changed takes effect. nil in other handlers: the registers still hold the values.
// Handler context.
func (r *Regs) SSE() *[16][2]uint64 {
	c := cpuOf(r)
	if c.saved == 0 || c.saved >= c.regsAddr(r) {
		return nil // saved for somebody further out
	}
	const (
		xmm0     = 160 // offsets in the area (SDM vol. 1, table 10-2, 13.4.2)
		xstateBV = 512
		stateSSE = 1 << 1
	)
	area := at[savedState](c.saved).area
	if xsaveMask != 0 {
		*at[uint64](area + xstateBV) |= stateSSE // restore them, not their initial values
	}
	return at[[16][2]uint64](area + xmm0)
}

// regsAddr returns where the handler's part of the trap stack ends.
func (c *cpu) regsAddr(r *Regs) uintptr {
	if r == &c.detourRegs {
		return (*HitState)(unsafe.Pointer(&c.hit)).Top
	}
	return uintptr(unsafe.Pointer(r))
}

// NumFloatArgs is the number of floating-point argument registers, X0 to X14. Results use
// the same registers.
const NumFloatArgs = 15

// FloatArg returns floating-point argument i of a Go function, counted in registers, at the
// function's entry, or result i at its return; 0 if it is not in a register. Handler context.
func (r *Regs) FloatArg(i int) float64 {
	if x := r.floatArg(i); x != nil {
		return math.Float64frombits(*x)
	}
	return 0
}

// Float32Arg is FloatArg for a float32.
func (r *Regs) Float32Arg(i int) float32 {
	if x := r.floatArg(i); x != nil {
		return math.Float32frombits(uint32(*x))
	}
	return 0
}

// SetFloatArg changes floating-point argument or result i. It does nothing for one that is not
// in a register.
func (r *Regs) SetFloatArg(i int, v float64) {
	if x := r.floatArg(i); x != nil {
		*x = math.Float64bits(v)
	}
}

// SetFloat32Arg is SetFloatArg for a float32.
func (r *Regs) SetFloat32Arg(i int, v float32) {
	if x := r.floatArg(i); x != nil {
		*x = *x&^math.MaxUint32 | uint64(math.Float32bits(v))
	}
}

func (r *Regs) floatArg(i int) *uint64 {
	x := r.SSE()
	if x == nil || uint(i) >= NumFloatArgs {
		return nil
	}
	return &x[i][0]
}
