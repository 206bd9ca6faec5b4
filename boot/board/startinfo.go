package board

import (
	"bytes"
	"io"
	"runtime"
	"runtime/goos"
	"unsafe"
)

// A StartInfo is what the boot loader said (Xen,
// public/arch-x86/hvm/start_info.h).
type StartInfo struct {
	Cmdline string
	Memory  []Memory
	Modules []Module
	RSDP    uintptr // ACPI root pointer, 0 if the loader knows none
}

// Memory is a range of physical addresses with a type of the ACPI memory map:
// 1 is usable RAM.
type Memory struct {
	Start, Size uint64
	Type        uint32
}

// A Module is a file that the boot loader put into memory (QEMU -initrd). The
// runtime leaves the memory alone.
type Module struct {
	Data    []byte
	Cmdline string
}

var info StartInfo

// Info returns what the boot loader said.
func Info() *StartInfo { return &info }

// Image is the first boot module that is an ELF file: the image that runs, if it was loaded
// with itself as module, as make run does. nil if there is none.
func Image() io.ReaderAt {
	for _, m := range info.Modules {
		if bytes.HasPrefix(m.Data, []byte("\x7fELF")) {
			return bytes.NewReader(m.Data)
		}
	}
	return nil
}

// MemoryEnd is the end of the RAM that holds the running image.
func MemoryEnd() uintptr {
	const ram = 1
	start, end := runtime.MemRegion()
	for _, m := range info.Memory {
		if m.Type == ram && m.Start <= start && start < m.Start+m.Size {
			return uintptr(m.Start + m.Size)
		}
	}
	return uintptr(end)
}

// The layouts of version 1.
type (
	hvmStartInfo struct {
		_, version, _, nrModules       uint32
		modlist, cmdline, rsdp, memmap uint64
		memmapEntries, _               uint32
	}
	hvmModule struct {
		start, size, cmdline, _ uint64
	}
	hvmMemory struct {
		start, size uint64
		typ, _      uint32
	}
)

// readStartInfo reads the structure at a physical address that the runtime has
// checked. It is called before anything can have overwritten the memory.
func readStartInfo(addr uintptr) StartInfo {
	if addr == 0 {
		return StartInfo{}
	}
	h := at[hvmStartInfo](uint64(addr))
	s := StartInfo{Cmdline: cstring(h.cmdline), RSDP: uintptr(h.rsdp)}
	if h.version >= 1 {
		for _, m := range unsafe.Slice(at[hvmMemory](h.memmap), h.memmapEntries) {
			s.Memory = append(s.Memory, Memory{m.start, m.size, m.typ})
		}
	}
	for _, m := range unsafe.Slice(at[hvmModule](h.modlist), h.nrModules) {
		s.Modules = append(s.Modules, Module{
			Data:    unsafe.Slice(at[byte](m.start), m.size),
			Cmdline: cstring(m.cmdline),
		})
	}
	return s
}

// at returns the boot loader's data at a physical address as a T.
func at[T any](addr uint64) *T {
	return (*T)(unsafe.Add(nil, goos.LowMemory(uintptr(addr))))
}

// cstring copies the string that ends in a zero byte at addr.
func cstring(addr uint64) string {
	if addr == 0 {
		return ""
	}
	n := uint64(0)
	for *at[byte](addr + n) != 0 {
		n++
	}
	return string(unsafe.Slice(at[byte](addr), n))
}
