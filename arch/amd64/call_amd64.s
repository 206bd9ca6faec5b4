#include "go_asm.h"
#include "textflag.h"

DATA	·callSavedCode+0(SB)/8, $·callSavedAsm(SB)
GLOBL	·callSavedCode(SB), NOPTR, $8
DATA	·callMirrorCode+0(SB)/8, $·callMirrorAsm(SB)
GLOBL	·callMirrorCode(SB), NOPTR, $8
DATA	·restoreSavedCode+0(SB)/8, $·restoreSavedAsm(SB)
GLOBL	·restoreSavedCode(SB), NOPTR, $8
DATA	·cpuNumberCode+0(SB)/8, $·cpuNumberAsm(SB)
GLOBL	·cpuNumberCode(SB), NOPTR, $8
DATA	·readCR2Code+0(SB)/8, $·readCR2Asm(SB)
GLOBL	·readCR2Code(SB), NOPTR, $8
DATA	·tryLoad64Code+0(SB)/8, $·tryLoad64Asm(SB)
GLOBL	·tryLoad64Code(SB), NOPTR, $8
DATA	·tryLoad8Code+0(SB)/8, $·tryLoad8Asm(SB)
GLOBL	·tryLoad8Code(SB), NOPTR, $8
DATA	·tryLoadFailedCode+0(SB)/8, $·tryLoadFailed(SB)
GLOBL	·tryLoadFailedCode(SB), NOPTR, $8
DATA	·compareFlagsCode+0(SB)/8, $·compareFlagsAsm(SB)
GLOBL	·compareFlagsCode(SB), NOPTR, $8
DATA	·throwingCode+0(SB)/8, $·throwingAsm(SB)
GLOBL	·throwingCode(SB), NOPTR, $8
DATA	·throwCode+0(SB)/8, $·throw(SB)
GLOBL	·throwCode(SB), NOPTR, $8

// All of these: any context, any stack, internal ABI, clobber only their results.

// cpuNumberAsm returns the number of the processor in AX.
TEXT ·cpuNumberAsm(SB),NOSPLIT|NOFRAME,$0
	MOVQ	cpu_id(GS), AX
	RET

// readCR2Asm returns the address of the last page fault in AX.
TEXT ·readCR2Asm(SB),NOSPLIT|NOFRAME,$0
	MOVQ	CR2, AX
	RET

// tryLoad64Asm and tryLoad8Asm return what is at address AX in AX, and BX = 1; or
// BX = 0 if the load faults. The load is the first instruction: FixLoad continues
// a fault there at tryLoadFailed.
TEXT ·tryLoad64Asm(SB),NOSPLIT|NOFRAME,$0
	MOVQ	(AX), AX
	MOVL	$1, BX
	RET

TEXT ·tryLoad8Asm(SB),NOSPLIT|NOFRAME,$0
	MOVBLZX	(AX), AX
	MOVL	$1, BX
	RET

TEXT ·tryLoadFailed(SB),NOSPLIT|NOFRAME,$0
	XORL	AX, AX
	XORL	BX, BX
	RET

// compareFlagsAsm returns the flags after CMPQ AX, BX in AX.
TEXT ·compareFlagsAsm(SB),NOSPLIT|NOFRAME,$0
	CMPQ	AX, BX
	PUSHFQ
	POPQ	AX
	RET

// throwingAsm is called with a string in AX, BX. On the trap stack it executes an
// undefined instruction. Clobbers nothing.
TEXT ·throwingAsm(SB),NOSPLIT|NOFRAME,$0
	CMPQ	SP, cpu_trapHi(GS)
	JHI	return
	CMPQ	SP, cpu_trapLo(GS)
	JLS	return
	JMP	·throw(SB)
return:
	RET

TEXT ·throw(SB),NOSPLIT|NOFRAME,$0
	UNDEF
	RET
