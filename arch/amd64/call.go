package amd64

import "unsafe"

// Assembly that the trap path calls.
//
// Go code that calls an assembly function does so through an ABI wrapper, which
// zeroes X15 afterwards. In the trap path X15 is the interrupted code's. So the
// trap path calls assembly as function values, which the compiler calls by its
// internal ABI (cmd/compile/abi-internal.md): arguments and results in AX, BX, CX,
// DI, ..., R14 = g, and no wrapper. The *Code variables hold the addresses of the
// code, set in assembly.

var (
	callSaved    = funcAt[func(fn unsafe.Pointer, a, b, c uintptr) uintptr](&callSavedCode)
	callMirror   = funcAt[func(fn unsafe.Pointer, r *Regs, size uintptr)](&callMirrorCode)
	restoreSaved = funcAt[func(area uintptr)](&restoreSavedCode)
	cpuNumber    = funcAt[func() int](&cpuNumberCode)
	readCR2      = funcAt[func() uintptr](&readCR2Code)
	tryLoad64    = funcAt[func(addr uintptr) (uint64, bool)](&tryLoad64Code)
	tryLoad8     = funcAt[func(addr uintptr) (uint8, bool)](&tryLoad8Code)
	compareFlags = funcAt[func(a, b uint64) uint64](&compareFlagsCode)
	throwing     = funcAt[func(reason string)](&throwingCode)
)

var callSavedCode, callMirrorCode, restoreSavedCode, cpuNumberCode, readCR2Code, tryLoad64Code, tryLoad8Code, tryLoadFailedCode,
	compareFlagsCode, throwingCode, throwCode uintptr

// funcAt makes a function value of code's address.
func funcAt[F any](code *uintptr) F {
	return *(*F)(unsafe.Pointer(&code))
}

// callSavedAsm is not to be called by this declaration, which only says that the
// function exists.
//
//lint:ignore U1000 assembly defines it
func callSavedAsm()

// callMirrorAsm: likewise.
//
//lint:ignore U1000 assembly defines it
func callMirrorAsm()
