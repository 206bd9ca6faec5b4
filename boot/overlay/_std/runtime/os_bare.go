// The operating system layer of the bare metal port.
//
// The runtime stays the linux/amd64 port. What is replaced is the layer under
// it: the functions that would enter the Linux kernel (sys_linux_amd64.s) end
// here, on a machine that has nothing but processors, memory and interrupts.
// Package runtime/goos is the contract with the hardware.
//
// There is one M for every processor, and no more: threads are processors.
// So there is no sysmon, LockOSThread has no effect, and an M that blocks
// (on a lock, or for want of work) halts its processor. An interrupt wakes it.

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	hw "runtime/goos"
	"unsafe"
)

// Implemented in sys_bare_amd64.s.
func bareTaskStart()
func barecli()
func baresti()
func barecpuid(eax, ecx uint32) (a, b, c, d uint32)
func baretsc() uint64

// The assembly of TamaGo's processor package refers to these.
//
//go:linkname systemstack
//go:linkname settls

// init runs first in the main goroutine: the place for Hwinit1 that TamaGo's
// contract asks for.
func init() {
	hw.Hwinit1()
	netpollGenericInit()
	barefilesinit()
}

// bareosinit is called by osinit.
func bareosinit() {
	hw.Hwinit0()
	if _, _, c, _ := barecpuid(1, 0); c&(1<<30) != 0 { // RDRAND
		hw.InitRNG()
		hw.GetRandomData(bareRandom[:])
		bareHasRNG = true
	} else {
		bareWeakRandom(bareRandom[:])
	}
	startupRand = bareRandom[:]
	physPageSize = 4096
	initBloc()
	if hw.Bloc != 0 {
		bloc = memRound(hw.Bloc)
		blocMax = bloc
	}
}

var (
	bareRandom [16]byte
	bareHasRNG bool
)

// bareWeakRandom fills b on a processor without RDRAND from the low bits of
// the time stamp counter: enough to seed hash tables, not to make keys.
func bareWeakRandom(b []byte) {
	x := baretsc()
	for i := range b {
		x = x*6364136223846793005 + baretsc()
		b[i] = byte(x >> 56)
	}
}

// sbrk is the system's part of mem_sbrk.go. Memory is not known to be zero: a
// warm reset keeps it, and the boot loader ran in it.
func sbrk(n uintptr) unsafe.Pointer {
	bl := bloc
	n = memRound(n)
	if bl+n < bl || bl+n > uintptr(hw.RamStart+hw.RamSize) {
		return nil
	}
	if bl+n > blocMax {
		memclrNoHeapPointers(unsafe.Pointer(blocMax), bl+n-blocMax)
		blocMax = bl + n
	}
	bloc += n
	return unsafe.Pointer(bl)
}

// MemRegion returns the start and the end of the runtime's memory. (TamaGo)
func MemRegion() (start, end uint64) {
	return hw.RamStart, hw.RamStart + hw.RamSize
}

// CPU returns the processor's brand string. (TamaGo)
func CPU() string {
	if a, _, _, _ := barecpuid(0x80000000, 0); a < 0x80000004 {
		return ""
	}
	b := make([]byte, 0, 48)
	for i := uint32(0x80000002); i <= 0x80000004; i++ {
		w, x, y, z := barecpuid(i, 0)
		for _, v := range [...]uint32{w, x, y, z} {
			b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
	}
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// Time.

//go:nosplit
func barenanotime() (t int64) {
	systemstack(func() { t = hw.Nanotime() })
	return
}

//go:nosplit
func barenow() (sec int64, nsec int32, mono int64) {
	mono = barenanotime()
	t := mono + hw.WallClock
	return t / 1e9, int32(t % 1e9), mono
}

//go:nosplit
func bareusleep(usec uint32) {
	end := barenanotime() + int64(usec)*1000
	for barenanotime() < end {
		procyield(10)
	}
}

// Console and exit.

//go:nosplit
func barewrite(fd uintptr, p unsafe.Pointer, n int32) int32 {
	if fd != 1 && fd != 2 {
		return -_EBADF
	}
	systemstack(func() {
		for i := int32(0); i < n; i++ {
			hw.Printk(*(*byte)(add(p, uintptr(i))))
		}
	})
	return n
}

//go:nosplit
func bareexit(code int32) {
	systemstack(func() {
		if hw.Exit != nil {
			hw.Exit(code)
		}
		for {
			procyield(1000)
		}
	})
}

// Processors.

// bareStarted counts the Ms that run or are being started. m0 is the first.
var bareStarted atomic.Int32

// baremaxprocs caps the argument of GOMAXPROCS at the number of processors.
// TamaGo brings the application processors up, sets goos.Task and calls
// GOMAXPROCS with their number: that is when NumCPU becomes known.
func baremaxprocs(n int) int {
	if hw.Task == nil {
		return min(n, 1)
	}
	if numCPUStartup == 1 && n > 1 {
		numCPUStartup = int32(n)
	}
	return min(n, int(numCPUStartup))
}

// barenewm stands before newm. It reports whether pp needs no new M: because it
// found one, or because nothing needs to run (sysmon and the template thread,
// which would occupy a processor, have no P).
//
// The scheduler asks for a new M when none is in the idle list. With one M for
// every processor, some M then has given up its P and is on its way into that
// list, or sleeps in netpoll: wait for it.
func barenewm(fn func(), pp *p, id int64) bool {
	if pp == nil {
		return true
	}
	for n := bareStarted.Load(); n+1 < gomaxprocs; n = bareStarted.Load() {
		if bareStarted.CompareAndSwap(n, n+1) {
			return false
		}
	}
	lock(&sched.lock)
	if id >= 0 {
		sched.nmfreed++ // give the reserved id back, see mReserveID
	}
	nmp := mget()
	for nmp == nil {
		unlock(&sched.lock)
		netpollBreak()
		procyield(20)
		lock(&sched.lock)
		nmp = mget()
	}
	unlock(&sched.lock)
	nmp.spinning = fn != nil // fn is mspinning, see startm
	nmp.nextp.set(pp)
	notewakeup(&nmp.park)
	return true
}

// bareclone starts mp on a new processor. It runs without a P of its own at
// times, and goos.Task may allocate: it borrows the one that mp will get.
//
//go:nowritebarrier
func bareclone(flags int32, stk, mp, gp, fn unsafe.Pointer) int32 {
	if hw.Task == nil {
		return -_EAGAIN
	}
	nmp := (*m)(mp)
	// The processor package takes a TLS base where the contract says gp,
	// and stores it in the TLS slot: hand it m.tls. bareTaskStart finds
	// the g0 in the next word.
	nmp.tls[1] = uintptr(gp)
	// There is one mailbox for new tasks: start one M at a time, and wait
	// until it runs. This is no mutex, since goos.Task may allocate.
	for !bareCloning.CompareAndSwap(0, 1) {
		procyield(20)
	}
	borrow := getg().m.p == 0
	if borrow {
		acquirep(nmp.nextp.ptr())
	}
	hw.Task(stk, mp, unsafe.Pointer(&nmp.tls[0]), unsafe.Pointer(abi.FuncPCABI0(bareTaskStart)))
	if borrow {
		releasep()
	}
	for atomic.Load64(&nmp.procid) == 0 { // set by minit
		procyield(20)
	}
	bareCloning.Store(0)
	return 1
}

var bareCloning atomic.Uint32

// bareonline runs on a new processor, on its g0, before mstart.
func bareonline() {
	if hw.Online != nil {
		hw.Online()
	}
}

//go:nosplit
func baregettid() (id uint32) {
	if hw.ProcID == nil {
		return 1
	}
	systemstack(func() { id = uint32(hw.ProcID()) + 1 })
	return
}

// bareaffinity is sched_getaffinity: one bit for every processor.
//
//go:nosplit
func bareaffinity(pid, size uintptr, buf *byte) int32 {
	n := uintptr(max(1, numCPUStartup))
	for i := uintptr(0); i < (n+7)/8; i++ {
		*(*byte)(add(unsafe.Pointer(buf), i)) = byte(1<<min(8, n-8*i) - 1)
	}
	return int32((n + 7) / 8)
}

// Sleeping and waking: the futex of a machine without a kernel.

const bareMaxCPU = 256

// bareSleep holds, for every processor that sleeps in barefutex, the address
// that it sleeps on.
var bareSleep [bareMaxCPU]atomic.Uintptr

//go:nosplit
func barefutex(addr *uint32, op int32, val uint32, ts *timespec, addr2 unsafe.Pointer, val3 uint32) int32 {
	switch op {
	case _FUTEX_WAIT_PRIVATE:
		ns := int64(-1)
		if ts != nil {
			ns = ts.tv_sec*1e9 + ts.tv_nsec
		}
		baresleep(addr, val, ns)
	case _FUTEX_WAKE_PRIVATE:
		barewake(addr)
	}
	return 0
}

// baresleep halts the processor while *addr == val, for at most ns
// nanoseconds if ns >= 0.
//
//go:nosplit
func baresleep(addr *uint32, val uint32, ns int64) {
	until := int64(1<<63 - 1)
	if ns >= 0 {
		until = barenanotime() + ns
	}
	slot := &bareSleep[(getg().m.procid-1)%bareMaxCPU]
	slot.Store(uintptr(unsafe.Pointer(addr)))
	for atomic.Load(addr) == val && (ns < 0 || barenanotime() < until) {
		// An interrupt between the last look at *addr and the halt would
		// be a lost wake-up: look with interrupts disabled. The halt
		// enables them.
		barecli()
		if atomic.Load(addr) == val {
			systemstack(func() {
				if hw.Idle != nil {
					hw.Idle(until)
				}
			})
		}
		baresti()
	}
	slot.Store(0)
}

//go:nosplit
func barewake(addr *uint32) {
	if bareNoteWaiting(addr) {
		bareEvents.Store(1)
		barenetpollwake()
	}
	barewakesleepers(addr)
}

//go:nosplit
func barewakesleepers(addr *uint32) {
	for i := int32(0); i < numCPUStartup; i++ {
		if bareSleep[i].Load() == uintptr(unsafe.Pointer(addr)) {
			barekick(uint64(i))
		}
	}
}

//go:nosplit
func barekick(cpu uint64) {
	systemstack(func() {
		if hw.Kick != nil {
			hw.Kick(cpu)
		} else if hw.Wake != nil {
			hw.Wake(cpu)
		}
	})
}

// Notes that goroutines wait for.

// notetsleepg would block the M for as long as the goroutine waits. Instead the
// goroutine parks; the waker leaves bareEvents set, and the next processor that
// looks for work readies it (see bareevents).
var bareNotes [8]struct {
	note atomic.Uintptr // address of the note's key; 0: the slot is free
	gp   atomic.Uintptr // the parked goroutine
}

func barenotetsleepg(n *note, ns int64) bool {
	if ns >= 0 {
		end := nanotime() + ns
		for atomic.Load(key32(&n.key)) == 0 && nanotime() < end {
			Gosched()
		}
		return atomic.Load(key32(&n.key)) != 0
	}
	for atomic.Load(key32(&n.key)) == 0 {
		gopark(barenotecommit, unsafe.Pointer(n), waitReasonZero, traceBlockGeneric, 1)
	}
	return true
}

func barenotecommit(gp *g, np unsafe.Pointer) bool {
	key := key32(&(*note)(np).key)
	for i := range bareNotes {
		s := &bareNotes[i]
		if !s.note.CompareAndSwap(0, uintptr(unsafe.Pointer(key))) {
			continue
		}
		s.gp.Store(uintptr(unsafe.Pointer(gp)))
		if atomic.Load(key) != 0 && s.gp.Swap(0) != 0 {
			s.note.Store(0)
			return false
		}
		return true
	}
	throw("notetsleepg: too many waiters")
	return false
}

//go:nosplit
func bareNoteWaiting(key *uint32) bool {
	for i := range bareNotes {
		if bareNotes[i].note.Load() == uintptr(unsafe.Pointer(key)) {
			return true
		}
	}
	return false
}

// Interrupts as signals.

var (
	barePending atomic.Uint64 // a bit for every signal that an interrupt relayed
	bareEvents  atomic.Uint32 // bareevents has something to do
)

// bareevents is called by findRunnable, on g0 with a P. It moves what interrupt
// handlers relayed into the signal queue and readies goroutines whose notes
// were woken.
func bareevents() {
	bareEvents.Store(0)
	for p := barePending.Load(); p != 0; p = barePending.Load() {
		if barePending.CompareAndSwap(p, 0) {
			for s := uint32(0); s < 64; s++ {
				if p&(1<<s) != 0 {
					sigsend(s)
				}
			}
		}
	}
	for i := range bareNotes {
		s := &bareNotes[i]
		if key := (*uint32)(unsafe.Pointer(s.note.Load())); key != nil && atomic.Load(key) != 0 {
			if gp := (*g)(unsafe.Pointer(s.gp.Swap(0))); gp != nil {
				s.note.Store(0)
				ready(gp, 0, true)
			}
		}
	}
}

// bareSignalWaiting reports whether the signal receiver waits. TamaGo's
// processor package spins on it, and a call-free loop has no point where it
// could be preempted: yield.
//
//go:linkname bareSignalWaiting os/signal.signal_waiting
func bareSignalWaiting() bool {
	if sig.state.Load() == sigReceiving && bareNoteWaiting(key32(&sig.note.key)) {
		return true
	}
	Gosched()
	return false
}

// System calls of packages os, syscall and internal/poll.

const (
	_EPERM        = 1
	_ENOENT       = 2
	_EBADF        = 9
	_EACCES       = 13
	_EEXIST       = 17
	_ENOTDIR      = 20
	_EISDIR       = 21
	_EINVAL       = 22
	_EMFILE       = 24
	_ESPIPE       = 29
	_EROFS        = 30
	_EPIPE        = 32
	_ERANGE       = 34
	_ENAMETOOLONG = 36
)

// baresyscall is internal/runtime/syscall/linux.Syscall6: there are no files
// but the console, pipes and those of an archive, and the process is number 1
// of user 0.
//
//go:linkname baresyscall
//go:nosplit
func baresyscall(num, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2, errno uintptr) {
	const (
		sysRead       = 0
		sysWrite      = 1
		sysOpen       = 2
		sysClose      = 3
		sysPread64    = 17
		sysSchedYield = 24
		sysGetpid     = 39
		sysExit       = 60
		sysUname      = 63
		sysFcntl      = 72
		sysGetcwd     = 79
		sysGetuid     = 102
		sysGetgid     = 104
		sysGeteuid    = 107
		sysGetegid    = 108
		sysGetppid    = 110
		sysGettid     = 186
		sysExitGroup  = 231
		sysOpenat     = 257
		sysPipe2      = 293
		sysGetrandom  = 318
	)
	if r, errno, ok := barefilecall(num, a1, a2, a3, a4); ok {
		return bareresult(r, errno)
	}
	switch num {
	case sysRead, sysPread64:
		if a1 == 0 {
			return 0, 0, 0 // end of file: the console is not a file
		}
		if num == sysPread64 {
			return ^uintptr(0), 0, _ESPIPE
		}
		return bareresult(barepiperead(a1, a2, a3))
	case sysWrite:
		if a1 > 2 {
			return bareresult(barepipewrite(a1, a2, a3))
		}
		n := barewrite(a1, unsafe.Pointer(a2), int32(a3))
		if n < 0 {
			return ^uintptr(0), 0, uintptr(-n)
		}
		return uintptr(n), 0, 0
	case sysClose:
		if a1 > 2 {
			return bareresult(0, barepipeclose(a1))
		}
		return 0, 0, 0
	case sysPipe2:
		return bareresult(0, barepipe2((*[2]int32)(unsafe.Pointer(a1))))
	case sysSchedYield, sysGetuid, sysGetgid, sysGeteuid, sysGetegid, sysGetppid:
		return 0, 0, 0
	case sysGetpid:
		return 1, 0, 0
	case sysGettid:
		return uintptr(baregettid()), 0, 0
	case sysExit, sysExitGroup:
		bareexit(int32(a1))
	case sysFcntl:
		if a1 <= 2 {
			return 2, 0, 0 // F_GETFL: O_RDWR
		}
		return bareresult(barepipefcntl(a1, a2, a3))
	case sysGetcwd:
		if a2 < 2 {
			return ^uintptr(0), 0, _EINVAL
		}
		*(*[2]byte)(unsafe.Pointer(a1)) = [2]byte{'/', 0}
		return 2, 0, 0
	case sysOpen, sysOpenat:
		return ^uintptr(0), 0, _ENOENT // there is no archive
	case sysGetrandom:
		if !bareHasRNG {
			break // better no keys than weak ones
		}
		systemstack(func() {
			hw.GetRandomData(unsafe.Slice((*byte)(unsafe.Pointer(a1)), int(a2)))
		})
		return a2, 0, 0
	}
	return ^uintptr(0), 0, _ENOSYS
}

// bareresult returns what a system call does that failed if errno is not 0.
//
//go:nosplit
func bareresult(r, errno uintptr) (r1, r2, errnum uintptr) {
	if errno != 0 {
		return ^uintptr(0), 0, errno
	}
	return r, 0, 0
}

// barerawsyscall is syscall.rawSyscallNoError.
//
//go:linkname barerawsyscall
//go:nosplit
func barerawsyscall(num, a1, a2, a3 uintptr) (r1, r2 uintptr) {
	r1, r2, _ = baresyscall(num, a1, a2, a3, 0, 0, 0)
	return
}

// baregettimeofday is syscall.gettimeofday.
//
//go:linkname baregettimeofday
//go:nosplit
func baregettimeofday(tv *[2]int64) (errno uintptr) {
	sec, nsec, _ := barenow()
	*tv = [2]int64{sec, int64(nsec) / 1000}
	return 0
}
