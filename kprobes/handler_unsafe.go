package kprobes

import (
	"unsafe"

	"tamaprobe/arch/amd64"
)

// preHandler calls p's pre handler. Trap context.
func preHandler(p *Kprobe, r *amd64.Regs) bool {
	changed, _ := amd64.Guarded(amd64.FuncPointer(&p.PreHandler), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(r)), 0)
	return changed&0xff != 0
}

// postHandler calls p's post handler. Trap context.
func postHandler(p *Kprobe, r *amd64.Regs) {
	amd64.Guarded(amd64.FuncPointer(&p.PostHandler), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(r)), 0)
}

// count returns a processor's count of p. The bounds are not checked: the trap
// path cannot panic. Trap context.
func (p *Kprobe) count(cpu uint64) *count {
	return (*count)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(p.counts)), uintptr(cpu)*unsafe.Sizeof(count{})))
}

// A ref is a pointer that the garbage collector does not see.
type ref[T any] uintptr

func refTo[T any](p *T) ref[T] { return ref[T](unsafe.Pointer(p)) }

func (r ref[T]) get() *T { return *(**T)(unsafe.Pointer(&r)) }

// code returns the address of the machine code of a function value.
func code[F any](f F) uintptr {
	return **(**uintptr)(unsafe.Pointer(&f))
}
