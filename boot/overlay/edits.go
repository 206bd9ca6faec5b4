package main

// An edit replaces text of a stock file. The text must occur exactly once.
type edit struct {
	file     string // below GOROOT/src
	why      string
	old, new string
}

// removed are the stock files whose job files in _std do.
var removed = []string{
	"runtime/mem_linux.go",       // memory from mmap: mem_sbrk.go
	"runtime/netpoll_epoll.go",   // netpoll_bare.go
	"runtime/sys_linux_amd64.s",  // sys_bare_amd64.s
	"runtime/time_linux_amd64.s", // time.now: sys_bare_amd64.s
}

var edits = []edit{
	// Memory.
	{
		file: "runtime/mem_sbrk.go",
		why:  "physical memory only grows upwards from the image: the allocator for sbrk systems",
		old:  "//go:build plan9 || wasm\n",
		new:  "//go:build linux || plan9 || wasm\n",
	},
	{
		file: "runtime/mem_nonsbrk.go",
		why:  "the counterpart of mem_sbrk.go",
		old:  "//go:build !plan9 && !wasm\n",
		new:  "//go:build !linux && !plan9 && !wasm\n",
	},
	{
		file: "runtime/malloc.go",
		why:  "addresses are physical, and the tables sized by this constant are real memory",
		old:  "(_64bit*(1-goarch.IsWasm)*(1-goos.IsIos*goarch.IsArm64))*48 + (1-_64bit+goarch.IsWasm)*(32-(goarch.IsMips+goarch.IsMipsle)) + 40*goos.IsIos*goarch.IsArm64\n",
		new:  "hw.HeapAddrBits\n",
	},
	{
		file: "runtime/malloc.go",
		why:  "64 MiB arenas waste a small machine's memory",
		old:  "(6+20)*(_64bit*(1-goos.IsWindows)*(1-goarch.IsWasm)*(1-goos.IsIos*goarch.IsArm64)) + (2+20)*(_64bit*goos.IsWindows) + (2+20)*(1-_64bit) + (9+10)*goarch.IsWasm + (2+20)*goos.IsIos*goarch.IsArm64\n",
		new:  "hw.LogHeapArenaBytes\n",
	},
	{
		file: "runtime/malloc.go",
		why:  "no kernel half of the address space",
		old:  "arenaBaseOffset = 0xffff800000000000*goarch.IsAmd64 + 0x0a00000000000000*goos.IsAix\n",
		new:  "arenaBaseOffset = hw.ArenaBaseOffset\n",
	},
	{
		file: "runtime/malloc.go",
		why:  "for the constants above",
		old:  "import (\n",
		new:  "import (\n\thw \"runtime/goos\"\n",
	},
	{
		file: "runtime/stack.go",
		why:  "the processor pushes interrupt and exception frames on goroutine stacks",
		old:  "goos.IsWindows*4096 + goos.IsPlan9*512 + goos.IsIos*goarch.IsArm64*1024\n",
		new:  "goos.IsWindows*4096 + goos.IsPlan9*512 + goos.IsIos*goarch.IsArm64*1024 + hw.StackSystem\n",
	},
	{
		file: "runtime/stack.go",
		why:  "for the constant above",
		old:  "import (\n",
		new:  "import (\n\thw \"runtime/goos\"\n",
	},

	// Start.
	{
		file: "runtime/os_linux.go",
		why:  "memory and random numbers before the allocator starts",
		old:  "func osinit() {\n",
		new:  "func osinit() {\n\tbareosinit()\n",
	},

	// One M for every processor.
	{
		file: "runtime/proc.go",
		why:  "no M beyond the number of processors; no sysmon",
		old:  "func newm(fn func(), pp *p, id int64) {\n",
		new:  "func newm(fn func(), pp *p, id int64) {\n\tif barenewm(fn, pp, id) {\n\t\treturn\n\t}\n",
	},
	{
		file: "runtime/proc.go",
		why:  "a locked M would take its processor away from all other goroutines",
		old:  "func dolockOSThread() {\n\tif GOARCH == \"wasm\" {\n",
		new:  "func dolockOSThread() {\n\tgetg().m.lockedInt, getg().m.lockedExt = 0, 0\n\tif true {\n",
	},
	{
		file: "runtime/proc.go",
		why:  "the counterpart of dolockOSThread",
		old:  "func unlockOSThread() {\n",
		new:  "func unlockOSThread() {\n\tif true {\n\t\treturn\n\t}\n",
	},
	{
		file: "runtime/debug.go",
		why:  "a P without a processor would never run",
		old:  "\tif GOARCH == \"wasm\" && n > 1 {\n\t\tn = 1 // WebAssembly has no threads yet, so only one CPU is possible.\n\t}\n",
		new:  "\tn = baremaxprocs(n)\n",
	},

	// Interrupts.
	{
		file: "runtime/proc.go",
		why:  "deliver interrupts, also while the run queues are full",
		old:  "\t// Wake up one or more cleanup Gs.\n\tif gcCleanups.needsWake() {",
		new:  "\tif bareEvents.Load() != 0 {\n\t\tbareevents()\n\t}\n\n\t// Wake up one or more cleanup Gs.\n\tif gcCleanups.needsWake() {",
	},
	{
		file: "runtime/lock_futex.go",
		why:  "a goroutine that waits for a note must not keep its M, there is no other",
		old:  "\tentersyscallblock()\n\tok := notetsleep_internal(n, ns)\n\texitsyscall()\n\treturn ok\n",
		new:  "\treturn barenotetsleepg(n, ns)\n",
	},

	// Code that a trap handler calls and that breaks its contract: the handler is
	// given up, instead of the machine. The hook does nothing elsewhere.
	{
		file: "runtime/panic.go",
		why:  "fatal errors in a trap handler",
		old:  "func throw(s string) {\n",
		new:  "func throw(s string) {\n\tbarethrow(s)\n",
	},
	{
		file: "runtime/panic.go",
		why:  "fatal errors in a trap handler",
		old:  "func fatal(s string) {\n",
		new:  "func fatal(s string) {\n\tbarethrow(s)\n",
	},
	{
		file: "runtime/panic.go",
		why:  "run-time panics in a trap handler, before they print or allocate",
		old:  "func panicCheck1(pc uintptr, msg string) {\n",
		new:  "func panicCheck1(pc uintptr, msg string) {\n\tbarethrow(msg)\n",
	},
	{
		file: "runtime/panic.go",
		why:  "run-time panics in a trap handler, before they print or allocate",
		old:  "func panicCheck2(err string) {\n",
		new:  "func panicCheck2(err string) {\n\tbarethrow(err)\n",
	},
	{
		file: "runtime/panic.go",
		why:  "other panics in a trap handler",
		old:  "\tif gp.m.curg != gp {\n\t\tprint(\"panic: \")\n",
		new:  "\tif gp.m.curg != gp {\n\t\tbarethrow(\"panic\")\n\t\tprint(\"panic: \")\n",
	},
	{
		file: "runtime/proc.go",
		why:  "a trap handler that overruns the trap stack",
		old:  "func badmorestackgsignal() {\n",
		new:  "func badmorestackgsignal() {\n\tbarethrow(\"stack overflow\")\n",
	},
	{
		file: "runtime/malloc.go",
		why:  "a trap handler that allocates: this turns on the check for gsignal",
		old:  "const doubleCheckMalloc = false\n",
		new:  "const doubleCheckMalloc = true\n",
	},
	{
		file: "runtime/malloc.go",
		why:  "before that check an allocation may do work for the garbage collector",
		old:  "func deductAssistCredit(size uintptr) {\n",
		new:  "func deductAssistCredit(size uintptr) {\n\tbarethrowOnGsignal(\"malloc during signal\")\n",
	},
	{
		file: "runtime/proc.go",
		why:  "a trap handler that formats text would allocate with a sync.Pool locked, for good",
		old:  "func sync_runtime_procPin() int {\n",
		new:  "func sync_runtime_procPin() int {\n\tbarethrowOnGsignal(\"use of a sync.Pool\")\n",
	},
	{
		file: "runtime/proc.go",
		why:  "a trap handler that blocks would park the interrupted goroutine",
		old:  "func gopark(unlockf func(*g, unsafe.Pointer) bool, lock unsafe.Pointer, reason waitReason, traceReason traceBlockReason, traceskip int) {\n",
		new:  "func gopark(unlockf func(*g, unsafe.Pointer) bool, lock unsafe.Pointer, reason waitReason, traceReason traceBlockReason, traceskip int) {\n\tbarethrowOnGsignal(\"blocking\")\n",
	},
	{
		file: "runtime/proc.go",
		why:  "a trap handler that yields would save gsignal as a goroutine",
		old:  "func Gosched() {\n",
		new:  "func Gosched() {\n\tbarethrowOnGsignal(\"yielding\")\n",
	},
	{
		file: "runtime/proc.go",
		why:  "a trap handler that starts a goroutine would change a run queue under the scheduler's hands",
		old:  "func newproc1(fn *funcval, callergp *g, callerpc uintptr, parked bool, waitreason waitReason) *g {\n",
		new:  "func newproc1(fn *funcval, callergp *g, callerpc uintptr, parked bool, waitreason waitReason) *g {\n\tbarethrowOnGsignal(\"starting a goroutine\")\n",
	},

	// Return probes: a return address that has been replaced is read as the one that
	// it stands for.
	{
		file: "runtime/traceback.go",
		why:  "the unwinder: stack growth, garbage collection, panics, Callers",
		old:  "\t\t\t\tlrPtr = frame.fp - goarch.PtrSize\n\t\t\t\tframe.lr = *(*uintptr)(unsafe.Pointer(lrPtr))\n",
		new:  "\t\t\t\tlrPtr = frame.fp - goarch.PtrSize\n\t\t\t\tframe.lr = barereturn(gp, lrPtr)\n",
	},
	{
		file: "runtime/tracestack.go",
		why:  "unwinding by frame pointers: the execution tracer",
		old:  "\t\tpcBuf[i] = *(*uintptr)(unsafe.Pointer(uintptr(fp) + goarch.PtrSize))\n",
		new:  "\t\tpcBuf[i] = barereturn(nil, uintptr(fp)+goarch.PtrSize)\n",
	},
	{
		file: "runtime/mprof.go",
		why:  "unwinding by frame pointers: block and mutex profiles",
		old:  "\t\tpc := *(*uintptr)(unsafe.Pointer(uintptr(fp) + goarch.PtrSize))\n",
		new:  "\t\tpc := barereturn(nil, uintptr(fp)+goarch.PtrSize)\n",
	},
	{
		file: "runtime/runtime2.go",
		why:  "a goroutine's replaced return addresses",
		old:  "\tgcAssistBytes int64\n\n\t// valgrindStackID",
		new:  "\tgcAssistBytes int64\n\n\tbarereturns uintptr\n\n\t// valgrindStackID",
	},
	{
		file: "runtime/proc.go",
		why:  "a goroutine that ends leaves functions that never return",
		old:  "func gdestroy(gp *g) {\n",
		new:  "func gdestroy(gp *g) {\n\tif gp.barereturns != 0 {\n\t\tbarenoreturn(gp, gp.stack.hi)\n\t}\n",
	},
	{
		file: "runtime/panic.go",
		why:  "a panic that is recovered leaves functions that never return",
		old:  "\t// branch directly to the deferreturn\n",
		new:  "\tif gp.barereturns != 0 {\n\t\tbarenoreturn(gp, sp)\n\t}\n\t// branch directly to the deferreturn\n",
	},
}
