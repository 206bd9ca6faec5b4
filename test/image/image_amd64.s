#include "textflag.h"

// func undefined()
TEXT ·undefined(SB),NOSPLIT,$0
	UNDEF
	RET

// func divide()
// Divides by zero; compiled Go code checks before it divides.
TEXT ·divide(SB),0,$8-0
	XORL	CX, CX
	XORL	DX, DX
	MOVL	$1, AX
	DIVL	CX
	RET

// func badStack(sp uintptr)
TEXT ·badStack(SB),NOSPLIT,$0-8
	MOVQ	sp+0(FP), SP
	PUSHQ	AX
	POPQ	AX
	RET

// func overrun()
// Recursion without a stack check, down to the page at 0, which is not there. The
// stack is low memory that nothing uses.
TEXT ·overrun(SB),NOSPLIT|NOFRAME,$0
	MOVQ	$0x3000, SP
loop:
	PUSHQ	$0
	JMP	loop
