#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

// callSavedAsm is CallSaved, called as a Go function value (see call.go): AX =
// fn, BX, CX, DI = its arguments; result in AX. Trap context: trap stack, current
// g = R14 = gsignal. Clobbers all integer registers, and no other.
//
// Its frame: a savedState, the saved registers with room to align them to 64
// bytes: 16 + 63 + xsaveArea, rounded up; below it the spill slots of the three
// arguments.
#define SPILL	0
#define SAVED	24
#define STATE	(SAVED+savedState__size)

TEXT ·callSavedAsm(SB),0,$2792
	NO_LOCAL_POINTERS
	MOVQ	cpu_saved(GS), SI
	MOVQ	SI, (SAVED+savedState_outer)(SP)
	LEAQ	(STATE+63)(SP), SI
	ANDQ	$~63, SI
	MOVQ	SI, (SAVED+savedState_area)(SP)
	MOVQ	AX, R8
	MOVL	·xsaveMask(SB), AX
	TESTL	AX, AX
	JEQ	fxsave
	// XRSTOR wants zeros in the header where XSAVE sets no bits.
	XORL	DX, DX
	MOVQ	DX, 512(SI)
	MOVQ	DX, 520(SI)
	MOVQ	DX, 528(SI)
	MOVQ	DX, 536(SI)
	MOVQ	DX, 544(SI)
	MOVQ	DX, 552(SI)
	MOVQ	DX, 560(SI)
	MOVQ	DX, 568(SI)
	XSAVE64	(SI)
	JMP	call
fxsave:
	FXSAVE64	(SI)
call:
	LEAQ	SAVED(SP), SI
	MOVQ	SI, cpu_saved(GS)
	XORPS	X15, X15
	MOVQ	R8, DX
	MOVQ	BX, AX
	MOVQ	CX, BX
	MOVQ	DI, CX
	MOVQ	(DX), SI
	CALL	SI
	MOVQ	AX, BX
	MOVQ	(SAVED+savedState_outer)(SP), SI
	MOVQ	SI, cpu_saved(GS)
	MOVQ	(SAVED+savedState_area)(SP), AX
	CALL	·restoreSavedAsm(SB)
	MOVQ	BX, AX
	RET

// restoreSavedAsm loads the registers that callSavedAsm saved at AX. Internal ABI,
// any context. Clobbers AX, DX, SI.
TEXT ·restoreSavedAsm(SB),NOSPLIT|NOFRAME,$0
	MOVQ	AX, SI
	MOVL	·xsaveMask(SB), AX
	TESTL	AX, AX
	JEQ	fxrstor
	XORL	DX, DX
	XRSTOR64	(SI)
	RET
fxrstor:
	FXRSTOR64	(SI)
	RET

// func xgetbv() uint32
TEXT ·xgetbv(SB),NOSPLIT,$0-4
	XORL	CX, CX
	XGETBV
	MOVL	AX, ret+0(FP)
	RET
