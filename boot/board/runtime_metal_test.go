//go:build metal

package board_test

import (
	"crypto/rand"
	"crypto/sha256"
	mrand "math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tamaprobe/boot/board"
)

// The Go runtime on this machine: what differs from Linux.

type tree struct {
	l, r *tree
	_    [3]uint64
}

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{l: grow(depth - 1), r: grow(depth - 1)}
}

func (t *tree) count() int {
	if t.l == nil {
		return 1
	}
	return 1 + t.l.count() + t.r.count()
}

//go:noinline
func recurse(n int) int {
	var pad [64]int
	pad[n%64] = n
	if n == 0 {
		return 0
	}
	return recurse(n-1) + pad[n%64]
}

// TestStress does a bit of everything at once, while the number of processors and
// the garbage collector's haste change.
func TestStress(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	const workers = 24
	const rounds = 150
	ring := make([]chan int, workers)
	for i := range ring {
		ring[i] = make(chan int, 1)
	}
	var mu sync.Mutex
	m := map[int]int{}
	actions := []func(w int, rng *mrand.Rand){
		func(_ int, rng *mrand.Rand) {
			d := rng.IntN(10)
			if n := grow(d).count(); n != 1<<(d+1)-1 {
				t.Errorf("tree of depth %d has %d nodes", d, n)
			}
		},
		func(_ int, rng *mrand.Rand) { time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond) },
		func(_ int, rng *mrand.Rand) {
			mu.Lock()
			m[rng.IntN(1000)]++
			mu.Unlock()
		},
		func(w int, _ *mrand.Rand) {
			c := make(chan int)
			go func() { c <- w }()
			if v := <-c; v != w {
				t.Errorf("%d came back as %d", w, v)
			}
		},
		func(w int, _ *mrand.Rand) {
			select {
			case ring[(w+1)%workers] <- w:
			default:
			}
			select {
			case <-ring[w]:
			case <-time.After(time.Millisecond):
			}
		},
		func(_ int, rng *mrand.Rand) {
			b := make([]byte, rng.IntN(300<<10))
			for i := range b {
				if b[i] != 0 {
					t.Errorf("memory is not zero")
					break
				}
				b[i] = 0xaa
			}
		},
		func(_ int, rng *mrand.Rand) {
			n := rng.IntN(3000)
			if got := recurse(n); got != n*(n+1)/2 {
				t.Errorf("recurse(%d) = %d", n, got)
			}
		},
		func(_ int, rng *mrand.Rand) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			var a []int
			a[rng.IntN(10)] = 1
		},
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rng := mrand.New(mrand.NewPCG(uint64(w), 1))
			for range rounds {
				actions[rng.IntN(len(actions))](w, rng)
			}
		})
	}
	done := make(chan bool)
	go func() { wg.Wait(); close(done) }()
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		case <-time.After(20 * time.Millisecond):
			runtime.GOMAXPROCS(1 + i%procs)
		}
	}
}

// A goroutine that does not call anything keeps its processor; one that calls
// functions yields to the tick.
func TestTickPreempts(t *testing.T) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for !stop.Load() {
				recurse(3)
			}
		})
	}
	for range 10 {
		time.Sleep(time.Millisecond)
		runtime.GC()
	}
	stop.Store(true)
	wg.Wait()
}

// All processors run at the same time: each waits for all others without yielding.
func TestParallel(t *testing.T) {
	n := int32(runtime.GOMAXPROCS(0))
	var arrived atomic.Int32
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			arrived.Add(1)
			for arrived.Load() < n {
			}
		})
	}
	wg.Wait()
}

func TestGOMAXPROCS(t *testing.T) {
	n := runtime.NumCPU()
	defer runtime.GOMAXPROCS(n)
	if got := runtime.GOMAXPROCS(1000); got != n {
		t.Errorf("GOMAXPROCS was %d, with %d CPUs", got, n)
	}
	if got := runtime.GOMAXPROCS(0); got != n {
		t.Errorf("GOMAXPROCS is %d, with %d CPUs", got, n)
	}
	runtime.SetDefaultGOMAXPROCS()
	if got := runtime.GOMAXPROCS(0); got != n {
		t.Errorf("the default is %d, with %d CPUs", got, n)
	}
}

// A locked goroutine neither stops others nor itself.
func TestLockOSThread(t *testing.T) {
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			runtime.LockOSThread()
			time.Sleep(time.Millisecond)
			runtime.Gosched()
			if mrand.IntN(2) == 0 {
				runtime.UnlockOSThread()
			}
		})
	}
	wg.Wait()
}

func TestTimers(t *testing.T) {
	start := time.Now()
	tick := time.NewTicker(2 * time.Millisecond)
	for range 10 {
		<-tick.C
	}
	tick.Stop()
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			d := time.Duration(i) * time.Millisecond / 5
			t0 := time.Now()
			time.Sleep(d)
			if slept := time.Since(t0); slept < d {
				t.Errorf("slept %v instead of %v", slept, d)
			}
		})
	}
	wg.Wait()
	if d := time.Since(start); d < 20*time.Millisecond {
		t.Errorf("ten ticks of 2 ms in %v", d)
	}
}

// The clock does not go back, whatever processor is asked.
func TestMonotonic(t *testing.T) {
	var wg sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			last := board.Nanotime()
			for i := range 20000 {
				now := board.Nanotime()
				if now < last {
					t.Errorf("%d after %d", now, last)
					return
				}
				last = now
				if i%100 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
}

func TestRandom(t *testing.T) {
	var a, b [32]byte
	rand.Read(a[:])
	rand.Read(b[:])
	if a == b || a == [32]byte{} {
		t.Errorf("%x, %x", a, b)
	}
}

func TestSystem(t *testing.T) {
	if _, err := os.ReadFile("/etc/passwd"); err == nil || !os.IsNotExist(err) {
		t.Errorf("reading a file: %v", err)
	}
	if _, err := os.Create("/tmp/x"); err == nil {
		t.Error("created a file")
	}
	if _, err := os.StartProcess("/bin/true", nil, &os.ProcAttr{}); err == nil {
		t.Error("started a process")
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_FORK, 0, 0, 0); errno != syscall.ENOSYS {
		t.Errorf("fork: %v", errno)
	}
	if dir, err := os.Getwd(); err != nil || dir != "/" {
		t.Errorf("working directory %q, %v", dir, err)
	}
	var tv syscall.Timeval
	if err := syscall.Gettimeofday(&tv); err != nil || time.Since(time.Unix(tv.Unix())).Abs() > time.Minute {
		t.Errorf("time of day %v, %v", tv, err)
	}
}

// The heap gets all of the memory, and what it gets is zero.
func TestMemory(t *testing.T) {
	start, end := runtime.MemRegion()
	var blocks [][]byte
	for range (end - start) / 2 >> 22 {
		b := make([]byte, 4<<20)
		for i := 0; i < len(b); i += 4096 {
			if b[i] != 0 {
				t.Fatal("memory is not zero")
			}
			b[i] = 1
		}
		blocks = append(blocks, b)
	}
	runtime.KeepAlive(blocks)
}

// The AVX state belongs to the goroutine that uses it.
func TestHashes(t *testing.T) {
	data := []byte(strings.Repeat("tamaprobe", 10000))
	want := sha256.Sum256(data)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if sha256.Sum256(data) != want {
					t.Error("wrong hash")
				}
			}
		})
	}
	wg.Wait()
}

func TestInfo(t *testing.T) {
	info := board.Info()
	if info.RSDP == 0 || len(info.Memory) == 0 || !strings.Contains(info.Cmdline, "-test.") {
		t.Errorf("%+v", info)
	}
}
