package board

import "math"

// Every processor's local APIC timer. While the processor runs goroutines it
// ticks, which ends time slices: there is no asynchronous preemption, a tick
// makes the current goroutine yield at its next function prologue. When the
// processor idles the tick stops, and the timer is set for the next deadline.

const (
	lapicBase = 0xfee00000
	lapicLVT  = lapicBase + 0x320 // Intel SDM vol. 3A, 10.5.4 "APIC Timer"
	lapicICT  = lapicBase + 0x380 // initial count
	lapicCCT  = lapicBase + 0x390 // current count
	lapicDCR  = lapicBase + 0x3e0 // divide configuration

	lvtPeriodic = 1 << 17
	lvtMasked   = 1 << 16
	divideBy16  = 3

	tickHz = 100
)

// timerHz is the frequency of the timers after division.
var timerHz uint64

// initTimer measures the timer against the clock.
func initTimer() {
	store32(lapicDCR, divideBy16)
	store32(lapicLVT, lvtMasked)
	store32(lapicICT, math.MaxUint32)
	t0, c0 := nanotime(), load32(lapicCCT)
	for nanotime() < t0+5e6 {
	}
	t1, c1 := nanotime(), load32(lapicCCT)
	store32(lapicICT, 0)
	timerHz = uint64(c0-c1) * 1e9 / uint64(t1-t0)
}

// startTimer starts the current processor's tick.
//
//go:nosplit
func startTimer() {
	store32(lapicDCR, divideBy16)
	// It may still run for what idle had set, which must not become its period: at a few counts
	// QEMU would do nothing but tick.
	store32(lapicICT, 0)
	store32(lapicLVT, lvtPeriodic|vectorTick)
	store32(lapicICT, uint32(timerHz/tickHz))
}

// idle is goos.Idle: interrupts are disabled, it halts until one comes or until
// the given time. The timer's reach is limited; waking early is allowed.
func idle(until int64) {
	var count uint64
	if until != math.MaxInt64 {
		ns := until - nanotime()
		if ns <= 0 {
			return
		}
		ns = min(ns, 10e9)
		count = min(max(uint64(ns)*timerHz/1e9, 1), math.MaxUint32)
	}
	store32(lapicLVT, vectorTick) // one shot
	store32(lapicICT, uint32(count))
	halt()
	startTimer()
}
