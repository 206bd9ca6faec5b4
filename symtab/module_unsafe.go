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
	text, etext  uintptr
	_            [3]uintptr // noptrdata, enoptrdata, data
	edata        uintptr
	_            [11]uintptr // bss, ..., rodata
	gofunc       uintptr
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
	// npcdata and then nfuncdata numbers of 32 bits follow: the latter are
	// offsets from gofunc.
}

// From internal/abi/symtab.go.
const (
	funcIDWrapper = 23 // FuncIDWrapper

	flagTopFrame = 1 << 0 // FuncFlagTopFrame
	flagSPWrite  = 1 << 1 // FuncFlagSPWrite
	flagAsm      = 1 << 2 // FuncFlagAsm

	funcdataArgInfo = 5 // FUNCDATA_ArgInfo
	argInfoEnd      = 0xff
	argInfoLimit    = 256 // above the length of what the compiler writes
)

// The runtime lets packages refer to this variable, see its declaration.
//
//go:linkname lastmoduledatap runtime.lastmoduledatap
var lastmoduledatap *moduledata

// funcdata returns what the function has under index i, as an address; 0 for nothing.
func (f Func) funcdata(i uint8) uintptr {
	info := f.info()
	if i >= info.nfuncdata {
		return 0
	}
	offsets := unsafe.Add(unsafe.Pointer(info), unsafe.Sizeof(*info)+uintptr(info.npcdata)*4)
	off := *(*uint32)(unsafe.Add(offsets, uintptr(i)*4))
	if off == ^uint32(0) {
		return 0
	}
	return module.gofunc + uintptr(off)
}

// ArgInfo describes how the function's arguments lie in memory, in the compiler's own
// form: functions with the same parameters have the same. It is "" if there are
// none, or the function is not compiled Go. Any context.
func (f Func) ArgInfo() string {
	addr := f.funcdata(funcdataArgInfo)
	if addr == 0 {
		return ""
	}
	p := (*byte)(unsafe.Add(nil, addr))
	n := 0
	for n < argInfoLimit && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != argInfoEnd {
		n++
	}
	return unsafe.String(p, n)
}

func (f Func) info() *funcInfo {
	return (*funcInfo)(unsafe.Pointer(&module.pclntable[module.ftab[f.index].funcoff]))
}
