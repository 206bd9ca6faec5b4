// The functions that enter the kernel on Linux.

#include "go_asm.h"
#include "go_tls.h"
#include "textflag.h"

#define MSR_FS_BASE 0xc0000100

#define ENOSYS 38

// func settls()
// Sets the TLS base to DI+8: g is at -8(FS). Called with the boot stack or a
// processor's first stack, without a g. Clobbers AX, CX, DX, DI.
TEXT runtime·settls(SB),NOSPLIT,$0
	ADDQ	$8, DI
	MOVQ	DI, AX
	MOVQ	DI, DX
	SHRQ	$32, DX
	MOVL	$MSR_FS_BASE, CX
	WRMSR
	RET

// func barecli()
TEXT runtime·barecli(SB),NOSPLIT,$0
	CLI
	RET

// func baresti()
TEXT runtime·baresti(SB),NOSPLIT,$0
	STI
	RET

// func barecpuid(eax, ecx uint32) (a, b, c, d uint32)
TEXT runtime·barecpuid(SB),NOSPLIT,$0-24
	MOVL	eax+0(FP), AX
	MOVL	ecx+4(FP), CX
	CPUID
	MOVL	AX, a+8(FP)
	MOVL	BX, b+12(FP)
	MOVL	CX, c+16(FP)
	MOVL	DX, d+20(FP)
	RET

// func baretsc() uint64
TEXT runtime·baretsc(SB),NOSPLIT,$0-8
	RDTSC
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, ret+0(FP)
	RET

// bareRelay is os/signal.Relay: interrupt context, any stack, the signal at
// 8(SP) (behind the return address). Clobbers AX.
TEXT runtime·bareRelay(SB),NOSPLIT|NOFRAME,$0
	MOVQ	8(SP), AX
	LOCK
	BTSQ	AX, runtime·barePending(SB)
	MOVL	$1, runtime·bareEvents(SB)
	MOVL	$1, runtime·barePollWake(SB)
	JMP	runtime·bareTick(SB)	// let the scheduler look at it soon

// bareTick asks the goroutine that runs on this processor to yield at its next
// function prologue, see preemptone. Interrupt context, any stack. Clobbers AX.
TEXT runtime·bareTick(SB),NOSPLIT|NOFRAME,$0
	get_tls(AX)
	MOVQ	g(AX), AX
	TESTQ	AX, AX
	JEQ	done
	MOVQ	g_m(AX), AX
	TESTQ	AX, AX
	JEQ	done
	MOVQ	m_curg(AX), AX
	TESTQ	AX, AX
	JEQ	done
	MOVB	$1, g_preempt(AX)
	MOVQ	$const_stackPreempt, g_stackguard0(AX)
done:
	RET

// These have the frame of the function that they jump to.

TEXT runtime·exit(SB),NOSPLIT|NOFRAME,$0-4
	JMP	runtime·bareexit(SB)

TEXT runtime·write1(SB),NOSPLIT|NOFRAME,$0-28
	JMP	runtime·barewrite(SB)

TEXT runtime·usleep(SB),NOSPLIT|NOFRAME,$0-4
	JMP	runtime·bareusleep(SB)

TEXT runtime·gettid(SB),NOSPLIT|NOFRAME,$0-4
	JMP	runtime·baregettid(SB)

TEXT runtime·nanotime1(SB),NOSPLIT|NOFRAME,$0-8
	JMP	runtime·barenanotime(SB)

TEXT time·now<ABIInternal>(SB),NOSPLIT|NOFRAME,$0-24
	JMP	runtime·barenow<ABIInternal>(SB)

TEXT runtime·futex(SB),NOSPLIT|NOFRAME,$0-44
	JMP	runtime·barefutex(SB)

TEXT runtime·clone(SB),NOSPLIT|NOFRAME,$0-44
	JMP	runtime·bareclone(SB)

TEXT runtime·sched_getaffinity(SB),NOSPLIT|NOFRAME,$0-28
	JMP	runtime·bareaffinity(SB)

TEXT runtime·osyield(SB),NOSPLIT,$0
	PAUSE
	RET

// Threads are processors and do not end; nothing sends or handles signals the
// Unix way.

TEXT runtime·exitThread(SB),NOSPLIT|NOFRAME,$0-8
	INT	$3
	RET

TEXT runtime·raise(SB),NOSPLIT,$0
	RET

TEXT runtime·raiseproc(SB),NOSPLIT,$0
	RET

TEXT ·tgkill(SB),NOSPLIT,$0
	RET

TEXT ·getpid(SB),NOSPLIT,$0-8
	MOVQ	$1, ret+0(FP)
	RET

TEXT runtime·rtsigprocmask(SB),NOSPLIT,$0-28
	RET

TEXT runtime·rt_sigaction(SB),NOSPLIT,$0-36
	MOVL	$0, ret+32(FP)
	RET

TEXT runtime·sigaltstack(SB),NOSPLIT,$0
	RET

TEXT runtime·sigtramp(SB),NOSPLIT|TOPFRAME|NOFRAME,$0
	INT	$3

TEXT runtime·cgoSigtramp(SB),NOSPLIT,$0
	INT	$3

TEXT runtime·sigreturn__sigaction(SB),NOSPLIT,$0
	INT	$3

TEXT runtime·sigfwd(SB),NOSPLIT,$0-32
	RET

TEXT runtime·callCgoSigaction(SB),NOSPLIT,$0
	MOVL	$0, ret+24(FP)
	RET

TEXT runtime·setitimer(SB),NOSPLIT,$0-24
	RET

TEXT runtime·timer_create(SB),NOSPLIT,$0-28
	MOVL	$-ENOSYS, ret+24(FP)
	RET

TEXT runtime·timer_settime(SB),NOSPLIT,$0-28
	MOVL	$-ENOSYS, ret+24(FP)
	RET

TEXT runtime·timer_delete(SB),NOSPLIT,$0-12
	MOVL	$-ENOSYS, ret+8(FP)
	RET

// No files, no address space to manage.

TEXT runtime·open(SB),NOSPLIT,$0-20
	MOVL	$-1, ret+16(FP)
	RET

TEXT runtime·closefd(SB),NOSPLIT,$0-12
	MOVL	$-1, ret+8(FP)
	RET

TEXT runtime·read(SB),NOSPLIT,$0-28
	MOVL	$-ENOSYS, ret+24(FP)
	RET

TEXT runtime·pipe2(SB),NOSPLIT,$0-20
	MOVL	$-1, r+8(FP)
	MOVL	$-1, w+12(FP)
	MOVL	$ENOSYS, errno+16(FP)
	RET

TEXT runtime·access(SB),NOSPLIT,$0
	MOVL	$-ENOSYS, ret+16(FP)
	RET

TEXT runtime·connect(SB),NOSPLIT,$0-28
	MOVL	$-ENOSYS, ret+24(FP)
	RET

TEXT runtime·socket(SB),NOSPLIT,$0-20
	MOVL	$-ENOSYS, ret+16(FP)
	RET

TEXT runtime·sysMmap(SB),NOSPLIT,$0
	MOVQ	$0, p+32(FP)
	MOVQ	$ENOSYS, err+40(FP)
	RET

TEXT runtime·callCgoMmap(SB),NOSPLIT,$0
	MOVQ	$ENOSYS, ret+32(FP)
	RET

TEXT runtime·sysMunmap(SB),NOSPLIT,$0
	RET

TEXT runtime·callCgoMunmap(SB),NOSPLIT,$0-16
	RET

TEXT runtime·madvise(SB),NOSPLIT,$0
	MOVL	$-ENOSYS, ret+24(FP)
	RET

TEXT runtime·mincore(SB),NOSPLIT,$0-28
	MOVL	$-ENOSYS, ret+24(FP)
	RET

TEXT runtime·sbrk0(SB),NOSPLIT,$0-8
	MOVQ	$0, ret+0(FP)
	RET

// func vgetrandom1(buf *byte, length uintptr, flags uint32, state uintptr, stateSize uintptr) int
TEXT runtime·vgetrandom1<ABIInternal>(SB),NOSPLIT,$0-48
	MOVQ	$-1, AX
	RET
