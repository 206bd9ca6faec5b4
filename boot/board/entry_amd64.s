#include "textflag.h"

// pvhentry is the image's entry point, PHYS32_ENTRY of the PVH note: 32-bit
// protected mode, paging off, interrupts off, EBX = the start info's address, no
// stack (Xen, docs/misc/pvh.pandoc). The bytes of this function mean the same in
// 32-bit and 64-bit mode.
//
// QEMU puts some of what the start info points to into page 0, which TamaGo does
// not map: copy the page. TamaGo's cpuinit enables interrupts before there is an
// IDT, and the firmware of PC machines leaves the 8259s unmasked: mask them.
// Clobbers AX, CX, SI, DI.
TEXT pvhentry(SB),NOSPLIT|NOFRAME,$0
	CLI
	CLD
	MOVL	$0x8000, DI		// goos.StartInfoMailbox
	MOVL	BX, (DI)
	MOVL	$0, 4(DI)
	XORL	SI, SI
	MOVL	$0xf000, DI		// goos.PageZeroCopy
	MOVL	$4096, CX
	REP;	MOVSB
	BYTE	$0xb0; BYTE $0xff	// MOVB $0xff, AL
	BYTE	$0xe6; BYTE $0x21	// OUTB 0x21: 8259 master mask
	BYTE	$0xe6; BYTE $0xa1	// OUTB 0xa1: 8259 slave mask
	JMP	cpuinit(SB)
