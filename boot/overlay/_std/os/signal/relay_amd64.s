#include "textflag.h"

// Relay(sig int), for interrupt handlers in assembly: the signal at 0(SP) of the
// caller. Clobbers AX; callers of TamaGo save AX, BX, CX and DX.
TEXT ·Relay(SB),NOSPLIT|NOFRAME,$0-8
	JMP	runtime·bareRelay(SB)
