package trap

import (
	"unsafe"

	"tamaprobe/arch/amd64"
)

// handleSaved calls n.Handle with the SSE registers saved. Trap context.
//
//go:nosplit
func handleSaved(n *Notifier, r *amd64.Regs) bool {
	return amd64.CallSaved(amd64.FuncPointer(&n.Handle), uintptr(unsafe.Pointer(r)), 0, 0)&0xff != 0
}
