#include "go_asm.h"
#include "textflag.h"

// Exception entry and exit.
//
// Nothing here may be probed: it runs before the reentrancy guard is set or after
// it is dropped.

#define IA32_GS_BASE 0xc0000101

// Distance kept below an interrupted trap stack: an emulated instruction may push
// there, where the processor put the frame.
#define GAP 64

// ENTRY defines the entry point of a vector without, ENTRYCODE of one with an
// error code. Any stack, interrupts disabled, all registers the interrupted
// code's.
#define ENTRY(name, vector) \
TEXT name(SB),NOSPLIT|NOFRAME|TOPFRAME,$0; \
	PUSHQ	$0; \
	PUSHQ	$vector; \
	JMP	·trapEntry(SB)

#define ENTRYCODE(name, vector) \
TEXT name(SB),NOSPLIT|NOFRAME|TOPFRAME,$0; \
	PUSHQ	$vector; \
	JMP	·trapEntry(SB)

ENTRY(·divideErrorEntry, 0)
ENTRY(·overflowEntry, 4)
ENTRY(·boundRangeEntry, 5)
ENTRY(·invalidOpcodeEntry, 6)
ENTRY(·deviceNotAvailableEntry, 7)
ENTRY(·reserved9Entry, 9)
ENTRYCODE(·invalidTSSEntry, 10)
ENTRYCODE(·segmentNotPresentEntry, 11)
ENTRYCODE(·stackFaultEntry, 12)
ENTRYCODE(·generalProtectionEntry, 13)
ENTRYCODE(·pageFaultEntry, 14)
ENTRY(·reserved15Entry, 15)
ENTRY(·x87Entry, 16)
ENTRYCODE(·alignmentCheckEntry, 17)
ENTRY(·simdEntry, 19)
ENTRY(·virtualizationEntry, 20)
ENTRYCODE(·controlProtectionEntry, 21)
ENTRY(·reserved22Entry, 22)
ENTRY(·reserved23Entry, 23)
ENTRY(·reserved24Entry, 24)
ENTRY(·reserved25Entry, 25)
ENTRY(·reserved26Entry, 26)
ENTRY(·reserved27Entry, 27)
ENTRY(·hypervisorInjectionEntry, 28)
ENTRYCODE(·vmmCommunicationEntry, 29)
ENTRYCODE(·securityEntry, 30)
ENTRY(·reserved31Entry, 31)

DATA	·entries+(0*8)(SB)/8, $·divideErrorEntry(SB)
DATA	·entries+(1*8)(SB)/8, $·debugEntry(SB)
DATA	·entries+(2*8)(SB)/8, $·nmiEntry(SB)
DATA	·entries+(3*8)(SB)/8, $·breakpointEntry(SB)
DATA	·entries+(4*8)(SB)/8, $·overflowEntry(SB)
DATA	·entries+(5*8)(SB)/8, $·boundRangeEntry(SB)
DATA	·entries+(6*8)(SB)/8, $·invalidOpcodeEntry(SB)
DATA	·entries+(7*8)(SB)/8, $·deviceNotAvailableEntry(SB)
DATA	·entries+(8*8)(SB)/8, $·doubleFaultEntry(SB)
DATA	·entries+(9*8)(SB)/8, $·reserved9Entry(SB)
DATA	·entries+(10*8)(SB)/8, $·invalidTSSEntry(SB)
DATA	·entries+(11*8)(SB)/8, $·segmentNotPresentEntry(SB)
DATA	·entries+(12*8)(SB)/8, $·stackFaultEntry(SB)
DATA	·entries+(13*8)(SB)/8, $·generalProtectionEntry(SB)
DATA	·entries+(14*8)(SB)/8, $·pageFaultEntry(SB)
DATA	·entries+(15*8)(SB)/8, $·reserved15Entry(SB)
DATA	·entries+(16*8)(SB)/8, $·x87Entry(SB)
DATA	·entries+(17*8)(SB)/8, $·alignmentCheckEntry(SB)
DATA	·entries+(18*8)(SB)/8, $·machineCheckEntry(SB)
DATA	·entries+(19*8)(SB)/8, $·simdEntry(SB)
DATA	·entries+(20*8)(SB)/8, $·virtualizationEntry(SB)
DATA	·entries+(21*8)(SB)/8, $·controlProtectionEntry(SB)
DATA	·entries+(22*8)(SB)/8, $·reserved22Entry(SB)
DATA	·entries+(23*8)(SB)/8, $·reserved23Entry(SB)
DATA	·entries+(24*8)(SB)/8, $·reserved24Entry(SB)
DATA	·entries+(25*8)(SB)/8, $·reserved25Entry(SB)
DATA	·entries+(26*8)(SB)/8, $·reserved26Entry(SB)
DATA	·entries+(27*8)(SB)/8, $·reserved27Entry(SB)
DATA	·entries+(28*8)(SB)/8, $·hypervisorInjectionEntry(SB)
DATA	·entries+(29*8)(SB)/8, $·vmmCommunicationEntry(SB)
DATA	·entries+(30*8)(SB)/8, $·securityEntry(SB)
DATA	·entries+(31*8)(SB)/8, $·reserved31Entry(SB)
GLOBL	·entries(SB), NOPTR, $(32*8)

// SAVE builds Regs below a frame that CX points to and that starts with the
// values of CX and AX, the vector and the error code, on the stack that SP is on.
#define SAVE \
	PUSHQ	64(CX);	/* SS */ \
	PUSHQ	56(CX);	/* SP */ \
	PUSHQ	48(CX);	/* Flags */ \
	PUSHQ	40(CX);	/* CS */ \
	PUSHQ	32(CX);	/* PC */ \
	PUSHQ	24(CX);	/* Error */ \
	PUSHQ	16(CX);	/* Vector */ \
	PUSHQ	8(CX);	/* AX */ \
	PUSHQ	0(CX);	/* CX */ \
	SAVEREST

// SAVEREST pushes what Regs has below CX.
#define SAVEREST \
	PUSHQ	DX; \
	PUSHQ	BX; \
	PUSHQ	BP; \
	PUSHQ	SI; \
	PUSHQ	DI; \
	PUSHQ	R8; \
	PUSHQ	R9; \
	PUSHQ	R10; \
	PUSHQ	R11; \
	PUSHQ	R12; \
	PUSHQ	R13; \
	PUSHQ	R14; \
	PUSHQ	R15; \
	PUSHQ	(TLS);	/* G */ \
	PUSHQ	cpu_id(GS)

// CALLGO calls the function value in a variable with AX = SP, the Regs, as
// gsignal: Go's internal ABI, with a spill slot above the return address, the
// context in DX. Abandon knows where the return address is.
#define CALLGO(variable) \
	CLD; \
	MOVQ	cpu_trapG(GS), R14; \
	MOVQ	R14, (TLS); \
	MOVQ	SP, AX; \
	SUBQ	$16, SP; \
	MOVQ	variable(SB), DX; \
	MOVQ	(DX), CX; \
	CALL	CX

// RETURN ends the exception, with SP as CALLGO left it.
#define RETURN \
	MOVQ	(16+Regs_G)(SP), AX; \
	MOVQ	AX, (TLS); \
	ADDQ	$(16+Regs_R15), SP; \
	POPQ	R15; \
	POPQ	R14; \
	POPQ	R13; \
	POPQ	R12; \
	POPQ	R11; \
	POPQ	R10; \
	POPQ	R9; \
	POPQ	R8; \
	POPQ	DI; \
	POPQ	SI; \
	POPQ	BP; \
	POPQ	BX; \
	POPQ	DX; \
	POPQ	CX; \
	POPQ	AX; \
	ADDQ	$16, SP;	/* vector, error code */ \
	IRETQ

// trapEntry saves the registers on the trap stack, calls the handler there as
// gsignal, and returns to what the handler left in the registers. Stack: vector,
// error code, RIP, CS, RFLAGS, RSP, SS.
TEXT ·trapEntry(SB),NOSPLIT|NOFRAME|TOPFRAME,$0
	PUSHQ	AX
	PUSHQ	CX
	MOVQ	SP, CX
	MOVQ	cpu_trapHi(GS), AX
	CMPQ	SP, AX
	JHI	save
	CMPQ	SP, cpu_trapLo(GS)
	JLS	save
	LEAQ	-GAP(SP), AX		// nested: go on below
save:
	MOVQ	AX, SP
	SAVE
	CALLGO(·trapHandler)
	RETURN

// PROBEENTRY is trapEntry for the two exceptions that probes are made of, as
// short as can be: it uses nothing of the interrupted code's stack, and calls the
// probe handler. What that does not claim goes on as any other exception.
// savepc pushes the PC from the frame at CX.
#define PROBEENTRY(name, vector, handler, savepc) \
TEXT name(SB),NOSPLIT|NOFRAME|TOPFRAME,$0; \
	MOVQ	CX, cpu_scratch(GS); \
	MOVQ	SP, CX; \
	MOVQ	cpu_trapHi(GS), SP; \
	CMPQ	CX, SP; \
	JHI	save; \
	CMPQ	CX, cpu_trapLo(GS); \
	JLS	save; \
	LEAQ	-GAP(CX), SP; \
save: \
	PUSHQ	32(CX);	/* SS */ \
	PUSHQ	24(CX);	/* SP */ \
	PUSHQ	16(CX);	/* Flags */ \
	PUSHQ	8(CX);	/* CS */ \
	savepc; \
	PUSHQ	$0;	/* Error */ \
	PUSHQ	$vector; \
	PUSHQ	AX; \
	PUSHQ	cpu_scratch(GS);	/* CX */ \
	SAVEREST; \
	MOVQ	cpu_hitAddr(GS), BX; \
	CALLGO(handler); \
	TESTB	AX, AX; \
	JEQ	other; \
	RETURN; \
other: \
	JMP	·otherTrap(SB)

#define SAVEPC	PUSHQ	0(CX)
#define SAVEINT3	DECQ	0(CX); SAVEPC	// the address of the INT3

PROBEENTRY(·debugEntry, 1, ·debugHandler, SAVEPC)
PROBEENTRY(·breakpointEntry, 3, ·breakpointHandler, SAVEINT3)

// otherTrap goes on with an exception that the probe handler left. SP as CALLGO
// left it.
TEXT ·otherTrap(SB),NOSPLIT|NOFRAME|TOPFRAME,$0
	ADDQ	$16, SP
	CMPQ	Regs_Vector(SP), $3
	JNE	call
	INCQ	Regs_PC(SP)
call:
	CALLGO(·trapHandler)
	RETURN

// doubleFaultEntry and machineCheckEntry do not return. Stack: their IST stack.
TEXT ·doubleFaultEntry(SB),NOSPLIT|NOFRAME|TOPFRAME,$0
	PUSHQ	$8
	JMP	·fatalEntry(SB)

TEXT ·machineCheckEntry(SB),NOSPLIT|NOFRAME|TOPFRAME,$0
	PUSHQ	$0
	PUSHQ	$18
	JMP	·fatalEntry(SB)

// fatalEntry saves the registers where it is and reports.
TEXT ·fatalEntry(SB),NOSPLIT|NOFRAME|TOPFRAME,$0
	PUSHQ	AX
	PUSHQ	CX
	MOVQ	SP, CX
	SAVE
	MOVQ	SP, AX
	MOVQ	cpu_reportHi(GS), CX
	CMPQ	SP, CX
	JHI	switch
	CMPQ	SP, cpu_reportLo(GS)
	JHI	report			// a double fault: on the report stack already
switch:
	MOVQ	CX, SP
report:
	JMP	·report(SB)

// func Fatal(r *Regs)
TEXT ·Fatal(SB),NOSPLIT|NOFRAME|TOPFRAME,$0-8
	MOVQ	r+0(FP), AX
	MOVQ	cpu_reportHi(GS), SP
	JMP	·report(SB)

// report calls the fatal handler with AX = *Regs, on the report stack, as g0,
// whose stack bounds it replaces: g0 will not run again.
TEXT ·report(SB),NOSPLIT|NOFRAME|TOPFRAME,$0
	CLD
	MOVQ	cpu_g0(GS), R14
	MOVQ	cpu_reportLo(GS), CX
	MOVQ	CX, const_gStackLo(R14)
	ADDQ	$const_stackGuard, CX
	MOVQ	CX, const_gStackguard0(R14)
	MOVQ	CX, const_gStackguard1(R14)
	MOVQ	cpu_reportHi(GS), CX
	MOVQ	CX, const_gStackHi(R14)
	MOVQ	R14, (TLS)
	XORPS	X15, X15
	SUBQ	$16, SP
	MOVQ	·fatalHandler(SB), DX
	MOVQ	(DX), CX
	CALL	CX
halt:
	CLI
	HLT
	JMP	halt

// nmiEntry: the NMI stack. It reports, or leaves the interrupt to the handler
// that was there before, with all registers as they were.
TEXT ·nmiEntry(SB),NOSPLIT|NOFRAME|TOPFRAME,$0
	CMPL	·reportNMI(SB), $0
	JNE	report
	PUSHQ	·previousNMI(SB)
	BYTE	$0xc3			// RET, which the assembler would want balanced
report:
	PUSHQ	$0
	PUSHQ	$2
	JMP	·fatalEntry(SB)

// func loadTables(c *cpu, gdt *[gdtEntries]uint64, idt *[256]gate)
// Goroutine context, must not be preempted. The selectors of code and data mean
// the same in both GDTs, so the segment registers need no reload. GS first: an
// exception needs it. Ends with CPUID, which serializes.
TEXT ·loadTables(SB),NOSPLIT,$16-24
	PUSHFQ
	CLI
	MOVQ	c+0(FP), AX
	MOVQ	AX, DX
	SHRQ	$32, DX
	MOVL	$IA32_GS_BASE, CX
	WRMSR

	MOVQ	gdt+8(FP), AX
	MOVW	$(const_gdtEntries*8-1), 8(SP)
	MOVQ	AX, 10(SP)
	LGDT	8(SP)
	MOVL	$const_selectorTSS, AX
	BYTE	$0x0f; BYTE $0x00; BYTE $0xd8	// LTR AX

	MOVQ	idt+16(FP), AX
	MOVW	$(256*16-1), 8(SP)
	MOVQ	AX, 10(SP)
	LIDT	8(SP)

	MOVQ	CR4, AX
	ORQ	$(1<<6), AX		// MCE: machine checks (SDM vol. 3A, 2.5)
	MOVQ	AX, CR4

	XORL	AX, AX
	CPUID
	POPFQ
	RET

// func currentIDT() (base, limit uintptr)
TEXT ·currentIDT(SB),NOSPLIT,$16-16
	SIDT	0(SP)
	MOVQ	2(SP), AX
	MOVQ	AX, base+0(FP)
	MOVWLZX	0(SP), AX
	MOVQ	AX, limit+8(FP)
	RET

// func cpuid(eax, ecx uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB),NOSPLIT,$0-24
	MOVL	eax+0(FP), AX
	MOVL	ecx+4(FP), CX
	CPUID
	MOVL	AX, a+8(FP)
	MOVL	BX, b+12(FP)
	MOVL	CX, c+16(FP)
	MOVL	DX, d+20(FP)
	RET
