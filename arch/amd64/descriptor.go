package amd64

import "unsafe"

// Segments. The selectors are TamaGo's, so that code that runs now need not
// reload them; the task state segment is new.
const (
	selectorCode = 0x08
	selectorData = 0x10
	selectorTSS  = 0x18
	gdtEntries   = 5 // a TSS descriptor takes two
)

// Descriptor bits (SDM vol. 3A, 3.4.5 and 7.2.3).
const (
	codeSegment = 0x00209a0000000000 // 64-bit code, present, readable
	dataSegment = 0x0000920000000000 // data, present, writable
	tssType     = 0x0000890000000000 // available 64-bit TSS, present
)

// A taskState is a 64-bit TSS (SDM vol. 3A, 7.7). Its only use is the interrupt
// stack table. Its pointers are not aligned to their size.
type taskState struct {
	_     uint32
	rsp   [3]istPointer
	_     [2]uint32
	ist   [7]istPointer
	_     [2]uint32
	_     uint16
	ioMap uint16
}

type istPointer [2]uint32

func newISTPointer(addr uintptr) istPointer {
	return istPointer{uint32(addr), uint32(addr >> 32)}
}

// Entries of the interrupt stack table, counted from 1; 0 in a gate means none.
const (
	istNone = iota
	istDoubleFault
	istNMI
	istMachineCheck
)

func newGDT(tss *taskState) (gdt [gdtEntries]uint64) {
	base := uint64(uintptr(unsafe.Pointer(tss)))
	gdt[selectorCode/8] = codeSegment
	gdt[selectorData/8] = dataSegment
	gdt[selectorTSS/8] = uint64(unsafe.Sizeof(*tss)-1) | base&0xffffff<<16 | tssType | base>>24&0xff<<56
	gdt[selectorTSS/8+1] = base >> 32
	return gdt
}

// A gate is an entry of the interrupt descriptor table (SDM vol. 3A, 6.14.1).
type gate struct {
	offset0  uint16
	selector uint16
	ist      uint8
	typ      uint8
	offset1  uint16
	offset2  uint32
	_        uint32
}

const interruptGate = 0x8e // present, privilege level 0, clears IF

func newGate(handler uintptr, ist uint8) gate {
	return gate{
		offset0:  uint16(handler),
		selector: selectorCode,
		ist:      ist,
		typ:      interruptGate,
		offset1:  uint16(handler >> 16),
		offset2:  uint32(handler >> 32),
	}
}

func (g *gate) handler() uintptr {
	return uintptr(g.offset0) | uintptr(g.offset1)<<16 | uintptr(g.offset2)<<32
}

// idt is the interrupt descriptor table of all processors.
var idt [256]gate

// fillIDT starts from the table that is in force, TamaGo's.
func fillIDT() {
	base, limit := currentIDT()
	old := unsafe.Slice(at[gate](base), (limit+1)/unsafe.Sizeof(gate{}))
	copy(idt[:], old)
	previousNMI = idt[VectorNMI].handler()
	for v := range NumExceptions {
		idt[v] = newGate(entries[v], istOf(Vector(v)))
	}
	idt[vectorSync] = newGate(syncEntryAddr(), istNone)
}

func istOf(v Vector) uint8 {
	switch v {
	case VectorDoubleFault:
		return istDoubleFault
	case VectorNMI:
		return istNMI
	case VectorMachineCheck:
		return istMachineCheck
	}
	return istNone
}
