// Package trap receives the processor's exceptions and offers them to whoever
// registered for them. What nobody claims is fatal: it is reported and ends the
// machine. Breakpoints and debug exceptions are offered to the probe handlers
// first, see package amd64.
//
// The package knows nothing of probes.
package trap

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"tamaprobe/arch/amd64"
)

// A Notifier is called for exceptions of a vector.
type Notifier struct {
	Name string

	// Priority orders the notifiers of a vector: higher is earlier.
	Priority int

	// Handle returns whether it dealt with the exception: the interrupted code
	// then goes on with the registers as they are left. Trap context: on the
	// trap stack as gsignal, with interrupts disabled; it must not block,
	// allocate, or store pointers into the heap.
	Handle func(*amd64.Regs) bool

	// Integer says that Handle and what it calls use no SSE registers, which
	// then need not be saved.
	Integer bool
}

// Priorities.
const (
	PriorityFixup = 100 // faults that the trap path itself takes and expects
	PriorityProbe = 50  // probes
	PriorityGo    = 0   // run-time panics
)

// A chain holds the notifiers of a vector, highest priority first. It is never
// changed, but replaced.
type chain struct {
	notifiers []*Notifier
}

var (
	chainsMu sync.Mutex
	chains   [amd64.NumExceptions]atomic.Pointer[chain]
)

// ErrVector is returned for a vector that is not an exception.
var ErrVector = errors.New("trap: not an exception vector")

// Register adds n to the notifiers of v, behind those of the same priority.
// Goroutine context.
func Register(v amd64.Vector, n *Notifier) error {
	if v >= amd64.NumExceptions || n.Handle == nil {
		return ErrVector
	}
	chainsMu.Lock()
	defer chainsMu.Unlock()
	var c chain
	if old := chains[v].Load(); old != nil {
		c.notifiers = slices.Clone(old.notifiers)
	}
	i := 0
	for i < len(c.notifiers) && c.notifiers[i].Priority >= n.Priority {
		i++
	}
	c.notifiers = slices.Insert(c.notifiers, i, n)
	chains[v].Store(&c)
	return nil
}

// Unregister removes n from the notifiers of v. When it returns, no processor
// runs n.Handle for an exception of v, nor will. It does nothing if n is not
// registered. Goroutine context.
func Unregister(v amd64.Vector, n *Notifier) {
	if v >= amd64.NumExceptions {
		return
	}
	chainsMu.Lock()
	defer chainsMu.Unlock()
	old := chains[v].Load()
	if old == nil {
		return
	}
	i := slices.Index(old.notifiers, n)
	if i < 0 {
		return
	}
	chains[v].Store(&chain{slices.Delete(slices.Clone(old.notifiers), i, i+1)})
	amd64.SyncCores()
}

var install = sync.OnceValue(func() error {
	amd64.SetFatalHandler(report)
	for _, v := range []amd64.Vector{amd64.VectorPageFault, amd64.VectorGeneralProtection} {
		Register(v, &Notifier{Name: "load", Priority: PriorityFixup, Handle: amd64.FixLoad, Integer: true})
	}
	Register(amd64.VectorPageFault, &Notifier{Name: "go", Priority: PriorityGo, Handle: goPanic})
	Register(amd64.VectorDivideError, &Notifier{Name: "go", Priority: PriorityGo, Handle: goPanic})
	return amd64.Install(dispatch)
})

// Install takes over the processors' exceptions. It must be called when all
// processors are up; further calls do nothing. Goroutine context.
func Install() error { return install() }

// dispatch is called for every exception that the probe handlers leave. Trap
// context: no SSE registers, and no check of the stack, which may be at its end.
//
//go:nosplit
func dispatch(r *amd64.Regs) {
	if c := chains[r.Vector%amd64.NumExceptions].Load(); c != nil {
		for _, n := range c.notifiers {
			if n.Integer {
				if n.Handle(r) {
					return
				}
			} else if handleSaved(n, r) {
				return
			}
		}
	}
	amd64.Fatal(r)
}
