// Pipes: the only files that can be written besides the console. They never block: a
// goroutine that finds one empty or full waits in the network poller, as for a pipe in
// non-blocking mode on Linux.

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

const (
	barePipeSize = 64 << 10
	barePipeMax  = 64

	// The descriptors of the first pipe. The others follow in pairs.
	barePipeFirst = 3
)

// A barePipe's memory is used again for the next pipe with its descriptors.
type barePipe struct {
	_     sys.NotInHeap
	data  [barePipeSize]byte // a ring
	start int
	count int
	ends  [2]barePipeEnd // where it is read, where it is written
}

type barePipeEnd struct {
	_     sys.NotInHeap
	open  bool
	ready bool // something has changed for the one who waits here
	flags uintptr
	poll  *pollDesc // nil: nobody can wait here
}

var barePipes struct {
	lock  mutex
	list  [barePipeMax]*barePipe
	ready atomic.Bool // some end is
}

// barepipeend finds an open end; the pipe is nil if there is none with this descriptor. The
// lock is held.
func barepipeend(fd uintptr) (p *barePipe, end int) {
	if fd < barePipeFirst || fd >= barePipeFirst+2*barePipeMax {
		return nil, 0
	}
	p = barePipes.list[(fd-barePipeFirst)/2]
	end = int(fd-barePipeFirst) % 2
	if p == nil || !p.ends[end].open {
		return nil, 0
	}
	return p, end
}

// changed has the other end's poller look again. The lock is held.
func (p *barePipe) changed(end int) {
	if other := &p.ends[1-end]; other.poll != nil {
		other.ready = true
		barePipes.ready.Store(true)
		barenetpollwake()
	}
}

// barepipe2 is the system call pipe2.
//
//go:nosplit
func barepipe2(fds *[2]int32) (errno uintptr) {
	errno = _EMFILE
	systemstack(func() {
		lock(&barePipes.lock)
		for i, p := range barePipes.list {
			if p == nil {
				p = (*barePipe)(persistentalloc(unsafe.Sizeof(barePipe{}), 0, &memstats.other_sys))
				barePipes.list[i] = p
			}
			if p.ends[0].open || p.ends[1].open {
				continue
			}
			p.start, p.count = 0, 0
			for end := range p.ends {
				p.ends[end] = barePipeEnd{open: true, flags: uintptr(end)} // O_RDONLY, O_WRONLY
				fds[end] = int32(barePipeFirst + 2*i + end)
			}
			errno = 0
			break
		}
		unlock(&barePipes.lock)
	})
	return errno
}

// barepiperead is the system call read, for pipes.
//
//go:nosplit
func barepiperead(fd, buf, size uintptr) (n, errno uintptr) {
	systemstack(func() {
		lock(&barePipes.lock)
		p, end := barepipeend(fd)
		switch {
		case p == nil || end != 0:
			errno = _EBADF
		case p.count == 0 && p.ends[1].open:
			errno = _EAGAIN
		default:
			for n < size && p.count > 0 {
				m := min(int(size-n), p.count, barePipeSize-p.start)
				memmove(unsafe.Pointer(buf+n), unsafe.Pointer(&p.data[p.start]), uintptr(m))
				p.start = (p.start + m) % barePipeSize
				p.count -= m
				n += uintptr(m)
			}
			p.changed(end)
		}
		unlock(&barePipes.lock)
	})
	return n, errno
}

// barepipewrite is the system call write, for pipes.
//
//go:nosplit
func barepipewrite(fd, buf, size uintptr) (n, errno uintptr) {
	systemstack(func() {
		lock(&barePipes.lock)
		p, end := barepipeend(fd)
		switch {
		case p == nil || end != 1:
			errno = _EBADF
		case !p.ends[0].open:
			errno = _EPIPE
		case p.count == barePipeSize && size > 0:
			errno = _EAGAIN
		default:
			for n < size && p.count < barePipeSize {
				to := (p.start + p.count) % barePipeSize
				m := min(int(size-n), barePipeSize-p.count, barePipeSize-to)
				memmove(unsafe.Pointer(&p.data[to]), unsafe.Pointer(buf+n), uintptr(m))
				p.count += m
				n += uintptr(m)
			}
			p.changed(end)
		}
		unlock(&barePipes.lock)
	})
	return n, errno
}

// barepipeclose is the system call close, for pipes.
//
//go:nosplit
func barepipeclose(fd uintptr) (errno uintptr) {
	systemstack(func() {
		lock(&barePipes.lock)
		if p, end := barepipeend(fd); p != nil {
			p.ends[end].open = false
			p.changed(end)
		} else {
			errno = _EBADF
		}
		unlock(&barePipes.lock)
	})
	return errno
}

// barepipefcntl is the system call fcntl, for pipes.
//
//go:nosplit
func barepipefcntl(fd, cmd, arg uintptr) (r, errno uintptr) {
	const (
		getFlags = 3
		setFlags = 4
	)
	systemstack(func() {
		lock(&barePipes.lock)
		p, end := barepipeend(fd)
		switch {
		case p == nil:
			errno = _EBADF
		case cmd == getFlags:
			r = p.ends[end].flags
		case cmd == setFlags:
			p.ends[end].flags = arg
		default:
			errno = _EINVAL
		}
		unlock(&barePipes.lock)
	})
	return r, errno
}

// barepipepoll says who waits at a pipe's end; nobody if pd is nil.
func barepipepoll(fd uintptr, pd *pollDesc) (errno uintptr) {
	lock(&barePipes.lock)
	if p, end := barepipeend(fd); p != nil {
		p.ends[end].poll = pd
		p.ends[end].ready = false
	} else {
		errno = _EPERM
	}
	unlock(&barePipes.lock)
	return errno
}

// barepipesready adds those who wait for pipes that have changed to list, and returns what
// netpollready does.
//
//go:nowritebarrier
func barepipesready(list *gList) (delta int32) {
	if !barePipes.ready.Load() {
		return 0
	}
	lock(&barePipes.lock)
	barePipes.ready.Store(false)
	for _, p := range barePipes.list {
		if p == nil {
			break
		}
		for i, mode := range [2]int32{'r', 'w'} {
			if e := &p.ends[i]; e.ready && e.poll != nil {
				e.ready = false
				delta += netpollready(list, e.poll, mode)
			}
		}
	}
	unlock(&barePipes.lock)
	return delta
}
