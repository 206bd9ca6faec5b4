package amd64

import (
	"sync"
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

// Poke replaces code at addr while all processors run: INT3 first, so that none
// executes a mixture, then the rest, then the first byte, the processors
// synchronized after each step. One that meets the INT3 waits (see Poking), unless
// it belongs to a probe.
//
// What Poke itself runs cannot be replaced by it. Goroutine context.
func Poke(addr uintptr, code []byte) {
	pokeMu.Lock()
	defer pokeMu.Unlock()
	if len(code) > 1 {
		poking = addr
		*at[byte](addr) = breakpoint
		SyncCores()
		copy(unsafe.Slice(at[byte](addr+1), len(code)-1), code[1:])
		SyncCores()
	}
	*at[byte](addr) = code[0]
	SyncCores()
	poking = 0
}

var (
	pokeMu sync.Mutex
	poking uintptr // address of Poke's INT3
)

// Poking reports whether the breakpoint in front of which r is is one of Poke's,
// or one that is gone by now. The interrupted code is then to be executed again.
// Trap context.
func Poking(r *Regs) bool {
	addr := uintptr(r.PC)
	if addr != poking && *at[byte](addr) == breakpoint {
		return false
	}
	// The interrupted code may have interrupts disabled, and spin here until
	// the patch is complete.
	AckSync(r)
	return true
}

func textStart() uintptr
func textEnd() uintptr
