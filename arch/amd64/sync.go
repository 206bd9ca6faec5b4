package amd64

import (
	"sync"
	"sync/atomic"
)

// SyncCores makes every other processor execute a serializing instruction, and
// returns when all have: instructions that they execute from then on are
// fetched anew (SDM vol. 3A, 8.1.3 "Handling Self- and Cross-Modifying Code").
// No processor was inside the trap path, or in code that runs with interrupts
// disabled, at the moment when it did so. Goroutine context.
func SyncCores() {
	syncMu.Lock()
	defer syncMu.Unlock()
	syncCores()
}

var syncMu sync.Mutex

// syncGeneration counts the calls. A processor acknowledges one by copying the
// count into its cpu.
var syncGeneration atomic.Uint32

// syncCores is nosplit: the goroutine stays on its processor, which does not
// interrupt itself. It waits with interrupts enabled: a processor that waits for
// this one gets on.
//
//go:nosplit
func syncCores() {
	gen := syncGeneration.Add(1)
	self := apicID()
	if c := cpus[self].Load(); c != nil {
		c.syncPC = 0 // in this function
	}
	for i := range cpus {
		if c := cpus[i].Load(); c != nil && i != int(self) {
			sendIPI(uint32(i), vectorSync)
		}
	}
	for i := range cpus {
		if c := cpus[i].Load(); c != nil && i != int(self) {
			for c.synced.Load() != gen {
				pauseCPU()
			}
		}
	}
	// apicID executed CPUID, which serializes this processor; once more, now
	// that the others are through.
	apicID()
}

// AckSync acknowledges SyncCores from the trap path: for code that spins there
// until a patch is complete, with interrupts disabled. Returning from the trap
// serializes. Trap context.
//
//go:nosplit
func AckSync(r *Regs) {
	c := cpuOf(r)
	c.syncPC = uintptr(r.PC)
	c.synced.Store(syncGeneration.Load())
}

// drain synchronizes until every processor has once been seen outside of the code that
// inside describes, which none may enter any more. syncMu is held.
func drain(inside func(pc uintptr) bool) {
	var outside [MaxCPU]bool
	for {
		syncCores()
		done := true
		for i := range cpus {
			if c := cpus[i].Load(); c != nil && !outside[i] {
				outside[i] = !inside(c.syncPC)
				done = done && outside[i]
			}
		}
		if done {
			return
		}
	}
}

// apicBase is the address of the local APIC's registers.
//
//lint:ignore U1000 assembly uses it
var apicBase uintptr

// apicAddress reads it from the processor. The base address ends at bit 51; the
// bits above it are reserved and zero.
func apicAddress() uintptr

// sendIPI sends a fixed interrupt to the processor with the given APIC ID.
func sendIPI(id uint32, vector uint32)

func syncEntryAddr() uintptr
func pauseCPU()
