package amd64

// TryLoad64 returns the 8 bytes at addr; ok is false if they cannot be read. Any
// context in which traps are installed.
//
//go:nosplit
func TryLoad64(addr uintptr) (v uint64, ok bool) { return tryLoad64(addr) }

// TryLoad8 is TryLoad64 for a byte.
//
//go:nosplit
func TryLoad8(addr uintptr) (v uint8, ok bool) { return tryLoad8(addr) }

// FixLoad makes a failed load of TryLoad64 or TryLoad8 report so, if r is the
// fault that it took. Trap context.
//
//go:nosplit
func FixLoad(r *Regs) bool {
	if pc := uintptr(r.PC); pc != tryLoad64Code && pc != tryLoad8Code {
		return false
	}
	c := cpuOf(r)
	c.loadVector, c.loadError = r.Vector, r.Error
	r.PC = uint64(tryLoadFailedCode)
	return true
}

// CR2 returns the address of the last page fault. Any context.
//
//go:nosplit
func CR2() uintptr { return readCR2() }
