// Package board is the machine: a PC or one of QEMU's (q35, pc, microvm), booted
// by PVH. It fills in package runtime/goos, as TamaGo's board packages do, from
// TamaGo's drivers: importing it is enough.
//
// It brings up the clock, the serial console, all processors and their timers.
// It knows nothing of exceptions and probes.
package board

import (
	"runtime"
	"runtime/goos"
	"strconv"
	"strings"
	_ "unsafe" // for go:linkname

	"github.com/usbarmory/tamago/amd64"
	"github.com/usbarmory/tamago/soc/intel/ioapic"

	"tamaprobe/goruntime"
)

// CPU is TamaGo's processor instance.
var CPU = &amd64.CPU{TimerMultiplier: 1}

// IOAPIC is the first I/O APIC, which routes the ISA interrupts.
var IOAPIC = &ioapic.IOAPIC{Base: 0xfec00000}

// Where the image lies. The image is linked above ramStart+ramSize (see the
// Makefile), and TamaGo puts the boot stack at
//
//	ramStart + ramSize - RamStackOffset
//
// which is 16 MiB here: below the image. The runtime then sets the size from
// the memory map. TamaGo's own default needs more than 256 MiB of memory,
// hence the build tag linkramstart.
//
//go:linkname ramStart runtime/goos.RamStart
var ramStart uint64 = 1 << 20

//go:linkname ramSize runtime/goos.RamSize
var ramSize uint64 = 16 << 20

// hwinit1 runs in the main goroutine before any package is initialized. What
// packages do at initialization may need the clock and the console.
//
//go:linkname hwinit1 runtime/goos.Hwinit1
func hwinit1() {
	info = readStartInfo(goos.StartInfo)
	if v, ok := option("CRLF"); ok && v == "0" {
		console.crlf = false
	}
	console.init()
	// TamaGo knows the clock's frequency under KVM and on some processors,
	// and complains elsewhere.
	console.mute = true
	CPU.Init()
	console.mute = false
	goos.Exit = exit
	CPU.LAPIC.Enable()
	initClock()
	IOAPIC.Init()
}

func init() {
	initWallClock()
	CPU.EnableExceptions()
	setGate(vectorTick, tickInterruptAddr())
	setGate(vectorUART, uartInterruptAddr())
	startTimer()
	goos.Idle = idle
	goos.Online = online
	goos.Kick = kick
	goruntime.SignalG = goos.SignalG
	goruntime.SystemG = goos.SystemG
	goruntime.Locks = goos.Locks
	goruntime.HookThrow = func(hook func(string)) { goos.Throw = hook }
	goruntime.Callers = goos.Callers
	goruntime.Returns = goos.Returns
	goruntime.HookReturns = func(trampoline uintptr, real func(g, distance uintptr) uintptr, unwound func(g, distance uintptr)) {
		goos.Return, goos.NoReturn = real, unwound
		goos.Trampoline = trampoline
	}
	goruntime.Goid = goos.Goid
	goruntime.StartPC = goos.StartPC
	goruntime.Sigpanic = goos.Sigpanic
	goruntime.Traceback = goos.Traceback
	goruntime.Exit = exit

	n := -1 // all
	if v, ok := option("GOMAXPROCS"); ok {
		if i, err := strconv.Atoi(v); err == nil && i > 0 {
			n = i
		}
	}
	if amd64.NumCPU() == 1 {
		n = 1
	}
	CPU.InitSMP(n)
	if runtime.NumCPU() > 1 {
		others = 1
	}
}

// others is not 0 when there is more than one processor, for assembly.
//
//lint:ignore U1000 assembly uses it
var others uint32

// online runs on every application processor before it runs goroutines.
func online() {
	enableCaches()
	startTimer()
}

// option returns the value of NAME=value on the kernel command line.
func option(name string) (value string, ok bool) {
	for word := range strings.FieldsSeq(info.Cmdline) {
		if v, found := strings.CutPrefix(word, name+"="); found {
			value, ok = v, true
		}
	}
	return value, ok
}

// Implemented in port_amd64.s.
func in8(port uint16) uint8
func in32(port uint16) uint32
func out8(port uint16, v uint8)
func out16(port uint16, v uint16)
func load32(addr uintptr) uint32
func store32(addr uintptr, v uint32)
func rdtsc() uint64
func enableCaches()
func halt()
func setGate(vector int, handler uintptr)

// Implemented in interrupt_amd64.s.
func kick(procid uint64)
func tickInterruptAddr() uintptr
func uartInterruptAddr() uintptr
