#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

// guardedAsm is Guarded, called as a Go function value (see call.go): AX = fn,
// BX, CX, DI = its arguments; results in AX, BX. Trap context: trap stack,
// current g = R14 = gsignal. Clobbers all integer registers, and no other.
//
// Its frame: the outer abort pointer, the state's address, the state with room
// to align it to 64 bytes: 16 + 63 + xsaveArea, rounded up.
#define OUTER	0
#define AREA	8
#define STATE	16

TEXT ·guardedAsm(SB),0,$2768
	NO_LOCAL_POINTERS
	MOVQ	cpu_abort(GS), SI
	MOVQ	SI, OUTER(SP)
	LEAQ	(STATE+63)(SP), SI
	ANDQ	$~63, SI
	MOVQ	SI, AREA(SP)
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
	XORPS	X15, X15
	MOVQ	R8, DX
	MOVQ	BX, AX
	MOVQ	CX, BX
	MOVQ	DI, CX
	CALL	·invoke(SB)
	MOVQ	AX, R8
	MOVQ	OUTER(SP), SI
	MOVQ	SI, cpu_abort(GS)
	MOVQ	AREA(SP), SI
	MOVL	·xsaveMask(SB), AX
	TESTL	AX, AX
	JEQ	fxrstor
	XORL	DX, DX
	XRSTOR64	(SI)
	MOVQ	R8, AX
	RET
fxrstor:
	FXRSTOR64	(SI)
	MOVQ	R8, AX
	RET

// invoke calls the function value DX with arguments AX, BX, CX, and returns
// its result in AX and BX = 1; or BX = 0 if the call is abandoned.
TEXT ·invoke(SB),NOSPLIT|NOFRAME,$0
	MOVQ	SP, cpu_abort(GS)
	SUBQ	$32, SP			// spill slots for three arguments
	MOVQ	(DX), SI
	CALL	SI
	ADDQ	$32, SP
	MOVL	$1, BX
	RET

// abandoned is where Abandon continues: SP as at the start of invoke.
TEXT ·abandoned(SB),NOSPLIT|NOFRAME,$0
	XORL	AX, AX
	XORL	BX, BX
	RET

// func xgetbv() uint32
TEXT ·xgetbv(SB),NOSPLIT,$0-4
	XORL	CX, CX
	XGETBV
	MOVL	AX, ret+0(FP)
	RET
