// Start of the runtime on bare metal.

#include "go_asm.h"
#include "go_tls.h"
#include "textflag.h"

// _rt0_tamago_start is where TamaGo's processor package jumps to once the
// bootstrap processor is in long mode: boot stack, interrupts enabled, no IDT,
// no g, no thread-local storage.
TEXT _rt0_tamago_start(SB),NOSPLIT|NOFRAME,$0
	CLD
	CALL	runtime·barexsave(SB)
	// bareargs is nosplit Go code: it needs a zero X15 and no g.
	XORPS	X15, X15
	XORL	R14, R14
	CALL	runtime·bareargs<ABIInternal>(SB)
	MOVQ	runtime·bareArgc(SB), DI
	MOVQ	$runtime·bareArgv(SB), SI
	JMP	runtime·rt0_go(SB)

// barexsave enables the x87, SSE and, if there, AVX state components, so that
// internal/cpu finds OSXSAVE. Clobbers AX, BX, CX, DX.
// Intel SDM vol. 1, 13.2 "Enumeration of CPU Support for XSAVE Instructions".
TEXT runtime·barexsave(SB),NOSPLIT|NOFRAME,$0
	MOVL	$1, AX
	XORL	CX, CX
	CPUID
	BTL	$26, CX			// XSAVE
	JCC	done
	MOVQ	CR4, AX
	ORQ	$(1<<18), AX		// OSXSAVE
	MOVQ	AX, CR4
	MOVL	$3, AX
	BTL	$28, CX			// AVX
	JCC	noavx
	ORL	$4, AX
noavx:
	XORL	CX, CX
	XORL	DX, DX
	XSETBV
done:
	RET

// bareTaskStart is where an application processor arrives from TamaGo's
// mailbox: R14 = &m.tls[0] (see bareclone), m.tls[1] = m.g0, SP = top of the g0
// stack, the TLS base set, interrupts enabled.
TEXT runtime·bareTaskStart(SB),NOSPLIT|TOPFRAME|NOFRAME,$0
	MOVQ	8(R14), R14
	get_tls(CX)
	MOVQ	R14, g(CX)
	XORL	BP, BP
	CLD
	CALL	runtime·barexsave(SB)
	CALL	runtime·stackcheck(SB)
	CALL	runtime·bareonline(SB)
	CALL	runtime·mstart(SB)
halt:
	CLI
	HLT
	JMP	halt
