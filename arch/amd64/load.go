package amd64

import "unsafe"

// TryLoad64 returns the 8 bytes at addr; ok is false if they cannot be read. Any
// context in which traps are installed.
//
//go:nosplit
func TryLoad64(addr uintptr) (v uint64, ok bool) { return tryLoad64(addr) }

// TryLoad8 is TryLoad64 for a byte.
//
//go:nosplit
func TryLoad8(addr uintptr) (v uint8, ok bool) { return tryLoad8(addr) }

// TryCopy copies from memory at addr to dst, up to the first byte that cannot be read, and
// returns how many bytes it copied. Any context in which traps are installed.
//
//go:nosplit
func TryCopy(dst []byte, addr uintptr) (n int) {
	for n+8 <= len(dst) {
		v, ok := tryLoad64(addr + uintptr(n))
		if !ok {
			break
		}
		*at[uint64](uintptr(unsafe.Pointer(&dst[n]))) = v
		n += 8
	}
	for n < len(dst) {
		v, ok := tryLoad8(addr + uintptr(n))
		if !ok {
			break
		}
		dst[n] = v
		n++
	}
	return n
}

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
