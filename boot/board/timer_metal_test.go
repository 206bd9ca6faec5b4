//go:build metal

package board

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// Sleeps of a few nanoseconds, for which a processor that idles sets its timer to a few counts.
// If they were still there when the timer becomes periodic again, it would tick every 48 ns: QEMU
// does nothing else from then on.
func TestShortSleeps(t *testing.T) {
	var wg sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		wg.Go(func() {
			for i := range 100_000 {
				time.Sleep(time.Duration(i % 4000))
			}
		})
	}
	wg.Wait()
}
