#include "textflag.h"

// Port and memory-mapped registers, and the other instructions that Go has no
// words for. All are ABI0 leaves on any stack; they clobber what Go's ABI0 lets
// them.

// func in8(port uint16) uint8
TEXT ·in8(SB),NOSPLIT,$0-9
	MOVW	port+0(FP), DX
	XORL	AX, AX
	INB
	MOVB	AX, ret+8(FP)
	RET

// func in32(port uint16) uint32
TEXT ·in32(SB),NOSPLIT,$0-12
	MOVW	port+0(FP), DX
	INL
	MOVL	AX, ret+8(FP)
	RET

// func out8(port uint16, v uint8)
TEXT ·out8(SB),NOSPLIT,$0-3
	MOVW	port+0(FP), DX
	MOVB	v+2(FP), AX
	OUTB
	RET

// func out16(port uint16, v uint16)
TEXT ·out16(SB),NOSPLIT,$0-4
	MOVW	port+0(FP), DX
	MOVW	v+2(FP), AX
	OUTW
	RET

// func load32(addr uintptr) uint32
TEXT ·load32(SB),NOSPLIT,$0-12
	MOVQ	addr+0(FP), AX
	MOVL	(AX), AX
	MOVL	AX, ret+8(FP)
	RET

// func store32(addr uintptr, v uint32)
TEXT ·store32(SB),NOSPLIT,$0-12
	MOVQ	addr+0(FP), AX
	MOVL	v+8(FP), BX
	MOVL	BX, (AX)
	RET

// func rdtsc() uint64
// LFENCE: not before the loads and stores ahead of it (Intel SDM vol. 2B, RDTSC).
TEXT ·rdtsc(SB),NOSPLIT,$0-8
	LFENCE
	RDTSC
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, ret+0(FP)
	RET

// func enableCaches()
// Clears CR0.CD and CR0.NW, which INIT sets (Intel SDM vol. 3A, table 10-1) and
// TamaGo's startup of application processors leaves set.
TEXT ·enableCaches(SB),NOSPLIT,$0
	MOVQ	CR0, AX
	ANDQ	$~(1<<30 | 1<<29), AX
	MOVQ	AX, CR0
	RET

// func halt()
// Enables interrupts and halts until one comes. STI takes effect after the next
// instruction (Intel SDM vol. 2B, STI): none is lost in between.
TEXT ·halt(SB),NOSPLIT,$0
	STI
	HLT
	RET

// func setGate(vector int, handler uintptr)
// Writes an interrupt gate of the current IDT (Intel SDM vol. 3A, 6.14.1).
TEXT ·setGate(SB),NOSPLIT,$16-16
	SIDT	0(SP)
	MOVQ	2(SP), DI
	MOVQ	vector+0(FP), AX
	SHLQ	$4, AX
	ADDQ	AX, DI
	MOVQ	handler+8(FP), AX
	MOVW	AX, 0(DI)
	MOVW	$8, 2(DI)		// code segment
	MOVW	$0x8e00, 4(DI)		// present, interrupt gate, no IST
	SHRQ	$16, AX
	MOVW	AX, 6(DI)
	SHRQ	$16, AX
	MOVL	AX, 8(DI)
	MOVL	$0, 12(DI)
	RET
