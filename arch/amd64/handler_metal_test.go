//go:build metal

package amd64

import (
	"testing"

	_ "tamaprobe/boot/board"
	"tamaprobe/goruntime"
)

// The tests of this package have a trap handler of their own. It knows one point.
var (
	tested   *Point
	stepMode bool             // step over the instruction, instead of resuming behind it
	onHit    func(*Regs)      // called for a hit that counts; no SSE registers
	onFault  func(*Regs) bool // what a test expects of an exception; no SSE registers

	hits, steps int
	savedFlags  uint64
	savedGuard  Guard
)

//go:nosplit
func testHandler(r *Regs) {
	if Thrown(r) {
		UseReserve(r, true)
	}
	handle(r)
}

func handle(r *Regs) {
	switch Vector(r.Vector) {
	case VectorBreakpoint:
		r.PC--
		if tested == nil || uintptr(r.PC) != tested.addr {
			if Poking(r) {
				return
			}
			break
		}
		guard, counts := tested.Enter(r)
		if counts {
			hits++
			if onHit != nil {
				onHit(r)
			}
		}
		savedFlags, savedGuard = r.Flags, guard
		ok, done := true, false
		if !counts {
			tested.Restart(r, guard)
		} else if !stepMode {
			ok = tested.Resume(r, guard)
		} else if done, ok = tested.Step(r, guard); done && ok {
			steps++
			tested.Next(r, guard)
		}
		if !ok {
			Deliver(r)
		}
		return
	case VectorDebug:
		if tested.Stepped(r, savedFlags) {
			steps++
			tested.Next(r, savedGuard)
		}
		return
	case VectorPageFault, VectorGeneralProtection, VectorInvalidOpcode:
		if FixLoad(r) || onFault != nil && onFault(r) {
			return
		}
	}
	Fatal(r)
}

func install(t testing.TB) {
	t.Helper()
	SetFatalHandler(func(r *Regs) {
		print("vector ", r.Vector, " at ", r.PC, ", CR2 ", CR2(), "\n")
		goruntime.Exit(2)
	})
	if err := Install(testHandler); err != nil {
		t.Fatal(err)
	}
}

// test arms a point at addr for the duration of f.
func test(t testing.TB, addr uintptr, entry bool, f func()) {
	t.Helper()
	p := new(Point)
	if err := p.Prepare(addr, entry); err != nil {
		t.Fatal(err)
	}
	tested = p
	hits, steps = 0, 0
	SetBreakpoints([]*Point{p}, nil)
	f()
	SetBreakpoints(nil, []*Point{p})
	tested, stepMode, onHit, onFault = nil, false, nil, nil
	Release([]*Point{p})
}
