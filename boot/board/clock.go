package board

import (
	"math/bits"
	"runtime/goos"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/usbarmory/tamago/soc/intel/rtc"
)

// The clock is the time stamp counter, counted from the moment it was
// calibrated.
var clock = struct {
	tsc  uint64 // counter at time ns
	ns   int64
	mult uint64 // nanoseconds per count, in units of 2^-32
	hz   uint64
}{mult: 1 << 32} // 1 GHz until it is known better

// nanotime is the monotonic clock. Nosplit, no floating point: it may be called
// on any stack and from exception handlers.
//
//go:linkname nanotime runtime/goos.Nanotime
//go:nosplit
func nanotime() int64 {
	hi, lo := bits.Mul64(rdtsc()-clock.tsc, clock.mult)
	return clock.ns + int64(hi<<32|lo>>32)
}

// Nanotime returns the time since boot in nanoseconds: the runtime's monotonic
// clock. Any context.
//
//go:nosplit
func Nanotime() int64 { return nanotime() }

// Uptime is Nanotime for people.
func Uptime() time.Duration { return time.Duration(nanotime()) }

// TSC is the frequency of the time stamp counter in Hz.
func TSC() uint64 { return clock.hz }

func initClock() {
	hz := cpuidTSC(CPU.CPUID)
	if hz == 0 {
		hz = measureTSC()
	}
	now, tsc := nanotime(), rdtsc()
	clock.ns, clock.tsc = now, tsc
	clock.mult = (1e9 << 32) / hz
	clock.hz = hz
	CPU.TimerMultiplier = 1e9 / float64(hz) // for TamaGo's own use
	initTimer()
}

// cpuidTSC returns the TSC's frequency as the processor states it, 0 if it
// does not (Intel SDM vol. 3B, 18.7.3 "Determining the Processor Base
// Frequency").
func cpuidTSC(cpuid func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)) uint64 {
	const (
		leafTSC  = 0x15
		leafFreq = 0x16
	)
	top, _, _, _ := cpuid(0, 0)
	if top < leafTSC {
		return 0
	}
	den, num, crystal, _ := cpuid(leafTSC, 0)
	if den == 0 || num == 0 {
		return 0
	}
	if crystal != 0 {
		return uint64(crystal) * uint64(num) / uint64(den)
	}
	if top < leafFreq {
		return 0
	}
	mhz, _, _, _ := cpuid(leafFreq, 0) // the TSC runs at the base frequency
	return uint64(mhz&0xffff) * 1e6
}

// A reference is a counter of known frequency.
type reference struct {
	hz   uint64
	mask uint64 // the counter's width
	read func() uint64
}

// measureTSC measures the TSC's frequency against the first reference that is
// there and counts.
func measureTSC() uint64 {
	for _, r := range []*reference{pit(), pmTimer()} {
		if r == nil {
			continue
		}
		if hz := r.measure(); hz != 0 {
			return hz
		}
	}
	print("board: no reference for the clock, assuming a TSC of 1 GHz\n")
	return 1e9
}

// measure counts for 25 ms. Returns 0 if the reference does not move.
func (r *reference) measure() uint64 {
	window := r.hz / 40
	c0, t0 := r.sample()
	for spins := 0; ; spins++ {
		c1, t1 := r.sample()
		if n := (c1 - c0) & r.mask; n >= window {
			hi, lo := bits.Mul64(t1-t0, r.hz)
			hz, _ := bits.Div64(hi, lo, n)
			return hz
		}
		if c1 == c0 && spins == 1000 {
			return 0
		}
	}
}

// sample reads the reference and the TSC at the same time, as well as one can
// where either read may be interrupted for long (a virtual machine): the best
// of several tries.
func (r *reference) sample() (count, tsc uint64) {
	best := ^uint64(0)
	for range 5 {
		before := rdtsc()
		c := r.read()
		after := rdtsc()
		if d := after - before; d < best {
			best, count, tsc = d, c, before+d/2
		}
	}
	return count, tsc
}

// pit returns channel 2 of the 8254, free running. Its gate is bit 0 of port
// 61h; bit 1 would make it audible.
func pit() *reference {
	const (
		channel2   = 0x42
		command    = 0x43
		gate       = 0x61
		mode0      = 2<<6 | 3<<4 // channel 2, low byte then high byte, one shot
		latch      = 2 << 6
		hz         = 1193182
		fullPeriod = 0xff
	)
	out8(gate, in8(gate)&^2|1)
	out8(command, mode0)
	out8(channel2, fullPeriod)
	out8(channel2, fullPeriod)
	return &reference{hz: hz, mask: 0xffff, read: func() uint64 {
		out8(command, latch)
		lo := in8(channel2)
		return -uint64(uint16(in8(channel2))<<8 | uint16(lo)) // it counts down
	}}
}

// pmTimer returns the ACPI power management timer, nil if there is none.
func pmTimer() *reference {
	port := fadt(info.RSDP).pmTimer
	if port == 0 {
		return nil
	}
	return &reference{hz: 3579545, mask: 0xffffff, read: func() uint64 {
		return uint64(in32(port))
	}}
}

// initWallClock reads the real time clock. An update of the clock's registers,
// which lasts up to 2 ms, makes them unreadable.
func initWallClock() {
	clk := &rtc.RTC{Location: time.UTC}
	for range 1000 {
		t0, err := clk.Now()
		if err != nil {
			continue
		}
		if t1, err := clk.Now(); err == nil && t0.Equal(t1) {
			goos.WallClock = t0.UnixNano() - nanotime()
			return
		}
	}
}
