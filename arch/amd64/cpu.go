package amd64

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"tamaprobe/goruntime"
)

// MaxCPU is the number of processors that can be told apart: xAPIC IDs.
const MaxCPU = 256

// reportStackSize is the size of a processor's report and machine check stacks.
const reportStackSize = 32 << 10

// nmiStackSize is the size of a processor's stack for non-maskable interrupts.
const nmiStackSize = 4 << 10

// A cpu is a processor's own data. GS points to it. Assembly knows the layout by
// go_asm.h.
type cpu struct {
	self   *cpu
	id     uint64 // APIC ID
	trapG  uintptr
	trapLo uintptr // the trap stack: trapG's
	trapHi uintptr
	g0     uintptr
	// synced is the last synchronization that this processor acknowledged.
	synced atomic.Uint32

	// syncPC is where it was then.
	syncPC uintptr

	// decided is the address of the probed comparison of a stack check that this
	// processor is about to execute, decidedBy the guard it is to use.
	decided   uintptr
	decidedBy Guard

	// hit is the state of the probe handlers, which get its address, hitAddr. It
	// starts with a HitState.
	hit     [HitStateSize / 8]uint64
	hitAddr uintptr

	// detourRegs are the registers that a detour saves, detourRegsAddr where
	// they are, and detourTop the start of the trap stack for it.
	detourRegs     Regs
	detourRegsAddr uintptr
	detourTop      uintptr

	// scratch is where the entry code keeps CX before it has a stack.
	//
	//lint:ignore U1000 assembly uses it
	scratch uint64

	// saved is the innermost CallSaved that is under way, 0 for none.
	saved uintptr

	// locks is the address of the M's count of locks.
	locks uintptr

	// loadVector and loadError are of the last fault of a TryLoad.
	loadVector, loadError uint64

	// reportLo and reportHi bound the stack that a fatal report runs on. It is
	// also the double fault stack.
	reportLo, reportHi uintptr
	reportStack        []byte

	nmiStack   [nmiStackSize]byte
	checkStack [nmiStackSize]byte // for machine checks

	gdt [gdtEntries]uint64
	tss taskState
}

// cpus are the processors by APIC ID. They are set before the processor loads
// its tables, and stay.
var cpus [MaxCPU]atomic.Pointer[cpu]

// cpuOf returns the processor that saved r.
//
//go:nosplit
func cpuOf(r *Regs) *cpu { return cpus[r.CPU%MaxCPU].Load() }

// NumCPU is the number of processors on which Install ran.
func NumCPU() int { return int(numOnline.Load()) }

// CPULimit is above the numbers of all processors, as Regs has them. Goroutine
// context, when traps are installed.
func CPULimit() int {
	limit := 0
	for i := range cpus {
		if cpus[i].Load() != nil {
			limit = i + 1
		}
	}
	return limit
}

var numOnline atomic.Int32

var (
	installMu sync.Mutex
	installed bool
)

// ErrInstall is returned by Install when the runtime lacks what it needs.
var ErrInstall = errors.New("amd64: package goruntime is not filled in")

// Install makes Tamaprobe's gates the processors' gates for exceptions 0-31, and
// handler the function they call. Interrupts 32-255 stay with the handlers that
// they had. It does so on every processor that the runtime uses: to be called
// when all are up. Goroutine context.
//
// handler runs on the trap stack, with interrupts disabled. It and what it calls
// must not use SSE registers, except in Guarded.
func Install(handler func(*Regs)) error {
	installMu.Lock()
	defer installMu.Unlock()
	if installed {
		return nil
	}
	if goruntime.SignalG == nil || goruntime.Locks == nil {
		return ErrInstall
	}
	trapHandler = handler
	initXsave()
	apicBase = apicAddress()
	saveText()
	fillIDT()
	adoptEveryCPU()
	installed = true
	return nil
}

// adoptEveryCPU loads the tables of every processor that the runtime uses.
// Goroutines cannot be tied to a processor: as many as there are processors try
// over and over until all have been met.
func adoptEveryCPU() {
	spare := make([]*cpu, runtime.GOMAXPROCS(0))
	for i := range spare {
		spare[i] = newCPU()
	}
	var wg sync.WaitGroup
	for range spare {
		wg.Go(func() {
			for NumCPU() < len(spare) {
				adopt(spare)
				// QEMU with -icount runs another processor only when this
				// one pauses.
				pauseCPU()
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
}

func newCPU() *cpu {
	c := &cpu{reportStack: make([]byte, reportStackSize)}
	c.self = c
	c.reportLo = uintptr(unsafe.Pointer(&c.reportStack[0]))
	c.reportHi = c.reportLo + reportStackSize
	c.tss = taskState{
		ist: [7]istPointer{
			istDoubleFault - 1:  newISTPointer(c.reportHi),
			istNMI - 1:          newISTPointer(stackTop(&c.nmiStack)),
			istMachineCheck - 1: newISTPointer(stackTop(&c.checkStack)),
		},
		ioMap: uint16(unsafe.Sizeof(taskState{})),
	}
	c.gdt = newGDT(&c.tss)
	return c
}

func stackTop(s *[nmiStackSize]byte) uintptr {
	return (uintptr(unsafe.Pointer(s)) + nmiStackSize) &^ 15
}

// adopt makes one of spare the current processor's, unless it has one. A switch to
// another processor must not come in between: it is nosplit, and so is all that it
// calls (goruntime's contract).
//
//go:nosplit
func adopt(spare []*cpu) {
	id := apicID()
	if cpus[id].Load() != nil {
		return
	}
	c := spare[nextSpare.Add(1)-1]
	c.id = uint64(id)
	c.trapG = goruntime.SignalG()
	c.trapLo = *at[uintptr](c.trapG + gStackLo)
	c.trapHi = *at[uintptr](c.trapG + gStackHi) &^ 15
	c.g0 = goruntime.SystemG()
	c.locks = goruntime.Locks()
	c.setTrapGuard(trapStackReserve)
	c.initDetours()
	loadTables(c, &c.gdt, &idt)
	cpus[id].Store(c)
	numOnline.Add(1)
}

// CPUNumber returns the number of the processor that executes it, as Regs has it. Trap
// context: elsewhere the answer may be out of date at once.
//
//go:nosplit
func CPUNumber() int { return cpuNumber() }

// HitStateOf returns the state of the probe handlers of the processor with a number,
// HitStateSize zeros after the HitState, nil if there is no such processor. Goroutine
// context, when traps are installed.
func HitStateOf(cpu int) unsafe.Pointer {
	if c := cpus[cpu].Load(); c != nil {
		return unsafe.Pointer(&c.hit)
	}
	return nil
}

var nextSpare atomic.Int32

// The runtime's g, for assembly.
const (
	gStackLo     = goruntime.GStackLo
	gStackHi     = goruntime.GStackHi
	gStackguard0 = goruntime.GStackguard0
	gStackguard1 = goruntime.GStackguard1

	// stackGuard is the distance of a stack's guard from its end: the
	// runtime's constant of that name, without StackSystem.
	stackGuard = 928
)
