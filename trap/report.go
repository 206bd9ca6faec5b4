package trap

import (
	"sync/atomic"

	"tamaprobe/arch/amd64"
	"tamaprobe/arch/amd64/inst"
	"tamaprobe/goruntime"
	"tamaprobe/symtab"
)

// The last-resort report.
//
// It assumes as little as possible: each of its parts may itself fault, and the
// report then goes on with the next part. It runs on the report stack as g0. Other
// processors keep running: one of them may hold the lock that print takes.

// exitFatal is the exit code after a report: that of a Go program that crashes.
const exitFatal = 2

// crash is the exception that is being reported.
var crash struct {
	owner atomic.Int32 // 1 + the reporting processor's number, 0 for none
	part  int          // the part of the report that runs, counted from 1
	regs  amd64.Regs
}

// report prints the report and ends the machine. A processor that has a fatal
// exception while another reports one returns, and is halted.
func report(r *amd64.Regs) {
	if crash.owner.CompareAndSwap(0, int32(r.CPU)+1) {
		crash.regs = *r
	} else if crash.owner.Load() != int32(r.CPU)+1 {
		return
	} else {
		print("[", vectorName(r.Vector), " at ")
		printHex(r.PC, 16)
		print(" while reporting]\n")
	}
	parts := []func(*amd64.Regs){reportException, reportRegisters, reportInstruction, reportTraceback}
	for crash.part < len(parts) {
		part := parts[crash.part]
		crash.part++
		part(&crash.regs)
	}
	goruntime.Exit(exitFatal)
}

func reportException(r *amd64.Regs) {
	print("\nfatal exception: ", vectorName(r.Vector), " (vector ", r.Vector, "), error code ")
	printHex(r.Error, 4)
	if r.Vector == uint64(amd64.VectorPageFault) || r.Vector == uint64(amd64.VectorDoubleFault) {
		print(", CR2 ")
		printHex(uint64(amd64.CR2()), 16)
	}
	print("\nCPU ", r.CPU, ", goroutine ", goruntime.Goid(r.G), ", at ")
	if f, ok := symtab.Find(uintptr(r.PC)); ok {
		print(f.Name(), "+0x")
		printHex(r.PC-uint64(f.Entry()), 1)
	} else {
		print("an address outside of the text")
	}
	print("\n\n")
}

func reportRegisters(r *amd64.Regs) {
	regs := [...]struct {
		name string
		v    uint64
	}{
		{"AX ", r.AX}, {"BX ", r.BX}, {"CX ", r.CX}, {"DX ", r.DX},
		{"SI ", r.SI}, {"DI ", r.DI}, {"BP ", r.BP}, {"SP ", r.SP},
		{"R8 ", r.R8}, {"R9 ", r.R9}, {"R10", r.R10}, {"R11", r.R11},
		{"R12", r.R12}, {"R13", r.R13}, {"R14", r.R14}, {"R15", r.R15},
		{"PC ", r.PC}, {"FLG", r.Flags}, {"CS ", r.CS}, {"SS ", r.SS},
	}
	for i := range regs {
		print(regs[i].name, " ")
		printHex(regs[i].v, 16)
		if i%4 == 3 {
			print("\n")
		} else {
			print("  ")
		}
	}
}

// reportInstruction prints the bytes at PC, and then the instruction, for which
// it needs memory.
func reportInstruction(r *amd64.Regs) {
	pc := r.PC
	if r.Vector == uint64(amd64.VectorBreakpoint) {
		pc-- // a trap: PC is behind the INT3
	}
	var code [inst.MaxLen]byte
	n := 0
	for n < len(code) {
		b, ok := amd64.TryLoad8(uintptr(pc) + uintptr(n))
		if !ok {
			break
		}
		code[n] = b
		n++
	}
	print("\ncode:")
	for _, b := range code[:n] {
		print(" ")
		printHex(uint64(b), 2)
	}
	print("\n      ")
	print(inst.Text(code[:n], pc, symtab.Symname), "\n")
}

func reportTraceback(r *amd64.Regs) {
	print("\n")
	goruntime.Traceback(uintptr(r.PC), uintptr(r.SP), r.G)
}

func vectorName(v uint64) string { return amd64.Vector(v).String() }

// printHex prints v with at least n digits. It does not allocate.
func printHex(v uint64, n int) {
	const digits = "0123456789abcdef"
	for n < 16 && v>>(4*n) != 0 {
		n++
	}
	for n--; n >= 0; n-- {
		d := v >> (4 * n) & 15
		print(digits[d : d+1])
	}
}
