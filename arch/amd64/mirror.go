package amd64

import "unsafe"

// MaxMirrorArgs is the most that CallMirror can copy of the arguments on the stack, in
// bytes.
const MaxMirrorArgs = 1024

// CallMirror calls a Go function value with the arguments of the function at whose entry
// r is: those in registers, and a copy of size bytes of those on the stack, a
// multiple of 8. r and the stack stay as they are. The SSE registers are those
// of the caller. Trap context.
//
//go:nosplit
func CallMirror(fn unsafe.Pointer, r *Regs, size uintptr) { callMirror(fn, r, size) }
