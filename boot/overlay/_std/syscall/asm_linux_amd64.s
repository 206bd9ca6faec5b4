#include "textflag.h"

#define ENOSYS 38

// func rawVforkSyscall(trap, a1, a2, a3 uintptr) (r1, err uintptr)
TEXT ·rawVforkSyscall(SB),NOSPLIT,$0-48
	MOVQ	$-1, r1+32(FP)
	MOVQ	$ENOSYS, err+40(FP)
	RET

// func rawSyscallNoError(trap, a1, a2, a3 uintptr) (r1, r2 uintptr)
TEXT ·rawSyscallNoError(SB),NOSPLIT|NOFRAME,$0-48
	JMP	runtime·barerawsyscall(SB)

// func gettimeofday(tv *Timeval) (err uintptr)
TEXT ·gettimeofday(SB),NOSPLIT|NOFRAME,$0-16
	JMP	runtime·baregettimeofday(SB)
