#include "textflag.h"

// What is probed.

// func plain()
TEXT ·plain(SB),NOSPLIT|NOFRAME,$0
	ADDQ	$1, AX
	ADDQ	$1, AX
	RET

// func jump()
TEXT ·jump(SB),NOSPLIT|NOFRAME,$0
	JMP	end
	INT	$3
end:
	RET

// func inner()
TEXT ·inner(SB),NOSPLIT|NOFRAME,$0
	ADDQ	$1, AX
	ADDQ	$1, AX
	RET

// func tsc() uint64
TEXT ·tsc(SB),NOSPLIT,$0-8
	RDTSC
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, ret+0(FP)
	RET

// func pause()
TEXT ·pause(SB),NOSPLIT|NOFRAME,$0
	PAUSE
	RET
