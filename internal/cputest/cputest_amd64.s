#include "go_asm.h"
#include "textflag.h"

GLOBL ·state(SB), NOPTR, $8	// the State of the current Run
GLOBL ·hostSP(SB), NOPTR, $8
GLOBL ·hostBP(SB), NOPTR, $8
GLOBL ·tested15(SB), NOPTR, $8

// func Run(s *State, code uintptr)
// Everything is loaded from R15, itself last. The jump to code is a return.
TEXT ·Run(SB),NOSPLIT,$0-16
	MOVQ	s+0(FP), R15
	MOVQ	code+8(FP), AX
	MOVQ	R15, ·state(SB)
	MOVQ	SP, ·hostSP(SB)
	MOVQ	BP, ·hostBP(SB)
	MOVQ	(State_R+4*8)(R15), BX
	MOVQ	AX, -8(BX)
	VMOVDQU	(State_Y+0*32)(R15), Y0
	VMOVDQU	(State_Y+1*32)(R15), Y1
	VMOVDQU	(State_Y+2*32)(R15), Y2
	VMOVDQU	(State_Y+3*32)(R15), Y3
	VMOVDQU	(State_Y+4*32)(R15), Y4
	VMOVDQU	(State_Y+5*32)(R15), Y5
	VMOVDQU	(State_Y+6*32)(R15), Y6
	VMOVDQU	(State_Y+7*32)(R15), Y7
	VMOVDQU	(State_Y+8*32)(R15), Y8
	VMOVDQU	(State_Y+9*32)(R15), Y9
	VMOVDQU	(State_Y+10*32)(R15), Y10
	VMOVDQU	(State_Y+11*32)(R15), Y11
	VMOVDQU	(State_Y+12*32)(R15), Y12
	VMOVDQU	(State_Y+13*32)(R15), Y13
	VMOVDQU	(State_Y+14*32)(R15), Y14
	VMOVDQU	(State_Y+15*32)(R15), Y15
	PUSHQ	State_Flags(R15)
	POPFQ
	MOVQ	(State_R+0*8)(R15), AX
	MOVQ	(State_R+1*8)(R15), CX
	MOVQ	(State_R+2*8)(R15), DX
	MOVQ	(State_R+3*8)(R15), BX
	MOVQ	(State_R+4*8)(R15), SP
	MOVQ	(State_R+5*8)(R15), BP
	MOVQ	(State_R+6*8)(R15), SI
	MOVQ	(State_R+7*8)(R15), DI
	MOVQ	(State_R+8*8)(R15), R8
	MOVQ	(State_R+9*8)(R15), R9
	MOVQ	(State_R+10*8)(R15), R10
	MOVQ	(State_R+11*8)(R15), R11
	MOVQ	(State_R+12*8)(R15), R12
	MOVQ	(State_R+13*8)(R15), R13
	MOVQ	(State_R+14*8)(R15), R14
	MOVQ	(State_R+15*8)(R15), R15
	LEAQ	-8(SP), SP
	BYTE	$0xc3		// RET

// done saves the state and returns from Run.
TEXT ·done(SB),NOSPLIT|NOFRAME,$0
	MOVQ	R15, ·tested15(SB)
	MOVQ	·state(SB), R15
	MOVQ	AX, (State_R+0*8)(R15)
	MOVQ	CX, (State_R+1*8)(R15)
	MOVQ	DX, (State_R+2*8)(R15)
	MOVQ	BX, (State_R+3*8)(R15)
	MOVQ	SP, (State_R+4*8)(R15)
	MOVQ	BP, (State_R+5*8)(R15)
	MOVQ	SI, (State_R+6*8)(R15)
	MOVQ	DI, (State_R+7*8)(R15)
	MOVQ	R8, (State_R+8*8)(R15)
	MOVQ	R9, (State_R+9*8)(R15)
	MOVQ	R10, (State_R+10*8)(R15)
	MOVQ	R11, (State_R+11*8)(R15)
	MOVQ	R12, (State_R+12*8)(R15)
	MOVQ	R13, (State_R+13*8)(R15)
	MOVQ	R14, (State_R+14*8)(R15)
	MOVQ	·tested15(SB), AX
	MOVQ	AX, (State_R+15*8)(R15)
	MOVQ	·hostSP(SB), SP
	PUSHFQ
	POPQ	State_Flags(R15)
	STI
	CLD
	VMOVDQU	Y0, (State_Y+0*32)(R15)
	VMOVDQU	Y1, (State_Y+1*32)(R15)
	VMOVDQU	Y2, (State_Y+2*32)(R15)
	VMOVDQU	Y3, (State_Y+3*32)(R15)
	VMOVDQU	Y4, (State_Y+4*32)(R15)
	VMOVDQU	Y5, (State_Y+5*32)(R15)
	VMOVDQU	Y6, (State_Y+6*32)(R15)
	VMOVDQU	Y7, (State_Y+7*32)(R15)
	VMOVDQU	Y8, (State_Y+8*32)(R15)
	VMOVDQU	Y9, (State_Y+9*32)(R15)
	VMOVDQU	Y10, (State_Y+10*32)(R15)
	VMOVDQU	Y11, (State_Y+11*32)(R15)
	VMOVDQU	Y12, (State_Y+12*32)(R15)
	VMOVDQU	Y13, (State_Y+13*32)(R15)
	VMOVDQU	Y14, (State_Y+14*32)(R15)
	VMOVDQU	Y15, (State_Y+15*32)(R15)
	VZEROUPPER
	MOVQ	·hostBP(SB), BP
	MOVQ	(TLS), R14
	RET

// func Done() uintptr
TEXT ·Done(SB),NOSPLIT,$0-8
	MOVQ	$·done(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func Scratch() uintptr
TEXT ·Scratch(SB),NOSPLIT,$0-8
	MOVQ	$·scratch(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

#define NOP8	BYTE $0x90; BYTE $0x90; BYTE $0x90; BYTE $0x90; BYTE $0x90; BYTE $0x90; BYTE $0x90; BYTE $0x90
#define NOP64	NOP8; NOP8; NOP8; NOP8; NOP8; NOP8; NOP8; NOP8

TEXT ·scratch(SB),NOSPLIT|NOFRAME,$0
	NOP64
	NOP64
	NOP64
	NOP64
	RET

// func Breakpoint()
TEXT ·Breakpoint(SB),NOSPLIT,$0
	BYTE	$0xcc
	RET

// func Undefined() int
TEXT ·Undefined(SB),NOSPLIT,$0-8
	UNDEF
	MOVQ	AX, ret+0(FP)
	RET

// func CopyWords(dst, src *uint64, n int)
TEXT ·CopyWords(SB),NOSPLIT,$0-24
	MOVQ	dst+0(FP), DI
	MOVQ	src+8(FP), SI
	MOVQ	n+16(FP), CX
	REP
	MOVSQ
	RET

// func TailCall(x int) int
TEXT ·TailCall(SB),NOSPLIT|NOFRAME,$0-16
	NOP
	JMP	·TailTarget(SB)

// func TailTarget(x int) int
TEXT ·TailTarget(SB),NOSPLIT|NOFRAME,$0-16
	MOVQ	x+0(FP), AX
	INCQ	AX
	MOVQ	AX, ret+8(FP)
	RET
