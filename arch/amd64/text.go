package amd64

import (
	"unsafe"

	"tamaprobe/arch/amd64/inst"
)

// original is a copy of the text as it was before anything was patched.
var original struct {
	lo, hi uintptr
	code   []byte
}

// TextRange returns the start and the end of the image's text. Any context.
func TextRange() (lo, hi uintptr) { return textStart(), textEnd() }

func saveText() {
	original.lo, original.hi = TextRange()
	n := original.hi - original.lo
	original.code = make([]byte, n+inst.MaxLen) // an instruction may be read past the end
	copy(original.code, unsafe.Slice(at[byte](original.lo), n))
}

// OriginalText returns the code from addr on as it was before it was patched.
// addr must be in the text, and traps installed. The memory must not be changed.
// Any context.
func OriginalText(addr uintptr) []byte {
	return original.code[addr-original.lo:]
}

// originalByte returns one byte of it.
func originalByte(addr uintptr) byte { return original.code[addr-original.lo] }

// IsBreakpoint reports whether an INT3 is at addr now, and whether it belongs
// there. Any context.
func IsBreakpoint(addr uintptr) (now, original bool) {
	return *at[byte](addr) == breakpoint, originalByte(addr) == breakpoint
}

// SetBreakpoints puts INT3 in place of the instructions of the points arm, and puts
// back those of disarm. When it returns, all processors execute what is there now,
// and none is in the trap path because of what was there before. Goroutine context.
func SetBreakpoints(arm, disarm []*Point) {
	syncMu.Lock()
	defer syncMu.Unlock()
	for range 2 { // see writeText
		for _, p := range arm {
			*at[byte](p.addr) = breakpoint
		}
		for _, p := range disarm {
			*at[byte](p.addr) = p.code[0]
		}
		syncCores()
	}
}

// JumpToDetours puts jumps to the detours in the place of their instructions, where
// breakpoints are. Hits by breakpoint must go on at the detours' copies already: it waits
// until no processor is in what the jumps replace. Goroutine context.
func JumpToDetours(ds []*Detour) {
	syncMu.Lock()
	defer syncMu.Unlock()
	regions := make(map[uintptr]bool, len(ds)) // their bytes but the first
	in := make(map[uintptr]bool, len(ds))      // slots, and what leads to them
	for _, d := range ds {
		if f := d.point.follower; f != nil {
			in[f.piece] = true
		}
		for pc := d.addr + 1; pc < d.end; pc++ {
			regions[pc] = true
		}
		in[d.point.slot] = d.point.slot != 0
	}
	drain(func(pc uintptr) bool {
		slot, _ := slots.find(pc)
		return regions[pc] || in[slot] || in[pieceOf(pc)]
	})
	var jump [jumpSize]byte
	for range 2 { // see writeText
		for _, d := range ds {
			putJump(jump[:], d.addr, d.piece)
			store(d.addr+1, jump[1:])
		}
		syncCores()
	}
	for range 2 {
		for _, d := range ds {
			putJump(jump[:], d.addr, d.piece)
			store(d.addr, jump[:1])
		}
		syncCores()
	}
}

// RemoveDetours puts breakpoints where JumpToDetours put jumps, and the original
// instructions behind them. When it returns, no processor is in the detours'
// handlers, or will be. Goroutine context.
func RemoveDetours(ds []*Detour) {
	syncMu.Lock()
	defer syncMu.Unlock()
	for range 2 {
		for _, d := range ds {
			store(d.addr, int3[:])
		}
		syncCores()
	}
	for range 2 {
		for _, d := range ds {
			store(d.addr+1, OriginalText(d.addr + 1)[:jumpSize-1])
		}
		syncCores()
	}
	in := pieces(ds)
	drain(func(pc uintptr) bool {
		d := in[pieceOf(pc)]
		return d != nil && pc < d.copied
	})
}

// pieces maps detours by where they are.
func pieces(ds []*Detour) map[uintptr]*Detour {
	m := make(map[uintptr]*Detour, len(ds))
	for _, d := range ds {
		m[d.piece] = d
	}
	return m
}

// pieceOf returns the piece of a pool for detours that pc is in, 0 if it is in none.
func pieceOf(pc uintptr) uintptr {
	piece, _ := detours.find(pc)
	if piece == 0 {
		piece, _ = largeDetours.find(pc)
	}
	return piece
}

// FreeDetours gives detours back, which nothing leads to any more. Goroutine context.
func FreeDetours(ds []*Detour) {
	syncMu.Lock()
	defer syncMu.Unlock()
	in := pieces(ds)
	drain(func(pc uintptr) bool { return in[pieceOf(pc)] != nil })
	for _, d := range ds {
		d.pool.release(d.piece)
		if d.point.follower == d {
			d.point.follower = nil
		}
	}
}

// Poke replaces code at addr while all processors run: INT3 first, so that none
// executes a mixture, then the rest, then the first byte, the processors
// synchronized after each step. One that meets the INT3 waits (see Poking), unless
// it belongs to a probe.
//
// What Poke itself runs cannot be replaced by it. Goroutine context.
func Poke(addr uintptr, code []byte) {
	syncMu.Lock()
	poke(addr, code)
	syncMu.Unlock()
}

// poke is nosplit: a goroutine that yields in the middle could be kept from going
// on by others that wait for it at the INT3.
//
//go:nosplit
func poke(addr uintptr, code []byte) {
	if len(code) > 1 {
		poking = addr
		writeText(addr, int3[:])
		writeText(addr+1, code[1:])
	}
	writeText(addr, code[:1])
	poking = 0
}

var int3 = [1]byte{breakpoint}

// writeText writes code and synchronizes the processors. It writes twice: QEMU up
// to version 8.0 keeps a translation that it made of the old code while the write
// took place (its commit "accel/tcg: Always lock pages before translation" mends
// that), and would go on executing it. After the first synchronization no such
// translation is under way any more, and the second write drops those there are.
//
//go:nosplit
func writeText(addr uintptr, code []byte) {
	for range 2 {
		store(addr, code)
		syncCores()
	}
}

// poking is the address of Poke's INT3.
var poking uintptr

// Poking reports whether the breakpoint in front of which r is is one of Poke's.
// The interrupted code is then to be executed again. Trap context.
//
//go:nosplit
func Poking(r *Regs) bool {
	if uintptr(r.PC) != poking {
		return false
	}
	// The interrupted code may have interrupts disabled, and spin here until
	// the patch is complete.
	AckSync(r)
	return true
}

func textStart() uintptr
func textEnd() uintptr
