package amd64

import (
	"bytes"
	"unsafe"

	"tamaprobe/arch/amd64/inst"
)

// A Detour is code that a jump in the place of a probed instruction leads to: it
// calls the probes' handlers, executes the instructions that the jump replaced, and
// jumps back behind them. There is no trap.
//
// Its parts, in this order:
//
//   - at a function's entry, the stack check. If that fails the function starts over,
//     and this is no hit.
//   - a test of the reentrancy guard; inside a handler the hit is only counted as
//     missed.
//   - the registers are saved in the processor's Regs for detours, with interrupts
//     disabled, and the handlers called on the trap stack.
//   - the registers are restored.
//   - the copy: the replaced instructions, without the branch of a stack check.
type Detour struct {
	region
	point *Point
	pool  *codePool
	piece uintptr // where the code is
	size  int

	called uintptr   // where the code is that a hit by breakpoint may go on at
	copied uintptr   // where the copy is
	after  []uintptr // where each probe's handler returns to
	moves  []move
	tls    bool

	follower bool // see NewFollower
}

// A move says where an instruction was that is now in the detour.
type move struct {
	lo, hi uintptr // now
	addr   uintptr // before
	pushed bool    // a call that has pushed its return address
}

// A DetourHit is what a detour does for a hit.
type DetourHit struct {
	Guard  uintptr // what HitState.Guard becomes
	Probes []DetourProbe

	// Leave is called when a handler returned true. It returns whether execution
	// goes on at r.PC; the guard must then be 0.
	Leave *func(r *Regs) bool

	Follow *Follow // nil if the one probe is no return probe
}

// A DetourProbe is a probe of a DetourHit. All addresses are kept alive by the caller.
type DetourProbe struct {
	Probe   uintptr        // the handler's first argument
	Off     uintptr        // offset in it of a uint32: while that is not 0 the probe is skipped
	Current uintptr        // what HitState.Current becomes
	Handled uintptr        // address of a uint64 that counts hits, plus HitState.CountOffset
	Missed  uintptr        // the same for misses
	Handler unsafe.Pointer // function value: func(probe, r *Regs) bool; nil to count only
	TLS     bool           // the handler's code may ask for g by its slot
	Locks   bool           // the handler may call the runtime
}

// HitState is what a processor's detours share with the probe handlers: the start of the
// state that those get.
type HitState struct {
	Guard       uintptr // not 0 while handlers of probes run or an instruction is stepped
	Regs        uintptr // *Regs of the code that was hit
	Top         uintptr // in a detour: of the part of the trap stack that handlers use
	Current     uintptr // says which probe's handler runs
	CountOffset uintptr // of the processor's counts
	LocksAt     uintptr // *int32: the count of runtime locks
	Instance    uintptr // *ReturnInstance whose handler runs, 0 for none
	Locks       int32   // what it was at the hit
	_           int32
}

// HitStateSize is how large the state of the probe handlers can be in all.
const HitStateSize = 256

// Offsets from GS.
const (
	offTrapG     = unsafe.Offsetof(cpu{}.trapG)
	offTrapLo    = unsafe.Offsetof(cpu{}.trapLo)
	offTrapHi    = unsafe.Offsetof(cpu{}.trapHi)
	offDetourTop = unsafe.Offsetof(cpu{}.detourTop)
	offRegsAddr  = unsafe.Offsetof(cpu{}.detourRegsAddr)
	offRegs      = unsafe.Offsetof(cpu{}.detourRegs)

	offGuard       = unsafe.Offsetof(cpu{}.hit) + unsafe.Offsetof(HitState{}.Guard)
	offHitRegs     = unsafe.Offsetof(cpu{}.hit) + unsafe.Offsetof(HitState{}.Regs)
	offTop         = unsafe.Offsetof(cpu{}.hit) + unsafe.Offsetof(HitState{}.Top)
	offCurrent     = unsafe.Offsetof(cpu{}.hit) + unsafe.Offsetof(HitState{}.Current)
	offCountOffset = unsafe.Offsetof(cpu{}.hit) + unsafe.Offsetof(HitState{}.CountOffset)
	offInstance    = unsafe.Offsetof(cpu{}.hit) + unsafe.Offsetof(HitState{}.Instance)
	offLocksAt     = unsafe.Offsetof(cpu{}.hit) + unsafe.Offsetof(HitState{}.LocksAt)
	offLocks       = unsafe.Offsetof(cpu{}.hit) + unsafe.Offsetof(HitState{}.Locks)
)

// detourRegisters are the general registers but SP, by their numbers, and where Regs
// has them.
var detourRegisters = [...]struct {
	reg int
	off uintptr
}{
	{0, unsafe.Offsetof(Regs{}.AX)}, {1, unsafe.Offsetof(Regs{}.CX)}, {2, unsafe.Offsetof(Regs{}.DX)}, {3, unsafe.Offsetof(Regs{}.BX)},
	{5, unsafe.Offsetof(Regs{}.BP)}, {6, unsafe.Offsetof(Regs{}.SI)}, {7, unsafe.Offsetof(Regs{}.DI)}, {8, unsafe.Offsetof(Regs{}.R8)},
	{9, unsafe.Offsetof(Regs{}.R9)}, {10, unsafe.Offsetof(Regs{}.R10)}, {11, unsafe.Offsetof(Regs{}.R11)}, {12, unsafe.Offsetof(Regs{}.R12)},
	{13, unsafe.Offsetof(Regs{}.R13)}, {14, unsafe.Offsetof(Regs{}.R14)}, {15, unsafe.Offsetof(Regs{}.R15)},
}

// Pieces for detours: of one probe or a few, and of more.
var (
	detours      = codePool{size: 1 << 10, chunk: 1 << 20}
	largeDetours = codePool{size: 16 << 10, chunk: 1 << 20}
)

// CanDetour reports, as an error of type RegionError, why a jump cannot replace the point's
// instruction; nil if it can. Up to end no other instruction may be probed. Goroutine
// context.
func (p *Point) CanDetour(fn Function, arrivals *Arrivals) (end uintptr, err error) {
	r, err := newRegion(fn, p.addr, arrivals)
	if err != nil {
		return 0, err
	}
	return max(r.end, p.addr+uintptr(p.prologue.End)), nil
}

// NewDetour makes the code for a hit. Goroutine context.
func (p *Point) NewDetour(fn Function, arrivals *Arrivals, hit *DetourHit) (*Detour, error) {
	r, err := newRegion(fn, p.addr, arrivals)
	if err != nil {
		return nil, err
	}
	d := &Detour{region: *r, point: p, pool: &detours}
	for _, q := range hit.Probes {
		d.tls = d.tls || q.TLS
	}
	// The first pass only finds the length.
	code, err := d.assemble(p.addr, hit)
	if err != nil {
		return nil, cannot("%v", err)
	}
	if len(code) > int(detours.size-ownerSize) {
		d.pool = &largeDetours
	}
	if len(code) > int(largeDetours.size-ownerSize) {
		return nil, cannot("too many probes at one place")
	}
	return d, d.place(hit)
}

// place assembles the detour where it is to be.
func (d *Detour) place(hit *DetourHit) error {
	var err error
	if d.piece, err = d.pool.alloc(d.addr, uintptr(unsafe.Pointer(d))); err != nil {
		return cannot("%v", err)
	}
	code, err := d.assemble(d.piece, hit)
	if err != nil {
		d.pool.release(d.piece)
		return cannot("%v", err)
	}
	d.size = len(code)
	copy(unsafe.Slice(at[byte](d.piece), len(code)), code)
	return nil
}

// NewFollower makes the code for a return probe that is hit by breakpoint: hits may go on at
// its CallAddr, and it goes on at ResumeAddr, which must not be 0. Nothing jumps to it. Goroutine
// context.
func (p *Point) NewFollower(hit *DetourHit) (*Detour, error) {
	d := &Detour{region: region{addr: p.addr, end: p.next}, point: p, pool: &detours, follower: true}
	if err := d.place(hit); err != nil {
		return nil, err
	}
	p.follower = d
	return d, nil
}

// Range is where the detour's code is. Goroutine context.
func (d *Detour) Range() (lo, hi uintptr) { return d.piece, d.piece + uintptr(d.size) }

// Region is what the jump replaces. Goroutine context.
func (d *Detour) Region() (lo, hi uintptr) { return d.addr, d.end }

// CallAddr is where a hit by breakpoint goes on to do all that the detour does. Goroutine
// context.
func (d *Detour) CallAddr() uintptr { return d.called }

// CopyAddr is where to go on at after a hit by breakpoint, while text is being
// switched. Goroutine context.
func (d *Detour) CopyAddr() uintptr { return d.copied }

func (d *Detour) assemble(base uintptr, hit *DetourHit) ([]byte, error) {
	a := &assembler{base: base}
	d.moves, d.after = nil, nil
	if d.point.prologue.Kind != inst.PrologueNone && !d.follower {
		d.stackCheck(a, true)
	}
	if countsOnly(hit) {
		d.count(a, hit)
	} else {
		d.hit(a, hit)
	}
	return a.code, a.err
}

func countsOnly(hit *DetourHit) bool {
	for _, p := range hit.Probes {
		if p.Handler != nil {
			return false
		}
	}
	return true
}

// count is the detour of probes that do nothing but count: no other code runs, so it
// needs no guard.
func (d *Detour) count(a *assembler, hit *DetourHit) {
	a.bytes(0x51) // PUSHQ CX
	a.bytes(0x9c) // PUSHFQ
	a.loadGS(offCountOffset, regCX)
	for _, p := range hit.Probes {
		a.incCX(uint64(p.Handled))
	}
	a.bytes(0x9d) // POPFQ
	a.bytes(0x59) // POPQ CX
	d.copy(a)
}

// hit is the detour of probes with handlers.
func (d *Detour) hit(a *assembler, hit *DetourHit) {
	d.called = a.pc()
	a.bytes(0x9c) // PUSHFQ
	a.bytes(0xfa) // CLI
	a.cmpGS0(offGuard)
	inside := a.jumpIfLater(conditionNE)
	var followed label
	if hit.Follow != nil {
		followed = hit.Follow.follow(a, &hit.Probes[0])
	}

	saveRegisters(a, d.addr, d.tls)
	a.storeImmGS(uint64(hit.Guard), offGuard)
	for _, p := range hit.Probes {
		if p.Locks {
			noteLocks(a)
			break
		}
	}
	a.bytes(0xfc) // CLD

	type leave struct {
		from label
		next uintptr
	}
	var leaves []leave
	for i, p := range hit.Probes {
		if i > 0 {
			a.loadGS(offRegsAddr, regBX)
		}
		a.storeImmGS(uint64(p.Current), offCurrent)
		a.loadImm(uint64(p.Probe), regAX)
		a.compare0(p.Off)
		skip := a.jumpIfLater(conditionNE)
		a.loadGS(offCountOffset, regCX)
		a.incCX(uint64(p.Handled))
		if p.Handler != nil {
			a.loadImm(uint64(uintptr(p.Handler)), regDX)
			a.call(*(*uintptr)(p.Handler))
			a.bytes(0x84, 0xc0) // TESTB AL, AL
			leaves = append(leaves, leave{a.jumpIfLater(conditionNE), a.pc()})
		}
		a.here(skip)
		d.after = append(d.after, a.pc())
	}
	a.storeImmGS(0, offGuard)
	if d.tls {
		restoreTLS(a)
	}
	restoreRegisters(a)
	a.pushGS(offRegs + unsafe.Offsetof(Regs{}.Flags))
	if hit.Follow != nil {
		a.here(followed)
	}
	a.bytes(0x9d) // POPFQ
	d.execute(a)

	// A handler that goes elsewhere.
	var away []label
	for _, l := range leaves {
		a.here(l.from)
		a.loadGS(offRegsAddr, regAX)
		a.loadImm(uint64(*(*uintptr)(unsafe.Pointer(hit.Leave))), regDX)
		a.call(**(**uintptr)(unsafe.Pointer(hit.Leave)))
		a.bytes(0x84, 0xc0) // TESTB AL, AL
		a.jumpIf(conditionE, l.next)
		away = append(away, a.jumpLater())
	}
	for _, l := range away {
		a.here(l)
	}
	leaveTo(a)

	a.here(inside)
	a.bytes(0x50) // PUSHQ AX
	a.bytes(0x51) // PUSHQ CX
	a.loadGS(offCountOffset, regCX)
	for _, p := range hit.Probes {
		a.loadImm(uint64(p.Probe), regAX)
		a.compare0(p.Off)
		skip := a.jumpIfLater(conditionNE)
		a.countMissed(p.Missed)
		a.here(skip)
	}
	a.bytes(0x59, 0x58, 0x9d) // POPQ CX; POPQ AX; POPFQ
	a.jump(d.copied)
}

// saveRegisters saves the registers, with flags and pc, in the processor's Regs, and goes to
// the trap stack as gsignal; tls: also for code that asks for g by its slot. The flags are
// on the stack, and interrupts disabled.
func saveRegisters(a *assembler, pc uintptr, tls bool) {
	a.popGS(offRegs + unsafe.Offsetof(Regs{}.Flags))
	a.storeGS(regSP, offRegs+unsafe.Offsetof(Regs{}.SP))
	for _, r := range detourRegisters {
		a.storeGS(r.reg, offRegs+r.off)
	}
	a.storeImmGS(uint64(pc), offRegs+unsafe.Offsetof(Regs{}.PC))
	a.loadTLS(regAX)
	a.storeGS(regAX, offRegs+unsafe.Offsetof(Regs{}.G))

	// To the trap stack, below what is on it: traps may call what is probed.
	a.cmpGS(regSP, offTrapHi)
	elsewhere := a.jumpIfLater(conditionA)
	a.cmpGS(regSP, offTrapLo)
	elsewhere2 := a.jumpIfLater(conditionBE)
	a.bytes(0x48, 0x81, 0xec) // SUBQ $128, SP
	a.imm32(128)
	a.bytes(0x48, 0x83, 0xe4, 0xf0) // ANDQ $~15, SP
	nested := a.jumpLater()
	a.here(elsewhere)
	a.here(elsewhere2)
	a.loadGS(offDetourTop, regSP)
	a.here(nested)

	a.loadGS(offTrapG, regR14)
	if tls {
		a.storeTLS(regR14)
	}
	a.storeGS(regSP, offTop)
	a.loadGS(offRegsAddr, regBX)
	a.storeGS(regBX, offHitRegs)
}

// restoreRegisters loads what the detour has saved, but for the flags.
func restoreRegisters(a *assembler) {
	for _, r := range detourRegisters {
		a.loadGS(offRegs+r.off, r.reg)
	}
	a.loadGS(offRegs+unsafe.Offsetof(Regs{}.SP), regSP)
}

// noteLocks puts the count of runtime locks in HitState.Locks.
func noteLocks(a *assembler) {
	a.loadGS(offLocksAt, regAX)
	a.bytes(0x8b, 0x00) // MOVL (AX), AX
	a.gs(0x89, false, regAX, offLocks)
}

// restoreTLS puts the interrupted g in its slot.
func restoreTLS(a *assembler) {
	a.loadGS(offRegs+unsafe.Offsetof(Regs{}.G), regAX)
	a.storeTLS(regAX)
}

// leaveTo restores all registers and goes on at the PC in Regs, for which it uses the
// stack.
func leaveTo(a *assembler) {
	restoreTLS(a)
	restoreRegisters(a)
	a.pushGS(offRegs + unsafe.Offsetof(Regs{}.PC))
	a.pushGS(offRegs + unsafe.Offsetof(Regs{}.Flags))
	a.bytes(0x9d, 0xc3) // POPFQ; RET
}

// countMissed is incCX without the use of DX.
func (a *assembler) countMissed(addr uintptr) {
	if uint64(addr) > 1<<31-1 {
		a.loadImm(uint64(addr), regAX)
		a.bytes(0x48, 0xff, 0x04, 0x08) // INCQ (AX)(CX*1)
		return
	}
	a.incCX(uint64(addr))
}

// stackCheck copies the instructions of a stack check: with its branches, or without.
func (d *Detour) stackCheck(a *assembler, branches bool) {
	end := d.addr + uintptr(d.point.prologue.End)
	for pc := d.addr; pc < end; {
		i, err := inst.Decode(OriginalText(pc))
		if err != nil {
			a.err = err
			return
		}
		if i.Flow != inst.FlowJcc {
			d.plain(a, placed{pc, i})
		} else if branches {
			a.jumpIf(i.Condition(), i.Target(pc))
		}
		pc += uintptr(i.Len)
	}
}

// execute lets the instruction be executed: the last part of a detour.
func (d *Detour) execute(a *assembler) {
	if d.follower {
		d.copied = d.point.resume
		a.jump(d.copied)
		return
	}
	d.copy(a)
}

// copy executes the instructions that the jump replaced.
func (d *Detour) copy(a *assembler) {
	d.copied = a.pc()
	back := d.end
	from := d.addr
	if d.point.prologue.Kind != inst.PrologueNone {
		d.stackCheck(a, false)
		from = d.addr + uintptr(d.point.prologue.End)
		back = max(back, from)
	}
	for _, i := range d.insns {
		if i.addr >= from {
			d.displaced(a, i)
		}
	}
	if last := d.insns[len(d.insns)-1]; last.addr < from || last.FallsThrough() && last.Flow != inst.FlowCall && last.Flow != inst.FlowCallInd {
		a.jump(back)
	}
}

// displaced copies an instruction of the region, so that it does there what it did.
func (d *Detour) displaced(a *assembler, i placed) {
	target := func() uintptr { return i.Target(i.addr) }
	next := i.addr + uintptr(i.Len)
	code := OriginalText(i.addr)[:i.Len]
	switch i.Flow {
	case inst.FlowJmp:
		a.jump(target())
	case inst.FlowJcc:
		a.jumpIf(i.Condition(), target())
	case inst.FlowLoop:
		a.bytes(code[:i.ImmOff]...)
		a.bytes(2, 0xeb, jumpSize) // to the long jump; past it
		a.jump(target())
	case inst.FlowCall:
		a.pushImm(next)
		a.jump(target())
	case inst.FlowCallInd:
		if i.HasSIB && i.SIB&7 == regSP && i.Rex&inst.RexB == 0 || i.ModRM>>6 == 3 && i.ModRM&7 == regSP && i.Rex&inst.RexB == 0 {
			a.err = cannot("a call by way of the stack pointer")
			return
		}
		a.pushImm(next)
		lo := a.pc()
		a.bytes(code...)
		moved := a.code[len(a.code)-len(code):]
		modRM := bytes.IndexByte(moved, 0xff) + 1
		moved[modRM] = moved[modRM]&^0x38 | 4<<3 // JMP
		if err := i.Relocate(moved, i.addr, lo); err != nil {
			a.err = err
		}
		d.moves = append(d.moves, move{lo, a.pc(), i.addr, true})
	default:
		d.plain(a, i)
	}
}

// plain copies an instruction that runs anywhere.
func (d *Detour) plain(a *assembler, i placed) {
	lo := a.pc()
	a.bytes(OriginalText(i.addr)[:i.Len]...)
	if err := i.Relocate(a.code[len(a.code)-int(i.Len):], i.addr, lo); err != nil {
		a.err = err
	}
	d.moves = append(d.moves, move{lo, a.pc(), i.addr, false})
}

// pushImm is PUSHQ $v.
func (a *assembler) pushImm(v uintptr) {
	if v > 1<<31-1 {
		a.err = inst.ErrReach
	}
	a.bytes(0x68)
	a.imm32(uint32(v))
}

// original makes r, an exception in the detour, one of the instruction that stands for.
//
//go:nosplit
func (d *Detour) original(r *Regs) bool {
	for i := range d.moves {
		if m := &d.moves[i]; m.lo <= uintptr(r.PC) && uintptr(r.PC) < m.hi {
			r.PC = uint64(m.addr)
			if m.pushed {
				r.SP += 8
			}
			return true
		}
	}
	return false
}

// Moved makes code that is to go on inside the region, where the jump is, go on at the
// copy. Trap context.
//
//go:nosplit
func (d *Detour) Moved(r *Regs) {
	pc := uintptr(r.PC)
	if pc <= d.addr || pc >= d.end {
		return
	}
	for i := range d.moves {
		if m := &d.moves[i]; m.addr == pc && m.lo >= d.copied {
			r.PC = uint64(m.lo)
			return
		}
	}
}

// AbandonDetour drops the handler of the probe with the given index that the
// detour has called, in which r is an exception, when r's handler returns: the detour goes
// on with the next probe. top is HitState.Top. Trap context.
//
//go:nosplit
func (d *Detour) AbandonDetour(r *Regs, top uintptr, index int) {
	c := cpuOf(r)
	c.abandon(r, top)
	r.SP = uint64(top)
	r.PC = uint64(*(*uintptr)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(d.after)), uintptr(index)*unsafe.Sizeof(uintptr(0)))))
	if !d.tls {
		r.G = c.detourRegs.G
	}
}

// InDetour reports whether outer are the registers that a detour saved. Trap context.
//
//go:nosplit
func InDetour(outer *Regs) bool { return outer == &cpuOf(outer).detourRegs }

// initDetours prepares c for detours.
func (c *cpu) initDetours() {
	c.detourTop = c.trapHi - 64 // the handlers' spill slots are above
	c.detourRegsAddr = uintptr(unsafe.Pointer(&c.detourRegs))
	c.detourRegs = Regs{CPU: c.id, Vector: uint64(VectorBreakpoint), CS: selectorCode, SS: selectorData}
	c.hitAddr = uintptr(unsafe.Pointer(&c.hit))
	(*HitState)(unsafe.Pointer(&c.hit)).LocksAt = c.locks
}
