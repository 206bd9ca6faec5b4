package amd64

import "unsafe"

// at returns what is at an address as a T. The address is not Go's: of text, of
// a stack, of a g. Nosplit.
func at[T any](addr uintptr) *T {
	return (*T)(unsafe.Add(nil, addr))
}

// store writes code at an address. It is not inlined: Go 1.26.8's compiler fails on
// a copy of constant length to an address that was a number.
//
//go:noinline
//go:nosplit
func store(addr uintptr, code []byte) {
	copy(unsafe.Slice(at[byte](addr), len(code)), code)
}
