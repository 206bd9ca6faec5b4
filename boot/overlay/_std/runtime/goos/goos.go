// Package goos is the contract between the runtime and what stands in for an
// operating system. Its first part is TamaGo's contract of the same name
// (github.com/usbarmory/tamago/goos), which TamaGo's processor and board
// packages fill in. Its second part, in bare.go, is what this port adds.
//
// The package must not import anything: the runtime imports it.
package goos

import "unsafe"

// Memory, in physical addresses. The initial values come from the board; the
// runtime replaces RamSize with what the boot loader's memory map says.
//
//go:linkname RamStart
//go:linkname RamSize
//go:linkname RamStackOffset
var (
	RamStart       uint64 // start of the memory that the runtime may use
	RamSize        uint64 // its size
	RamStackOffset uint64 // distance of the boot stack from its end
)

// The go command cannot assemble files of a standard package that exists only
// in an overlay (it runs the assembler in the package's folder), hence
// go:linkname, which allows functions without a body.

// Hwinit0 is called before the runtime is set up: no allocation.
//
//go:linkname Hwinit0
func Hwinit0()

// Hwinit1 is called early in the main goroutine, before any package but the
// runtime is initialized.
//
//go:linkname Hwinit1
func Hwinit1()

// InitRNG prepares GetRandomData.
//
//go:linkname InitRNG
func InitRNG()

// GetRandomData fills b with random bytes.
//
//go:linkname GetRandomData
func GetRandomData(b []byte)

// Nanotime is the monotonic clock in nanoseconds.
//
//go:linkname Nanotime
func Nanotime() int64

// Printk writes one byte to the console.
//
//go:linkname Printk
func Printk(c byte)

// Optional functions.
var (
	// Bloc, when not 0, is where the heap starts, in place of the end of
	// the image.
	Bloc uintptr

	// Exit ends the machine.
	Exit func(code int32)

	// Idle halts the processor until an interrupt, or until the given
	// time if it can set a timer. The runtime calls it with interrupts
	// disabled, so that no wake-up is lost between its last look and the
	// halt; Idle enables them in one go with halting.
	Idle func(until int64)

	// ProcID is the number of the current processor.
	ProcID func() uint64

	// Task starts fn on the next unused processor.
	Task func(sp, mp, gp, fn unsafe.Pointer)

	// Wake interrupts a processor that Idle halted.
	Wake func(procid uint64)
)

const (
	ArenaBaseOffset   = 0
	HeapAddrBits      = 40
	LogHeapArenaBytes = 22

	// StackSystem is the room below every stack's guard that belongs to
	// interrupts and exceptions.
	StackSystem = 512
)
