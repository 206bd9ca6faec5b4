package trap

import (
	"tamaprobe/arch/amd64"
	"tamaprobe/goruntime"
)

// goPanic turns a nil dereference or a division by zero in Go code into the
// run-time panic that it is on other systems, which the code may recover from. An
// access to any other address that is not there is a bug of the kernel, and fatal.
func goPanic(r *amd64.Regs) bool {
	const nilPage = 4096 // an address below is an access through a nil pointer
	var sig uint32
	var code, addr uintptr
	switch amd64.Vector(r.Vector) {
	case amd64.VectorPageFault:
		sig, code, addr = goruntime.SIGSEGV, goruntime.SEGV_MAPERR, amd64.CR2()
		if addr >= nilPage {
			return false
		}
	case amd64.VectorDivideError:
		sig, code, addr = goruntime.SIGFPE, goruntime.FPE_INTDIV, uintptr(r.PC)
	default:
		return false
	}
	pc, sp := goruntime.Sigpanic(r.G, sig, code, addr, uintptr(r.PC), uintptr(r.SP))
	if pc == 0 {
		return false
	}
	r.PC, r.SP = uint64(pc), uint64(sp)
	r.Flags &^= amd64.FlagDF | amd64.FlagTF
	return true
}
