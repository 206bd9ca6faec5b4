#include "textflag.h"

// func Syscall6(num, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2, errno uintptr)
TEXT ·Syscall6<ABIInternal>(SB),NOSPLIT|NOFRAME,$0
	JMP	runtime·baresyscall<ABIInternal>(SB)
