package amd64

import (
	"sync/atomic"
	"unsafe"
)

// A ReturnProbe is what machine code knows of a return probe. Addresses are kept alive by
// whoever fills it in.
type ReturnProbe struct {
	// Free is the head of the list of instances that are not in use: the Word of the
	// first, 0 if there is none.
	Free atomic.Uint64

	// Off is what keeps the handler from being called: one byte for each reason.
	Off [4]uint8

	Returned uintptr // address of a uint64 that counts returns, plus HitState.CountOffset
	Guard    uintptr // what HitState.Guard becomes while the handler runs
	Current  uintptr // and HitState.Current
	Handler  uintptr // function value: func(instance, r *Regs)
}

// A ReturnInstance is a call that is followed to its return, or one of those that are not
// in use: the start of the instance that the handler gets.
type ReturnInstance struct {
	// Word is what ReturnProbe.Free is while the instance is the first: its address in the
	// low half (TamaGo maps no memory above 4 GiB); in the high half how often it has been put
	// there, so that a processor notices that others were faster.
	Word uint64
	Next uint64 // in the free list: the Word of the next

	Probe    uintptr // *ReturnProbe
	Ret      uintptr // the address that the trampoline replaced
	Distance uintptr // of its slot from the high end of the stack
	Outer    uintptr // the goroutine's next instance
}

// Take takes an instance, nil if there is none. Any context.
//
//go:nosplit
func (p *ReturnProbe) Take() *ReturnInstance {
	for {
		word := p.Free.Load()
		if uint32(word) == 0 {
			return nil
		}
		i := at[ReturnInstance](uintptr(uint32(word)))
		if p.Free.CompareAndSwap(word, i.Next) {
			return i
		}
	}
}

// Put gives an instance back. Any context.
//
//go:nosplit
func (i *ReturnInstance) Put() {
	p := at[ReturnProbe](i.Probe)
	i.Word += 1 << 32
	for {
		i.Next = p.Free.Load()
		if p.Free.CompareAndSwap(i.Next, i.Word) {
			return
		}
	}
}

// NumFree counts the instances that are not in use. None may be taken meanwhile. Goroutine
// context.
func (p *ReturnProbe) NumFree() (n int) {
	for word := p.Free.Load(); uint32(word) != 0; word = at[ReturnInstance](uintptr(uint32(word))).Next {
		n++
	}
	return n
}

const (
	offFree     = unsafe.Offsetof(ReturnProbe{}.Free)
	offOff      = unsafe.Offsetof(ReturnProbe{}.Off)
	offReturned = unsafe.Offsetof(ReturnProbe{}.Returned)
	offListed   = unsafe.Offsetof(ReturnProbe{}.Guard)
	offAt       = unsafe.Offsetof(ReturnProbe{}.Current)
	offHandler  = unsafe.Offsetof(ReturnProbe{}.Handler)

	offWord     = unsafe.Offsetof(ReturnInstance{}.Word)
	offNext     = unsafe.Offsetof(ReturnInstance{}.Next)
	offProbe    = unsafe.Offsetof(ReturnInstance{}.Probe)
	offRet      = unsafe.Offsetof(ReturnInstance{}.Ret)
	offDistance = unsafe.Offsetof(ReturnInstance{}.Distance)
	offOuter    = unsafe.Offsetof(ReturnInstance{}.Outer)
)

// NewTrampoline makes the code that return probes put in the place of return addresses. It
// saves the registers as a detour does, takes the instance for this return off the
// goroutine's list, which starts at an offset in its g, calls the handler with r.PC the real
// address, puts the instance back, and goes on at r.PC; if that is the trampoline again, with
// the next instance. It is a detour for AbandonDetour, with one place to go on at.
//
// When the first instance is not the one, find is called to make it so, with
// HitState.Guard guard. Goroutine context.
func NewTrampoline(returns, guard uintptr, find *func(r *Regs)) (*Detour, error) {
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
	noteLocks(a)
	a.bytes(0xfc) // CLD

	again := a.pc()
	a.loadGS(offRegs+unsafe.Offsetof(Regs{}.G), regAX)
	a.load(regAX, returns, regDI)
	a.load(regAX, gStackHi, regCX)
	a.loadGS(offRegs+unsafe.Offsetof(Regs{}.SP), regDX)
	a.bytes(0x48, 0x29, 0xd1)    // SUBQ DX, CX
	a.bytes(0x48, 0x83, 0xc1, 8) // ADDQ $8, CX: the slot's distance
	a.bytes(0x48, 0x85, 0xff)    // TESTQ DI, DI
	none := a.jumpIfLater(conditionE)
	a.compare(regDI, offDistance, regCX)
	other := a.jumpIfLater(conditionNE)
	a.load(regDI, offOuter, regCX)
	a.store(regCX, regAX, returns)
	a.load(regDI, offRet, regCX)
	a.storeGS(regCX, offRegs+unsafe.Offsetof(Regs{}.PC))
	a.storeGS(regDI, offInstance)
	a.load(regDI, offProbe, regSI)
	a.load(regSI, offReturned, regDX)
	a.loadGS(offCountOffset, regCX)
	a.bytes(0x48, 0xff, 0x04, 0x0a)      // INCQ (DX)(CX*1)
	a.bytes(0x83, 0x7e, byte(offOff), 0) // CMPL off(SI), $0
	skip := a.jumpIfLater(conditionNE)
	a.load(regSI, offListed, regCX)
	a.storeGS(regCX, offGuard)
	a.load(regSI, offAt, regCX)
	a.storeGS(regCX, offCurrent)
	a.load(regSI, offHandler, regDX)
	a.bytes(0x48, 0x89, 0xf8) // MOVQ DI, AX
	a.loadGS(offRegsAddr, regBX)
	a.bytes(0xff, 0x12) // CALL (DX)

	a.here(skip)
	d.after = []uintptr{a.pc()}
	a.loadGS(offInstance, regDI)
	a.storeImmGS(0, offInstance)
	a.load(regDI, offProbe, regSI)
	a.bytes(0xff, 0x47, byte(offWord)+4) // INCL word+4(DI)
	a.load(regDI, offWord, regDX)
	put := a.pc()
	a.load(regSI, offFree, regAX)
	a.store(regAX, regDI, offNext)
	a.swap(regDX, regSI, offFree)
	a.jumpIf(conditionNE, put)
	a.storeImmGS(0, offGuard)
	a.loadImm(uint64(d.piece), regAX)
	a.cmpGS(regAX, offRegs+unsafe.Offsetof(Regs{}.PC))
	a.jumpIf(conditionE, again)
	leaveTo(a)

	a.here(none)
	a.here(other)
	a.storeImmGS(uint64(guard), offGuard)
	a.loadGS(offRegsAddr, regAX)
	a.loadImm(uint64(*(*uintptr)(unsafe.Pointer(find))), regDX)
	a.bytes(0xff, 0x12) // CALL (DX)
	a.jump(again)
	if a.err != nil {
		d.pool.release(d.piece)
		return nil, a.err
	}
	d.size = len(a.code)
	copy(unsafe.Slice(at[byte](d.piece), len(a.code)), a.code)
	return d, nil
}

// A Follow makes a detour follow calls to their return by itself, at a function's entry
// with no other probe: the pre handler is called only if an instance of a call that never
// returned is in the way, there is none, or the stack is not the goroutine's.
type Follow struct {
	Probe      uintptr // *ReturnProbe
	Trampoline uintptr
	Returns    uintptr // as for NewTrampoline
}

// follow is the part of a detour that follows a call. The flags are on the stack, and
// interrupts disabled. It goes on where its code ends if the pre handler is to be called, with
// everything as it found it; the label is of a jump for when that is not so, with the flags
// still on the stack.
func (f *Follow) follow(a *assembler, probe *DetourProbe) label {
	const slot = 6 * 8                          // from SP, with all this pushed
	a.bytes(0x50, 0x53, 0x51, 0x52, 0x56)       // PUSHQ AX, BX, CX, DX, SI
	pop := []byte{0x5e, 0x5a, 0x59, 0x5b, 0x58} // POPQ of the same
	a.loadTLS(regDX)
	a.load(regDX, gStackHi, regSI)
	a.bytes(0x48, 0x8d, 0x5c, 0x24, slot) // LEAQ slot(SP), BX
	a.bytes(0x48, 0x29, 0xde)             // SUBQ BX, SI: its distance
	var slow []label
	slow = append(slow, a.jumpIfLater(conditionB))
	a.compare(regDX, gStackLo, regBX)
	slow = append(slow, a.jumpIfLater(conditionA))
	a.load(regDX, f.Returns, regCX)
	a.bytes(0x48, 0x85, 0xc9) // TESTQ CX, CX
	first := a.jumpIfLater(conditionE)
	a.compare(regCX, offDistance, regSI)
	slow = append(slow, a.jumpIfLater(conditionAE))
	a.here(first)
	a.loadImm(uint64(probe.Probe), regAX)
	a.compare0(probe.Off)
	slow = append(slow, a.jumpIfLater(conditionNE))

	a.loadImm(uint64(f.Probe), regBX)
	take := a.pc()
	a.load(regBX, offFree, regAX)
	a.bytes(0x89, 0xc1) // MOVL AX, CX: the instance
	a.bytes(0x85, 0xc9) // TESTL CX, CX
	slow = append(slow, a.jumpIfLater(conditionE))
	a.load(regCX, offNext, regDX)
	a.swap(regDX, regBX, offFree)
	a.jumpIf(conditionNE, take)

	a.loadGS(offCountOffset, regAX)
	a.loadImm(uint64(probe.Handled), regBX)
	a.bytes(0x48, 0xff, 0x04, 0x03) // INCQ (BX)(AX*1)
	a.loadTLS(regDX)
	a.load(regDX, f.Returns, regAX)
	a.store(regAX, regCX, offOuter)
	a.store(regCX, regDX, f.Returns)
	a.store(regSI, regCX, offDistance)
	a.bytes(0x48, 0x8b, 0x44, 0x24, slot) // MOVQ slot(SP), AX
	a.store(regAX, regCX, offRet)
	a.loadImm(uint64(f.Trampoline), regAX)
	a.bytes(0x48, 0x89, 0x44, 0x24, slot) // MOVQ AX, slot(SP)
	a.bytes(pop...)
	done := a.jumpLater()

	for _, l := range slow {
		a.here(l)
	}
	a.bytes(pop...)
	return done
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
