package tracer

import (
	"unsafe"

	"tamaprobe/arch/amd64"
)

// Registers as event.Hit has them: amd64.Regs word by word.
const numRegs = unsafe.Sizeof(amd64.Regs{}) / 8

// registerWords are the names of registers in definitions, and their words: those of Linux's struct
// pt_regs.
var registerWords = map[string]int{
	"ax": int(unsafe.Offsetof(amd64.Regs{}.AX) / 8), "bx": int(unsafe.Offsetof(amd64.Regs{}.BX) / 8),
	"cx": int(unsafe.Offsetof(amd64.Regs{}.CX) / 8), "dx": int(unsafe.Offsetof(amd64.Regs{}.DX) / 8),
	"si": int(unsafe.Offsetof(amd64.Regs{}.SI) / 8), "di": int(unsafe.Offsetof(amd64.Regs{}.DI) / 8),
	"bp": int(unsafe.Offsetof(amd64.Regs{}.BP) / 8), "sp": int(unsafe.Offsetof(amd64.Regs{}.SP) / 8),
	"r8": int(unsafe.Offsetof(amd64.Regs{}.R8) / 8), "r9": int(unsafe.Offsetof(amd64.Regs{}.R9) / 8),
	"r10": int(unsafe.Offsetof(amd64.Regs{}.R10) / 8), "r11": int(unsafe.Offsetof(amd64.Regs{}.R11) / 8),
	"r12": int(unsafe.Offsetof(amd64.Regs{}.R12) / 8), "r13": int(unsafe.Offsetof(amd64.Regs{}.R13) / 8),
	"r14": int(unsafe.Offsetof(amd64.Regs{}.R14) / 8), "r15": int(unsafe.Offsetof(amd64.Regs{}.R15) / 8),
	"ip": int(unsafe.Offsetof(amd64.Regs{}.PC) / 8), "flags": int(unsafe.Offsetof(amd64.Regs{}.Flags) / 8),
	"cs": int(unsafe.Offsetof(amd64.Regs{}.CS) / 8), "ss": int(unsafe.Offsetof(amd64.Regs{}.SS) / 8),
}

// copyRegs copies the registers for a hit: a pointer to them must not be stored.
func copyRegs(to *[32]uint64, r *amd64.Regs) {
	*(*[numRegs]uint64)(to[:]) = *(*[numRegs]uint64)(unsafe.Pointer(r))
}

// registers are the words that mirror functions use.
var registers = struct{ ax, bx int }{registerWords["ax"], registerWords["bx"]}
