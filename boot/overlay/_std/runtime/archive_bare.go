// Files: those of a ustar archive that the boot loader put into memory as a module
// (POSIX, pax: ustar Interchange Format). They are a read-only file system, whose root is "/".
// They are read where they are; only their names are indexed, once. Folders that the archive
// does not list are implied by the paths of what is in them.
//
// The working directory at the start is what the environment variable PWD says. (Linux hands a
// process its parent's. Package variables may be initialized with a file's contents, so nothing
// that the program does would be early enough.)
//
// Errors are those of Linux on a file system that is mounted read-only: open(2), mkdir(2), ...

package runtime

import (
	"internal/runtime/sys"
	hw "runtime/goos"
	"unsafe"
)

const (
	bareFileMax   = 256
	bareFileFirst = barePipeFirst + 2*barePipeMax // the first descriptor

	bareFileBuckets = 4096
)

// A bareFile is a file or folder of the archive. It is never changed once all are known.
type bareFile struct {
	_      sys.NotInHeap
	name   uintptr // not terminated
	length uintptr // of the name
	ino    uint64
	dir    bool
	perm   uint32
	mtime  int64
	data   uintptr
	size   uintptr

	parent      *bareFile // the root's is the root
	first, last *bareFile // what is in a folder, in the archive's order
	next        *bareFile // in the same folder
	bucket      *bareFile // the next one with the same hash
}

// A bareOpen is an open file description: what descriptors share that dup made from each other.
type bareOpen struct {
	_      sys.NotInHeap
	file   *bareFile
	offset uintptr // in a folder: how many entries have been read
	flags  uintptr
	fds    int // how many descriptors; 0: not in use
}

var bareFiles struct {
	root    *bareFile // nil: there is no archive
	count   uint64
	buckets [bareFileBuckets]*bareFile

	lock  mutex
	cwd   *bareFile
	fds   [bareFileMax]*bareOpen
	opens [bareFileMax]bareOpen
}

// barefilesinit finds the archive.
func barefilesinit() {
	if hw.StartInfo == 0 {
		return
	}
	mod := bareload(hw.StartInfo+pvhModlist, 8)
	for n := bareload(hw.StartInfo+pvhNrModules, 4); n > 0; n-- {
		start, size := bareload(mod, 8), bareload(mod+8, 8)
		if start < bareRAMLimit && size < bareRAMLimit-start && bareistar(start, size) {
			systemstack(func() { bareuntar(start, size) })
			break
		}
		mod += pvhModuleSize
	}
	if bareFiles.root == nil {
		return
	}
	if pwd := gogetenv("PWD"); pwd != "" {
		if f, _, errno := barelookup(bareFiles.root, uintptr(unsafe.Pointer(unsafe.StringData(pwd))), uintptr(len(pwd))); errno == 0 && f.dir {
			bareFiles.cwd = f
		}
	}
}

// The blocks of an archive, and offsets in a file's header.
const (
	tarBlock    = 512
	tarName     = 0
	tarNameLen  = 100
	tarMode     = 100
	tarModeLen  = 8
	tarSize     = 124
	tarSizeLen  = 12
	tarMtime    = 136
	tarMtimeLen = 12
	tarType     = 156
	tarMagic    = 257
	tarPrefix   = 345
	tarPrefLen  = 155

	tarRegular    = '0'
	tarRegularOld = 0
	tarFolder     = '5'
)

// bareistar reports whether there is a header of an archive at start.
func bareistar(start, size uintptr) bool {
	return size >= tarBlock && barestring(start+tarMagic, 5) == "ustar"
}

// bareuntar makes the index of the archive at start, which ends at the first block that is no
// header: it should be one of zeros.
func bareuntar(start, size uintptr) {
	root := barenewfile()
	root.dir, root.perm, root.parent = true, 0o555, root
	bareFiles.root, bareFiles.cwd = root, root
	for end := start + size; bareistar(start, end-start); {
		length := bareoctal(start+tarSize, tarSizeLen)
		data := start + tarBlock
		if length > end-data {
			return
		}
		kind := *(*byte)(unsafe.Pointer(start + tarType))
		dir := kind == tarFolder
		if dir || kind == tarRegular || kind == tarRegularOld {
			f := bareaddpath(root, start+tarPrefix, tarPrefLen)
			f = bareaddpath(f, start+tarName, tarNameLen)
			f.perm = uint32(bareoctal(start+tarMode, tarModeLen)) & 0o7777
			f.mtime = int64(bareoctal(start+tarMtime, tarMtimeLen))
			if !dir {
				f.dir, f.data, f.size = false, data, length
			}
		}
		start = data + (length+tarBlock-1)&^(tarBlock-1)
		if start > end {
			return
		}
	}
}

// bareaddpath returns what the path at name leads to from f, and makes folders of what is not
// there. The path ends at a zero byte, or is max long.
func bareaddpath(f *bareFile, name, max uintptr) *bareFile {
	for end := name + max; name < end && *(*byte)(unsafe.Pointer(name)) != 0; {
		length := uintptr(0)
		for name+length < end && *(*byte)(unsafe.Pointer(name + length)) != 0 && *(*byte)(unsafe.Pointer(name + length)) != '/' {
			length++
		}
		if s := barestring(name, length); s != "" && s != "." {
			child := barechild(f, s)
			if child == nil {
				child = barenewfile()
				child.name, child.length, child.parent = name, length, f
				child.dir, child.perm = true, 0o555
				if f.first == nil {
					f.first = child
				} else {
					f.last.next = child
				}
				f.last = child
				h := &bareFiles.buckets[barefilehash(f, s)]
				child.bucket, *h = *h, child
			}
			f = child
		}
		name += length
		if name < end && *(*byte)(unsafe.Pointer(name)) == '/' {
			name++
		}
	}
	return f
}

func barenewfile() *bareFile {
	bareFiles.count++
	f := (*bareFile)(persistentalloc(unsafe.Sizeof(bareFile{}), 0, &memstats.other_sys))
	f.ino = bareFiles.count
	return f
}

// bareoctal reads a number of a header.
func bareoctal(addr, length uintptr) (n uintptr) {
	for _, c := range []byte(barestring(addr, length)) {
		if '0' <= c && c <= '7' {
			n = n<<3 | uintptr(c-'0')
		}
	}
	return n
}

func barestring(addr, length uintptr) string {
	return unsafe.String((*byte)(unsafe.Pointer(addr)), int(length))
}

// barefilehash is the bucket of a name in a folder (FNV-1a).
func barefilehash(dir *bareFile, name string) uint32 {
	h := 2166136261 ^ uint32(dir.ino)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return (h ^ h>>16) % bareFileBuckets
}

// barechild finds what is in a folder; nil if it is not there.
func barechild(dir *bareFile, name string) *bareFile {
	for f := bareFiles.buckets[barefilehash(dir, name)]; f != nil; f = f.bucket {
		if f.parent == dir && barestring(f.name, f.length) == name {
			return f
		}
	}
	return nil
}

// barelookup finds a path from the folder f (path_resolution(7)). If only the path's last part
// is missing, the error is ENOENT and creatable is true.
func barelookup(f *bareFile, path, length uintptr) (found *bareFile, creatable bool, errno uintptr) {
	s := barestring(path, length)
	if s == "" {
		return nil, false, _ENOENT
	}
	if s[0] == '/' {
		f = bareFiles.root
	}
	for s != "" {
		if !f.dir {
			return nil, false, _ENOTDIR // also with nothing but a slash behind it
		}
		n := 0
		for n < len(s) && s[n] != '/' {
			n++
		}
		part := s[:n]
		for n < len(s) && s[n] == '/' {
			n++
		}
		slash := n > len(part)
		s = s[n:]
		switch {
		case len(part) > 255: // NAME_MAX
			return nil, false, _ENAMETOOLONG
		case part == "" || part == ".":
		case part == "..":
			f = f.parent
		default:
			if f = barechild(f, part); f == nil {
				return nil, s == "", _ENOENT
			}
			if slash && !f.dir {
				return nil, false, _ENOTDIR
			}
		}
	}
	return f, false, 0
}

// barelookupat finds the path of a system call with "at" in its name. The lock is held.
func barelookupat(fd, path uintptr) (f *bareFile, creatable bool, errno uintptr) {
	const (
		atFdcwd = -100
		pathMax = 4096
	)
	length := uintptr(0)
	for *(*byte)(unsafe.Pointer(path + length)) != 0 {
		if length++; length == pathMax {
			return nil, false, _ENAMETOOLONG
		}
	}
	f = bareFiles.cwd
	if length == 0 || *(*byte)(unsafe.Pointer(path)) == '/' {
		// The descriptor does not matter.
	} else if int32(fd) != atFdcwd {
		o := bareopened(fd)
		if o == nil {
			return nil, false, _EBADF
		}
		f = o.file
	}
	return barelookup(f, path, length)
}

// bareopened finds an open file by its descriptor; nil if there is none. The lock is held.
func bareopened(fd uintptr) *bareOpen {
	if fd < bareFileFirst || fd >= bareFileFirst+bareFileMax {
		return nil
	}
	return bareFiles.fds[fd-bareFileFirst]
}

// barefilecall is those system calls that have to do with files of the archive; ok is false
// if this one has not.
//
//go:nosplit
func barefilecall(num, a1, a2, a3, a4 uintptr) (r, errno uintptr, ok bool) {
	if bareFiles.root == nil {
		return 0, 0, false
	}
	systemstack(func() {
		lock(&bareFiles.lock)
		if r, errno, ok = barepathcall(num, a1, a2, a3, a4); !ok {
			r, errno, ok = bareopencall(num, a1, a2, a3, a4)
		}
		unlock(&bareFiles.lock)
	})
	return r, errno, ok
}

// barepathcall is those system calls that take a path. The lock is held.
func barepathcall(num, a1, a2, a3, a4 uintptr) (r, errno uintptr, ok bool) {
	const (
		sysOpen       = 2
		sysTruncate   = 76
		sysGetcwd     = 79
		sysChdir      = 80
		sysOpenat     = 257
		sysMkdirat    = 258
		sysMknodat    = 259
		sysFchownat   = 260
		sysNewfstatat = 262
		sysUnlinkat   = 263
		sysRenameat   = 264
		sysLinkat     = 265
		sysSymlinkat  = 266
		sysReadlinkat = 267
		sysFchmodat   = 268
		sysFaccessat  = 269
		sysUtimensat  = 280
		sysRenameat2  = 316
		sysFaccessat2 = 439

		atFdcwd = ^uintptr(99)
	)
	// Those of this system's calls that have no "at" are as if they had.
	switch num {
	case sysOpen:
		return barepathcall(sysOpenat, atFdcwd, a1, a2, a3)
	case sysChdir, sysTruncate:
		a1, a2 = atFdcwd, a1
	case sysSymlinkat:
		a1, a2 = a2, a3 // the first is what the link is to lead to
	case sysGetcwd:
		r, errno = baregetcwd(a1, a2)
		return r, errno, true
	case sysOpenat, sysMkdirat, sysMknodat, sysFchownat, sysNewfstatat, sysUnlinkat, sysRenameat, sysLinkat,
		sysReadlinkat, sysFchmodat, sysFaccessat, sysUtimensat, sysRenameat2, sysFaccessat2:
	default:
		return 0, 0, false
	}
	const emptyPath = 0x1000 // AT_EMPTY_PATH
	var f *bareFile
	var creatable bool
	if o := bareopened(a1); num == sysNewfstatat && a4&emptyPath != 0 && o != nil && *(*byte)(unsafe.Pointer(a2)) == 0 {
		f = o.file
	} else {
		f, creatable, errno = barelookupat(a1, a2)
	}
	switch num {
	case sysOpenat:
		r, errno = bareopen(f, creatable, errno, a3)
		return r, errno, true
	case sysMkdirat, sysMknodat, sysSymlinkat:
		if errno == 0 {
			errno = _EEXIST
		} else if creatable {
			errno = _EROFS
		}
		return 0, errno, true
	}
	if errno != 0 {
		return 0, errno, true
	}
	switch num {
	case sysChdir:
		if !f.dir {
			return 0, _ENOTDIR, true
		}
		bareFiles.cwd = f
	case sysNewfstatat:
		barestat(f, a3)
	case sysReadlinkat:
		errno = _EINVAL // there are no links
	case sysFaccessat, sysFaccessat2:
		const write, execute = 2, 1
		if a3&write != 0 {
			errno = _EROFS
		} else if a3&execute != 0 && !f.dir && f.perm&0o111 == 0 {
			errno = _EACCES
		}
	default:
		errno = _EROFS
	}
	return 0, errno, true
}

// bareopen opens what a path led to. The lock is held.
func bareopen(f *bareFile, creatable bool, failed, flags uintptr) (fd, errno uintptr) {
	const (
		write     = 3 // O_WRONLY or O_RDWR
		create    = 0o100
		exclusive = 0o200
		truncate  = 0o1000
		directory = 0o200000
		nonblock  = 0o4000
	)
	switch {
	case creatable && flags&create != 0:
		return 0, _EROFS
	case failed != 0:
		return 0, failed
	case flags&create != 0 && flags&exclusive != 0:
		return 0, _EEXIST
	case f.dir && flags&(write|create) != 0:
		return 0, _EISDIR
	case !f.dir && flags&directory != 0:
		return 0, _ENOTDIR
	case flags&(write|truncate) != 0:
		return 0, _EROFS
	}
	for i := range bareFiles.opens {
		if o := &bareFiles.opens[i]; o.fds == 0 {
			o.file, o.offset, o.flags = f, 0, flags&(directory|nonblock)
			return barenewfd(o)
		}
	}
	return 0, _EMFILE
}

// barenewfd makes a descriptor of an open file. The lock is held.
func barenewfd(o *bareOpen) (fd, errno uintptr) {
	for i := range bareFiles.fds {
		if bareFiles.fds[i] == nil {
			bareFiles.fds[i] = o
			o.fds++
			return bareFileFirst + uintptr(i), 0
		}
	}
	return 0, _EMFILE
}

// bareopencall is those system calls that take the descriptor of an open file. The lock is
// held.
func bareopencall(num, fd, a2, a3, a4 uintptr) (r, errno uintptr, ok bool) {
	const (
		sysRead       = 0
		sysWrite      = 1
		sysClose      = 3
		sysFstat      = 5
		sysLseek      = 8
		sysPread64    = 17
		sysPwrite64   = 18
		sysDup        = 32
		sysFcntl      = 72
		sysFchdir     = 81
		sysGetdents64 = 217

		fcntlDup        = 0 // F_DUPFD, ...
		fcntlGetFD      = 1
		fcntlSetFD      = 2
		fcntlGetFlags   = 3
		fcntlSetFlags   = 4
		fcntlDupCloexec = 1030
	)
	switch num {
	case sysRead, sysWrite, sysClose, sysFstat, sysLseek, sysPread64, sysPwrite64, sysDup, sysFcntl, sysFchdir, sysGetdents64:
		if fd < bareFileFirst {
			return 0, 0, false
		}
	default:
		return 0, 0, false
	}
	o := bareopened(fd)
	if o == nil {
		return 0, _EBADF, true
	}
	switch num {
	case sysRead:
		r, errno = barereadat(o.file, a2, a3, o.offset)
		o.offset += r
	case sysPread64:
		r, errno = barereadat(o.file, a2, a3, a4)
	case sysWrite, sysPwrite64:
		errno = _EBADF // not open for writing
	case sysClose:
		bareFiles.fds[fd-bareFileFirst] = nil
		o.fds--
	case sysFstat:
		barestat(o.file, a2)
	case sysLseek:
		r, errno = bareseek(o, int64(a2), a3)
	case sysDup:
		r, errno = barenewfd(o)
	case sysFcntl:
		switch a2 {
		case fcntlDup, fcntlDupCloexec:
			r, errno = barenewfd(o)
		case fcntlGetFD, fcntlSetFD: // no other program is executed
		case fcntlGetFlags:
			r = o.flags
		case fcntlSetFlags:
			o.flags = a3
		default:
			errno = _EINVAL
		}
	case sysFchdir:
		if o.file.dir {
			bareFiles.cwd = o.file
		} else {
			errno = _ENOTDIR
		}
	case sysGetdents64:
		r, errno = baregetdents(o, a2, a3)
	}
	return r, errno, true
}

// barereadat is the system calls read and pread64.
func barereadat(f *bareFile, buf, size, offset uintptr) (n, errno uintptr) {
	switch {
	case f.dir:
		return 0, _EISDIR
	case int64(offset) < 0:
		return 0, _EINVAL
	case offset >= f.size:
		return 0, 0
	}
	n = min(size, f.size-offset)
	memmove(unsafe.Pointer(buf), unsafe.Pointer(f.data+offset), n)
	return n, 0
}

// bareseek is the system call lseek. The lock is held.
func bareseek(o *bareOpen, offset int64, whence uintptr) (r, errno uintptr) {
	switch whence {
	case 0: // SEEK_SET
	case 1: // SEEK_CUR
		offset += int64(o.offset)
	case 2: // SEEK_END
		offset += int64(o.file.size)
	default:
		return 0, _EINVAL
	}
	if offset < 0 {
		return 0, _EINVAL
	}
	o.offset = uintptr(offset)
	return o.offset, 0
}

// barestat writes a struct stat (linux/amd64, as in syscall.Stat_t).
func barestat(f *bareFile, buf uintptr) {
	type timespec struct{ sec, nsec int64 }
	type stat struct {
		dev, ino, nlink         uint64
		mode, uid, gid, _       uint32
		rdev                    uint64
		size, blksize, blocks   int64
		accessed, modified, chg timespec
		_                       [3]int64
	}
	const isRegular, isFolder = 0o100000, 0o040000
	st := (*stat)(unsafe.Pointer(buf))
	*st = stat{dev: 1, ino: f.ino, nlink: 1, mode: isRegular | f.perm, size: int64(f.size), blksize: 4096}
	if f.dir {
		st.mode = isFolder | f.perm
	}
	st.blocks = (st.size + 511) / 512
	st.modified.sec = f.mtime
	st.accessed, st.chg = st.modified, st.modified
}

// baregetdents is the system call getdents64. There are no entries "." and "..": POSIX leaves
// that open (readdir). The lock is held.
func baregetdents(o *bareOpen, buf, size uintptr) (n, errno uintptr) {
	const (
		header              = 19 // offsetof(struct linux_dirent64, d_name)
		isRegular, isFolder = 8, 4
	)
	if !o.file.dir {
		return 0, _ENOTDIR
	}
	f := o.file.first
	for i := uintptr(0); i < o.offset && f != nil; i++ {
		f = f.next
	}
	for ; f != nil; f = f.next {
		length := (header + f.length + 1 + 7) &^ 7
		if length > size-n {
			if n == 0 {
				return 0, _EINVAL
			}
			break
		}
		o.offset++
		e := buf + n
		*(*uint64)(unsafe.Pointer(e)) = f.ino
		*(*uint64)(unsafe.Pointer(e + 8)) = uint64(o.offset)
		*(*uint16)(unsafe.Pointer(e + 16)) = uint16(length)
		*(*byte)(unsafe.Pointer(e + 18)) = isRegular
		if f.dir {
			*(*byte)(unsafe.Pointer(e + 18)) = isFolder
		}
		memmove(unsafe.Pointer(e+header), unsafe.Pointer(f.name), f.length)
		*(*byte)(unsafe.Pointer(e + header + f.length)) = 0
		n += length
	}
	return n, 0
}

// baregetcwd is the system call getcwd. The lock is held.
func baregetcwd(buf, size uintptr) (n, errno uintptr) {
	n = 1
	for f := bareFiles.cwd; f != bareFiles.root; f = f.parent {
		n += f.length + 1
	}
	if n == 1 {
		n = 2 // the root's slash
	}
	if n > size {
		return 0, _ERANGE
	}
	at := buf + n - 1
	*(*byte)(unsafe.Pointer(at)) = 0
	for f := bareFiles.cwd; f != bareFiles.root; f = f.parent {
		at -= f.length
		memmove(unsafe.Pointer(at), unsafe.Pointer(f.name), f.length)
		at--
		*(*byte)(unsafe.Pointer(at)) = '/'
	}
	*(*byte)(unsafe.Pointer(buf)) = '/'
	return n, 0
}
