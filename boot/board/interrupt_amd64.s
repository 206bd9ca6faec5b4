#include "go_asm.h"
#include "textflag.h"

// Interrupt handlers. Context: any stack, interrupts disabled, the interrupted
// code's g; they save what they use. A bounded part of goos.StackSystem.

#define LAPIC	0xfee00000
#define EOI	(LAPIC + 0xb0)
#define ICRL	(LAPIC + 0x300)
#define ICRH	(LAPIC + 0x310)

#define ICR_PENDING	(1 << 12)	// delivery status
#define ICR_ASSERT	(1 << 14)
#define ICR_OTHERS	(3 << 18)	// destination shorthand: all but self

// tickInterrupt ends a time slice.
TEXT ·tickInterrupt(SB),NOSPLIT|NOFRAME,$0
	PUSHQ	AX
	CALL	runtime·bareTick(SB)	// clobbers AX
	MOVL	$EOI, AX
	MOVL	$0, (AX)
	POPQ	AX
	IRETQ

// uartInterrupt relays the UART's interrupt to the console's reader and wakes
// the other processors: one of them may be the one that waits for interrupts in
// netpoll.
TEXT ·uartInterrupt(SB),NOSPLIT|NOFRAME,$0
	PUSHQ	AX
	PUSHQ	$const_signalUART
	CALL	os∕signal·Relay(SB)	// clobbers AX
	ADDQ	$8, SP
	CMPL	·others(SB), $0
	JEQ	eoi
	MOVL	$ICRL, AX
busy:
	PAUSE
	TESTL	$ICR_PENDING, (AX)
	JNE	busy
	MOVL	$(ICR_OTHERS | ICR_ASSERT | const_vectorWake), (AX)
eoi:
	MOVL	$EOI, AX
	MOVL	$0, (AX)
	POPQ	AX
	IRETQ

// func kick(procid uint64)
// Sends the wake interrupt to a processor. Nothing may come between the two
// halves of the command register: interrupt handlers use it too.
TEXT ·kick(SB),NOSPLIT,$0-8
	MOVQ	procid+0(FP), BX
	SHLL	$24, BX
	MOVL	$ICRL, CX
	MOVL	$ICRH, DX
	PUSHFQ
	CLI
busy:
	PAUSE
	TESTL	$ICR_PENDING, (CX)
	JNE	busy
	MOVL	BX, (DX)
	MOVL	$(ICR_ASSERT | const_vectorWake), (CX)
	POPFQ
	RET

// func tickInterruptAddr() uintptr
// The address of the handler itself: a Go reference would be to a wrapper.
TEXT ·tickInterruptAddr(SB),NOSPLIT,$0-8
	MOVQ	$·tickInterrupt(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func uartInterruptAddr() uintptr
TEXT ·uartInterruptAddr(SB),NOSPLIT,$0-8
	MOVQ	$·uartInterrupt(SB), AX
	MOVQ	AX, ret+0(FP)
	RET
