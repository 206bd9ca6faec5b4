package kprobes

import (
	"unsafe"

	"tamaprobe/arch/amd64"
)

// preSaved calls p's pre handler with the SSE registers saved. Trap context.
//
//go:nosplit
func preSaved(p *Kprobe, r *amd64.Regs) bool {
	return amd64.CallSaved(amd64.FuncPointer(&p.PreHandler), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(r)), 0)&0xff != 0
}

// postSaved calls p's post handler likewise.
//
//go:nosplit
func postSaved(p *Kprobe, r *amd64.Regs, _ uint64) {
	amd64.CallSaved(amd64.FuncPointer(&p.PostHandler), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(r)), 0)
}

// faultSaved calls p's fault handler likewise.
//
//go:nosplit
func faultSaved(p *Kprobe, r *amd64.Regs) bool {
	return amd64.CallSaved(amd64.FuncPointer(&p.FaultHandler), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(r)), uintptr(r.Vector))&0xff != 0
}

// handleSaved calls a return handler likewise.
//
//go:nosplit
func handleSaved(ri *KretprobeInstance, r *amd64.Regs) {
	amd64.CallSaved(amd64.FuncPointer(&ri.rp.Handler), uintptr(unsafe.Pointer(ri)), uintptr(unsafe.Pointer(r)), 0)
}

// kretprobeOf returns what p is a part of: its first.
//
//go:nosplit
func kretprobeOf(p *Kprobe) *Kretprobe { return (*Kretprobe)(unsafe.Pointer(p)) }

// returnsOf returns the head of a g's list of instances.
//
//go:nosplit
func returnsOf(g uintptr) *ref[KretprobeInstance] {
	return (*ref[KretprobeInstance])(unsafe.Add(nil, g+returnsOffset))
}

// instanceOf returns the instance that i is the start of.
//
//go:nosplit
func instanceOf(i *amd64.ReturnInstance) *KretprobeInstance {
	return (*KretprobeInstance)(unsafe.Pointer(i))
}

var recordFailureFunc = recordFailure

// recordFailureSaved calls recordFailure likewise.
//
//go:nosplit
func recordFailureSaved(c *cpu, p *Kprobe, r *amd64.Regs) {
	amd64.CallSaved(amd64.FuncPointer(&recordFailureFunc), uintptr(unsafe.Pointer(c)), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(r)))
}

// count returns the processor's count of p. The bounds are not checked: the trap
// path cannot panic. Trap context.
//
//go:nosplit
func (c *cpu) count(p *Kprobe) *count {
	return (*count)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(p.counts)), c.CountOffset))
}

// offOffset is where in a Kprobe off is.
const offOffset = unsafe.Offsetof(Kprobe{}.off)

const countSize = unsafe.Sizeof(count{})

// first and next go over the probes of a list: a pointer to where they stand, and nil
// stands behind the last.
//
//go:nosplit
func (l *probeList) first() **Kprobe { return unsafe.SliceData(l.probes) }

//go:nosplit
func next(p **Kprobe) **Kprobe { return (**Kprobe)(unsafe.Add(unsafe.Pointer(p), unsafe.Sizeof(*p))) }

// index returns where in the list at is.
//
//go:nosplit
func (l *probeList) index(at **Kprobe) int {
	return int((uintptr(unsafe.Pointer(at)) - uintptr(unsafe.Pointer(l.first()))) / unsafe.Sizeof(*at))
}

// A ref is a pointer that the garbage collector does not see.
type ref[T any] uintptr

//go:nosplit
func refTo[T any](p *T) ref[T] { return ref[T](unsafe.Pointer(p)) }

//go:nosplit
func (r ref[T]) get() *T { return *(**T)(unsafe.Pointer(&r)) }

// funcPointer returns the function value in v.
func funcPointer(v any) unsafe.Pointer {
	return (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
}

// code returns the address of the machine code of a function value.
func code[F any](f F) uintptr {
	return **(**uintptr)(unsafe.Pointer(&f))
}
