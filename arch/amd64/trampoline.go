package amd64

import "unsafe"

// NewTrampoline makes the code that return probes put in the place of return addresses. It
// saves the registers as a detour does, with r.PC its own address, calls returned until
// that returns false, and goes on at r.PC. guard is what HitState.Guard becomes. It is a
// detour for AbandonDetour, with one place to go on at: the call. Goroutine context.
func NewTrampoline(guard uintptr, returned *func(r *Regs) bool) (*Detour, error) {
	lo, _ := TextRange()
	d := &Detour{pool: &detours, tls: true}
	var err error
	if d.piece, err = d.pool.alloc(lo, uintptr(unsafe.Pointer(d))); err != nil {
		return nil, err
	}
	a := &assembler{base: d.piece}
	a.bytes(0x9c) // PUSHFQ: where the return address was
	a.bytes(0xfa) // CLI
	saveRegisters(a, d.piece, true)
	a.storeImmGS(uint64(guard), offGuard)
	noteLocks(a)
	a.bytes(0xfc) // CLD
	again := a.pc()
	d.after = []uintptr{again}
	a.loadGS(offRegsAddr, regAX)
	a.loadImm(uint64(*(*uintptr)(unsafe.Pointer(returned))), regDX)
	a.call(**(**uintptr)(unsafe.Pointer(returned)))
	a.bytes(0x84, 0xc0) // TESTB AL, AL
	a.jumpIf(conditionNE, again)
	a.storeImmGS(0, offGuard)
	leaveTo(a)
	if a.err != nil {
		d.pool.release(d.piece)
		return nil, a.err
	}
	d.size = len(a.code)
	copy(unsafe.Slice(at[byte](d.piece), len(a.code)), a.code)
	return d, nil
}

// StackHi returns the high end of the stack of the g that r interrupted. Trap context.
//
//go:nosplit
func StackHi(r *Regs) uintptr { return *at[uintptr](r.G + gStackHi) }

// ReturnSlot returns where the return address is, at the entry of the function that r is
// in, and how far that is from the high end of its stack; ok is false if r is not on the
// stack of its g. Trap context.
//
//go:nosplit
func ReturnSlot(r *Regs) (slot *uintptr, distance uintptr, ok bool) {
	sp, hi := uintptr(r.SP), *at[uintptr](r.G + gStackHi)
	return at[uintptr](sp), hi - sp, hi-sp <= hi-*at[uintptr](r.G + gStackLo)
}
