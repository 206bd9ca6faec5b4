package amd64

import "unsafe"

// at returns what is at an address as a T. The address is not Go's: of text, of
// a stack, of a g. Nosplit.
func at[T any](addr uintptr) *T {
	return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&addr)))
}
