// What the boot loader says: memory and command line, from the PVH start info
// (Xen, docs/misc/pvh.pandoc and public/arch-x86/hvm/start_info.h).

package runtime

import (
	hw "runtime/goos"
	"unsafe"
)

const (
	pvhMagic      = 0x336ec578
	pvhModlist    = 16 // offsets in struct hvm_start_info
	pvhCmdline    = 24
	pvhMemmap     = 40
	pvhNrModules  = 12
	pvhNrMemmap   = 48
	pvhVersion    = 4
	pvhModuleSize = 32 // sizeof(struct hvm_modlist_entry)
	pvhEntrySize  = 24 // sizeof(struct hvm_memmap_table_entry)
	pvhTypeRAM    = 1

	// bareRAMLimit is the end of the memory that TamaGo's page tables map
	// as cacheable.
	bareRAMLimit = 0xc0000000

	bareMaxWords = 120
)

var (
	bareArgc uintptr
	// bareArgv is what a kernel leaves on a new process's stack: argv, nil,
	// envp, nil, auxv. The words that stay zero terminate each.
	bareArgv    [bareMaxWords + 8]uintptr
	bareWords   [2][bareMaxWords]uintptr // arguments, environment variables
	bareCmdline [4096]byte
	bareArgv0   = [...]byte{'t', 'a', 'm', 'a', 'p', 'r', 'o', 'b', 'e', 0}
)

// bareload reads n bytes of physical memory, little endian.
//
//go:nosplit
func bareload(addr, n uintptr) (v uintptr) {
	addr = hw.LowMemory(addr)
	for i := n; i > 0; i-- {
		v = v<<8 | uintptr(*(*byte)(unsafe.Pointer(addr + i - 1)))
	}
	return v
}

// bareargs runs before anything else of the runtime: no g, no write barrier.
//
//go:nosplit
//go:nowritebarrierrec
func bareargs() {
	var cmdline uintptr
	info := bareload(hw.StartInfoMailbox, 8)
	if info != 0 && info < bareRAMLimit && bareload(info, 4) == pvhMagic {
		hw.StartInfo = info
		cmdline = bareload(info+pvhCmdline, 8)
		baremem(info)
	}
	bareargv(cmdline)
}

// baremem sets goos.RamSize to what the memory map says: the heap ends where
// the region of RAM that holds the image ends, or a boot module begins.
//
//go:nosplit
func baremem(info uintptr) {
	if bareload(info+pvhVersion, 4) < 1 {
		return // no memory map before version 1
	}
	image := firstmoduledata.text
	memmap := bareload(info+pvhMemmap, 8)
	var end uintptr
	for n := bareload(info+pvhNrMemmap, 4); n > 0; n-- {
		start, size := bareload(memmap, 8), bareload(memmap+8, 8)
		if bareload(memmap+16, 4) == pvhTypeRAM && start <= image && image < start+size {
			end = min(start+size, bareRAMLimit)
		}
		memmap += pvhEntrySize
	}
	mod := bareload(info+pvhModlist, 8)
	for n := bareload(info+pvhNrModules, 4); n > 0; n-- {
		if start := bareload(mod, 8); start > image && start < end {
			end = start
		}
		mod += pvhModuleSize
	}
	if end > firstmoduledata.end {
		hw.RamSize = uint64(end)&^4095 - hw.RamStart
	}
}

// bareargv splits the command line into words, as a shell would with single
// and double quotes. A word NAME=value with NAME of capitals, digits and
// underscores is an environment variable, any other an argument. GOMAXPROCS is
// neither: no processor but the first runs yet (see boot/board).
//
//go:nosplit
func bareargv(cmdline uintptr) {
	bareArgv[0] = uintptr(unsafe.Pointer(&bareArgv0))
	var n [2]int // number of arguments, of environment variables
	out := 0
	for cmdline != 0 {
		c := byte(bareload(cmdline, 1))
		for c == ' ' {
			cmdline++
			c = byte(bareload(cmdline, 1))
		}
		if c == 0 {
			break
		}
		word := out
		var quote byte
		for ; c != 0 && (quote != 0 || c != ' '); c = byte(bareload(cmdline, 1)) {
			cmdline++
			switch {
			case quote == 0 && (c == '\'' || c == '"'):
				quote = c
			case quote == c:
				quote = 0
			default:
				if out == len(bareCmdline)-1 {
					return
				}
				bareCmdline[out] = c
				out++
			}
		}
		bareCmdline[out] = 0
		out++
		kind := bareenv(word)
		if kind > 1 || n[0]+n[1] == bareMaxWords {
			continue
		}
		bareWords[kind][n[kind]] = uintptr(unsafe.Pointer(&bareCmdline[word]))
		n[kind]++
	}
	for i := 0; i < n[0]; i++ {
		bareArgv[1+i] = bareWords[0][i]
	}
	for i := 0; i < n[1]; i++ {
		bareArgv[1+n[0]+1+i] = bareWords[1][i]
	}
	bareArgc = uintptr(1 + n[0])
}

// bareenv classifies the word at bareCmdline[i]: 0 argument, 1 environment
// variable, 2 GOMAXPROCS.
//
//go:nosplit
func bareenv(i int) int {
	const gomaxprocs = "GOMAXPROCS"
	same := true
	for n := 0; ; n++ {
		c := bareCmdline[i+n]
		switch {
		case c == '=' && n == len(gomaxprocs) && same:
			return 2
		case c == '=' && n > 0:
			return 1
		case 'A' <= c && c <= 'Z' || c == '_' || n > 0 && '0' <= c && c <= '9':
			same = same && n < len(gomaxprocs) && c == gomaxprocs[n]
		default:
			return 0
		}
	}
}
