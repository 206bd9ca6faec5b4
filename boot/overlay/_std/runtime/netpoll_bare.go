// The network poller knows pipes. Besides, netpoll is where the last idle processor waits
// for a timer or an interrupt.

package runtime

import (
	"internal/runtime/atomic"
)

// barePollWake is the futex that netpoll sleeps on.
var barePollWake uint32

func netpollinit() {
	// Interrupts count as a waiter: so some idle M always sleeps in netpoll
	// rather than in stopm, and the deadlock detector keeps quiet.
	netpollAdjustWaiters(1)
}

func netpollIsPollDescriptor(fd uintptr) bool      { return false }
func netpollopen(fd uintptr, pd *pollDesc) uintptr { return barepipepoll(fd, pd) }
func netpollclose(fd uintptr) uintptr              { return barepipepoll(fd, nil) }
func netpollarm(pd *pollDesc, mode int)            { throw("runtime: unused") }

func netpollBreak() { barenetpollwake() }

//go:nosplit
func barenetpollwake() {
	atomic.Store(&barePollWake, 1)
	barewakesleepers(&barePollWake)
}

func netpoll(delay int64) (gList, int32) {
	if delay != 0 {
		baresleep(&barePollWake, 0, delay)
		atomic.Store(&barePollWake, 0)
	}
	var list gList
	delta := barepipesready(&list)
	return list, delta
}
