#include "go_asm.h"
#include "textflag.h"

#define IA32_APIC_BASE 0x1b
#define EOI	0xb0	// registers of the local APIC (SDM vol. 3A, table 10-1)
#define ICRL	0x300
#define ICRH	0x310

#define ICR_PENDING	(1 << 12)	// delivery status
#define ICR_ASSERT	(1 << 14)

// syncEntry acknowledges SyncCores. Interrupt context, any stack. IRETQ
// serializes.
TEXT ·syncEntry(SB),NOSPLIT|NOFRAME|TOPFRAME,$0
	PUSHQ	AX
	MOVQ	8(SP), AX
	MOVQ	AX, cpu_syncPC(GS)
	MOVL	·syncGeneration(SB), AX
	MOVL	AX, cpu_synced(GS)
	MOVQ	·apicBase(SB), AX
	MOVL	$0, EOI(AX)
	POPQ	AX
	IRETQ

// func syncEntryAddr() uintptr
TEXT ·syncEntryAddr(SB),NOSPLIT,$0-8
	MOVQ	$·syncEntry(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func sendIPI(id uint32, vector uint32)
// Any context. No interrupt may come between the halves of the command register:
// handlers use it too.
TEXT ·sendIPI(SB),NOSPLIT,$0-8
	MOVL	id+0(FP), BX
	SHLL	$24, BX
	MOVL	vector+4(FP), CX
	ORL	$ICR_ASSERT, CX
	MOVQ	·apicBase(SB), AX
	PUSHFQ
	CLI
busy:
	PAUSE
	TESTL	$ICR_PENDING, ICRL(AX)
	JNE	busy
	MOVL	BX, ICRH(AX)
	MOVL	CX, ICRL(AX)
	POPFQ
	RET

// func apicAddress() uintptr
TEXT ·apicAddress(SB),NOSPLIT,$0-8
	MOVL	$IA32_APIC_BASE, CX
	RDMSR
	SHLQ	$32, DX
	ORQ	DX, AX
	ANDQ	$~0xfff, AX
	MOVQ	AX, ret+0(FP)
	RET

// func pauseCPU()
TEXT ·pauseCPU(SB),NOSPLIT,$0
	PAUSE
	RET
