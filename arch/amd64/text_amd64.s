#include "textflag.h"

// The linker's symbols for the start and the end of the text.

// func textStart() uintptr
TEXT ·textStart(SB),NOSPLIT,$0-8
	MOVQ	$runtime·text(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func textEnd() uintptr
TEXT ·textEnd(SB),NOSPLIT,$0-8
	MOVQ	$runtime·etext(SB), AX
	MOVQ	AX, ret+0(FP)
	RET
