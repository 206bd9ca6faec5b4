package event

// A Hit is what a probe event finds when its probe is hit. Allocate one for every processor
// beforehand: Run keeps intermediate values in it.
type Hit struct {
	Regs *[32]uint64 // by the index that Target.Register returns
	// Floats are the SSE registers. It may be nil if they were not saved: what they
	// hold prints (fault) then.
	Floats *[16][2]uint64
	// Read copies memory at an address to dst, and returns how many bytes it could
	// read. It is called with any address.
	Read func(dst []byte, addr uint64) int

	Goid     uint64 // the goroutine's id
	StartPC  uint64 // where the goroutine began
	Caller   uint64 // the address behind the call of the probed function
	Duration uint64 // of the call in nanoseconds, at a return
	Stack    uint64 // the stack pointer: at an entry it points to the return address
	CPU      int
	Return   bool // it is a return, not an entry or a place in a function

	scratch [16]byte // a word that is read; not on the stack, since Read's parameter escapes
}

// read copies memory and reports whether all of it could be read.
func (h *Hit) read(dst []byte, addr uint64) bool { return h.readSome(dst, addr) == len(dst) }

// readSome copies memory up to a fault and returns its length.
func (h *Hit) readSome(dst []byte, addr uint64) int {
	// What goes round the end of the address space is no object.
	if h.Read == nil || len(dst) == 0 || addr+uint64(len(dst)-1) < addr {
		return 0
	}
	return min(max(h.Read(dst, addr), 0), len(dst))
}

// load reads an unsigned integer of up to 8 bytes.
func (h *Hit) load(addr uint64, size int) (v uint64, ok bool) {
	b := h.scratch[:min(size, 8)]
	if !h.read(b, addr) {
		return 0, false
	}
	return littleEndian(b), true
}

// littleEndian is the integer in up to 8 bytes.
func littleEndian(b []byte) (v uint64) {
	for i := min(len(b), 8) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// putLittleEndian writes an integer's low bytes.
func putLittleEndian(b []byte, v uint64) {
	for i := range b {
		b[i] = byte(v)
		v >>= 8
	}
}
