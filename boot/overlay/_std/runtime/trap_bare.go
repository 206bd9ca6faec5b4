// What the handling of processor exceptions needs from the runtime, see
// runtime/goos/bare.go. On Unix this is the signal handler's job.

package runtime

import (
	"internal/abi"
	"runtime/goos"
	"unsafe"
)

//go:linkname bareSignalG runtime/goos.SignalG
//go:nosplit
func bareSignalG() uintptr { return uintptr(unsafe.Pointer(getg().m.gsignal)) }

//go:linkname bareSystemG runtime/goos.SystemG
//go:nosplit
func bareSystemG() uintptr { return uintptr(unsafe.Pointer(getg().m.g0)) }

//go:linkname bareGoid runtime/goos.Goid
//go:nosplit
func bareGoid(p uintptr) uint64 {
	if gp := baregoroutine(p); gp != nil {
		return gp.goid
	}
	return 0
}

//go:linkname bareStartPC runtime/goos.StartPC
//go:nosplit
func bareStartPC(p uintptr) uintptr {
	if gp := baregoroutine(p); gp != nil {
		return gp.startpc
	}
	return 0
}

// baregoroutine is the goroutine that the g at p is or works for.
//
//go:nosplit
func baregoroutine(p uintptr) *g {
	gp := (*g)(unsafe.Pointer(p))
	if gp == nil {
		return nil
	}
	if mp := gp.m; mp != nil && (gp == mp.g0 || gp == mp.gsignal) {
		return mp.curg
	}
	return gp
}

// bareSigpanic is what sigctxt.preparePanic does in a Unix signal handler, with
// the conditions of canpanic.
//
//go:linkname bareSigpanic runtime/goos.Sigpanic
func bareSigpanic(p uintptr, sig uint32, code, addr, pc, sp uintptr) (newpc, newsp uintptr) {
	gp := (*g)(unsafe.Pointer(p))
	if gp == nil || gp.m == nil || gp != gp.m.curg {
		return 0, 0
	}
	mp := gp.m
	if mp.locks != 0 || mp.mallocing != 0 || mp.throwing != throwTypeNone || mp.preemptoff != "" || mp.dying != 0 {
		return 0, 0
	}
	if readgstatus(gp)&^_Gscan != _Grunning || gp.syscallsp != 0 {
		return 0, 0
	}
	gp.sig = sig
	gp.sigcode0 = code
	gp.sigcode1 = addr
	gp.sigpc = pc
	if shouldPushSigpanic(gp, pc, *(*uintptr)(unsafe.Pointer(sp))) {
		sp -= 8
		*(*uintptr)(unsafe.Pointer(sp)) = pc
	}
	return abi.FuncPCABI0(sigpanic0), sp
}

// barethrow is called before the current code ends the program.
//
//go:nosplit
//go:nowritebarrierrec
func barethrow(reason string) {
	if goos.Throw != nil {
		goos.Throw(reason)
	}
}

// barethrowOnGsignal is for what cannot be done on gsignal.
//
//go:nosplit
func barethrowOnGsignal(reason string) {
	if gp := getg(); gp == gp.m.gsignal {
		barethrow(reason)
	}
}

//go:linkname bareLocks runtime/goos.Locks
//go:nosplit
func bareLocks() uintptr { return uintptr(unsafe.Pointer(&getg().m.locks)) }

//go:linkname bareCallers runtime/goos.Callers
func bareCallers(pc, sp, p uintptr, pcs []uintptr) int {
	gp := (*g)(unsafe.Pointer(p))
	if gp == nil {
		return 0
	}
	var u unwinder
	u.initAt(pc, sp, 0, gp, unwindSilentErrors|unwindTrap)
	n := tracebackPCs(&u, 0, pcs)
	if n > 0 && gp == gp.m.gsignal && findfunc(pcs[n-1]).funcID == abi.FuncID_morestack {
		// It has saved where it was called.
		u.initAt(gp.sched.pc, gp.sched.sp, 0, gp, unwindSilentErrors)
		n += tracebackPCs(&u, 0, pcs[n:])
	}
	return n
}

//go:linkname bareTraceback runtime/goos.Traceback
func bareTraceback(pc, sp, p uintptr) {
	gp := (*g)(unsafe.Pointer(p))
	if gp == nil {
		return
	}
	mp := gp.m
	if mp == nil || gp != mp.g0 && gp != mp.gsignal {
		goroutineheader(gp)
		tracebacktrap(pc, sp, 0, gp)
		return
	}
	print("runtime stack:\n")
	tracebacktrap(pc, sp, 0, gp)
	if gp = mp.curg; gp != nil {
		print("\n")
		goroutineheader(gp)
		traceback(^uintptr(0), ^uintptr(0), 0, gp)
	}
}

// barereturn returns the return address in a slot of gp's stack; of the current
// goroutine's or g's if gp is nil.
func barereturn(gp *g, slot uintptr) uintptr {
	pc := *(*uintptr)(unsafe.Pointer(slot))
	if pc != goos.Trampoline || pc == 0 {
		return pc
	}
	if gp == nil {
		gp = getg()
		if slot < gp.stack.lo || gp.stack.hi <= slot {
			gp = gp.m.curg
		}
	}
	return goos.Return(uintptr(unsafe.Pointer(gp)), gp.stack.hi-slot)
}

// barenoreturn is called when gp's calls below sp never return: a panic has been recovered
// above them, or gp ends.
func barenoreturn(gp *g, sp uintptr) {
	goos.NoReturn(uintptr(unsafe.Pointer(gp)), gp.stack.hi-sp)
}

//go:linkname bareReturns runtime/goos.Returns
//go:nosplit
func bareReturns(p uintptr) *uintptr { return &(*g)(unsafe.Pointer(p)).barereturns }
