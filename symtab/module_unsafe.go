package symtab

import "unsafe"

// moduledata is the start of the runtime's type of that name (runtime/symtab.go).
// The test compares what is read through it with package runtime's answers.
type moduledata struct {
	_           unsafe.Pointer // pcHeader
	funcnametab []byte
	_           []uint32 // cutab
	_           []byte   // filetab
	_           []byte   // pctab
	pclntable   []byte
	ftab        []functab
	_           uintptr // findfunctab

	minpc, maxpc uintptr
	text         uintptr
}

type functab struct {
	entryoff uint32 // relative to text
	funcoff  uint32 // of the funcInfo in pclntable
}

// funcInfo is the start of the runtime's type _func (runtime/runtime2.go).
type funcInfo struct {
	entryOff    uint32
	nameOff     int32
	args        int32
	deferreturn uint32
	pcsp        uint32
	pcfile      uint32
	pcln        uint32
	npcdata     uint32
	cuOffset    uint32
	startLine   int32
	funcID      uint8
	flag        uint8
	_           uint8
	nfuncdata   uint8
}

// funcIDWrapper is abi.FuncIDWrapper (internal/abi/symtab.go).
const funcIDWrapper = 23

// The runtime lets packages refer to this variable, see its declaration.
//
//go:linkname lastmoduledatap runtime.lastmoduledatap
var lastmoduledatap *moduledata

func (f Func) info() *funcInfo {
	return (*funcInfo)(unsafe.Pointer(&module.pclntable[module.ftab[f.index].funcoff]))
}
