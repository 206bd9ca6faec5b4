#include "textflag.h"

DATA	·guardedCode+0(SB)/8, $·guardedAsm(SB)
GLOBL	·guardedCode(SB), NOPTR, $8
DATA	·abandonedCode+0(SB)/8, $·abandoned(SB)
GLOBL	·abandonedCode(SB), NOPTR, $8
DATA	·readCR2Code+0(SB)/8, $·readCR2Asm(SB)
GLOBL	·readCR2Code(SB), NOPTR, $8
DATA	·tryLoad64Code+0(SB)/8, $·tryLoad64Asm(SB)
GLOBL	·tryLoad64Code(SB), NOPTR, $8
DATA	·tryLoad8Code+0(SB)/8, $·tryLoad8Asm(SB)
GLOBL	·tryLoad8Code(SB), NOPTR, $8
DATA	·tryLoadFailedCode+0(SB)/8, $·tryLoadFailed(SB)
GLOBL	·tryLoadFailedCode(SB), NOPTR, $8

// All of these: any context, any stack, internal ABI, clobber only their results.

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
