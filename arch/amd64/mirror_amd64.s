#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

// callMirrorAsm is CallMirror, called as a Go function value (see call.go): AX = fn,
// BX = *Regs, CX = size. Trap context: trap stack, current g = R14 = gsignal.
// Clobbers what Go functions do. The frame holds the arguments.
TEXT ·callMirrorAsm(SB),0,$const_MaxMirrorArgs
	NO_LOCAL_POINTERS
	MOVQ	AX, DX
	TESTQ	CX, CX
	JEQ	registers
	MOVQ	Regs_SP(BX), SI
	ADDQ	$8, SI			// past the return address
	MOVQ	SP, DI
	SHRQ	$3, CX
	REP; MOVSQ
registers:
	MOVQ	BX, R12
	MOVQ	Regs_AX(R12), AX
	MOVQ	Regs_BX(R12), BX
	MOVQ	Regs_CX(R12), CX
	MOVQ	Regs_DI(R12), DI
	MOVQ	Regs_SI(R12), SI
	MOVQ	Regs_R8(R12), R8
	MOVQ	Regs_R9(R12), R9
	MOVQ	Regs_R10(R12), R10
	MOVQ	Regs_R11(R12), R11
	MOVQ	(DX), R12
	CALL	R12
	RET
