package trap

import (
	"unsafe"

	"tamaprobe/arch/amd64"
)

// guarded calls n.Handle with the SSE registers saved. Trap context.
func guarded(n *Notifier, r *amd64.Regs) bool {
	handled, _ := amd64.Guarded(amd64.FuncPointer(&n.Handle), uintptr(unsafe.Pointer(r)), 0, 0)
	return handled&0xff != 0
}
