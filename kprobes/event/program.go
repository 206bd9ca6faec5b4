package event

import "slices"

// What a program records is a frame of fixed size, behind which the variable data lies that
// the frame's slots refer to, as Linux's __data_loc does. A frame begins with a bit for every
// slot that could not be read. A slice's elements are frames of their own in the
// variable data.

// Limits of what is recorded.
const (
	stringLimit   = 255 // bytes of a string
	sliceLimit    = 8   // elements of a slice
	behindLimit   = 16  // bytes behind an interface's data word
	maxFrame      = 4096
	maxSlots      = 1024
	maxValueDepth = 8
	maxRecord     = 1<<16 - 1 // what a slot can refer to
)

// A store is how a slot is recorded.
type store uint8

const (
	storeWord      store = iota // the value's low bytes
	storeBytes                  // size bytes of memory at the value
	storeCString                // location; the bytes at the value up to a zero byte
	storeGoString               // location; the second value's number of bytes at the value
	storeSlice                  // location, length; frames of the elements
	storeInterface              // type, data, location; what is behind the data word
)

// Sizes of slots.
const (
	locationSize  = 4 // offset and length, 2 bytes each
	sliceSize     = locationSize + 8
	interfaceSize = 8 + 8 + locationSize
)

// Flags of a location's length.
const (
	flagCut      = 1 << 15
	flagFault    = 1 << 14
	locationMask = flagFault - 1
)

// A slot is a piece of a frame.
type slot struct {
	store  store
	empty  bool // of an interface without methods
	entry  bool // of a return event: recorded at the entry
	offset int  // in the frame
	size   int  // in the frame
	value  []op
	second []op   // of a string or slice the length, of an interface the data word
	stride uint64 // of a slice
	elem   *frame // of a slice; nil: only the length is recorded
}

// A frame is a layout of slots.
type frame struct {
	faults int // bytes of bits
	size   int // with the bits
	slots  []slot
}

// A Program records the arguments of an event.
type Program struct {
	frame    frame
	args     []node
	recorded int      // how many args are not for the filter only
	strings  []uint64 // sorted: the types of which an interface's text is recorded
	filter   *test

	hasEntry bool // some slots are recorded at the entry
}

// Size returns the length of a record's fixed part: what Run's buffer must hold at least.
// Strings and slices are recorded behind it, as much as fits.
func (p *Program) Size() int { return p.frame.size }

// Run records the arguments at a hit. It returns the record's length, 0 if the buffer is too
// small for the fixed part. It may be called at a hit: it does not allocate, and survives
// whatever the registers and the memory hold.
func (p *Program) Run(h *Hit, buf []byte) int {
	buf = buf[:min(len(buf), maxRecord)]
	if len(buf) < p.frame.size {
		return 0
	}
	clear(buf[:p.frame.size])
	r := recorder{h: h, p: p, buf: buf, used: p.frame.size}
	r.record(&p.frame, 0, 0)
	return r.used
}

// HasEntry reports whether a return event's record is begun at the entry, by RunEntry.
func (p *Program) HasEntry() bool { return p.hasEntry }

// RunEntry begins the record of a return event at the function's entry, and returns its length so
// far, 0 if the buffer is too small for the fixed part. It may be called at a hit.
func (p *Program) RunEntry(h *Hit, buf []byte) int {
	buf = buf[:min(len(buf), maxRecord)]
	if len(buf) < p.frame.size {
		return 0
	}
	clear(buf[:p.frame.size])
	r := recorder{h: h, p: p, buf: buf, used: p.frame.size, atEntry: true}
	r.record(&p.frame, 0, 0)
	return r.used
}

// RunReturn ends the record that RunEntry began, of which the buffer holds n bytes, and returns its
// length. It may be called at a hit.
func (p *Program) RunReturn(h *Hit, buf []byte, n int) int {
	buf = buf[:min(len(buf), maxRecord)]
	if n < p.frame.size || len(buf) < n {
		return 0
	}
	r := recorder{h: h, p: p, buf: buf, used: n}
	r.record(&p.frame, 0, 0)
	return r.used
}

// A recorder fills one record.
type recorder struct {
	h    *Hit
	p    *Program
	buf  []byte
	used int

	atEntry bool // of a return event: only what is recorded there
}

// record fills the frame at base. There is room for it.
func (r *recorder) record(f *frame, base int, elem uint64) {
	b := r.buf[base : base+f.size]
	whole := f == &r.p.frame
	if !whole {
		clear(b)
	}
	for i := range f.slots {
		s := &f.slots[i]
		if whole && r.p.hasEntry && s.entry != r.atEntry {
			continue
		}
		if !r.slot(s, b[s.offset:s.offset+s.size], elem) {
			b[i>>3] |= 1 << (i & 7)
		}
	}
}

// slot fills one slot. It reports false for a fault.
func (r *recorder) slot(s *slot, b []byte, elem uint64) bool {
	v, ok := r.h.eval(s.value, elem)
	if !ok {
		return false
	}
	switch s.store {
	case storeBytes:
		return r.h.read(b, v)
	case storeCString:
		return r.cString(b, v)
	case storeGoString, storeSlice, storeInterface:
		second, ok := r.h.eval(s.second, elem)
		if !ok {
			return false
		}
		switch s.store {
		case storeGoString:
			return r.goString(b, v, second)
		case storeSlice:
			return r.slice(s, b, v, second)
		default:
			return r.interfaceValue(s, b, v, second)
		}
	default:
		putLittleEndian(b, v)
		return true
	}
}

// free is the room for variable data.
func (r *recorder) free() int { return len(r.buf) - r.used }

// locate writes a location: length bytes or elements from used on.
func (r *recorder) locate(b []byte, length, flags int) {
	putLittleEndian(b[:2], uint64(r.used))
	putLittleEndian(b[2:4], uint64(length|flags))
}

// cString records the bytes at an address up to a zero byte. It reads them in small pieces, because
// most strings are short.
func (r *recorder) cString(b []byte, addr uint64) bool {
	limit := min(stringLimit, r.free())
	length, flags := 0, flagCut
read:
	for length < limit {
		piece := r.buf[r.used+length:][:min(32, limit-length)]
		n := r.h.readSome(piece, addr+uint64(length))
		for i := range piece[:n] {
			if piece[i] == 0 {
				length += i
				flags = 0
				break read
			}
		}
		length += n
		if n < len(piece) {
			return false
		}
	}
	if flags != 0 && length == stringLimit {
		// A string of just the limit is whole.
		if end, ok := r.h.load(addr+uint64(length), 1); ok && end == 0 {
			flags = 0
		}
	}
	r.locate(b, length, flags)
	r.used += length
	return true
}

// goString records bytes of which the number is known.
func (r *recorder) goString(b []byte, addr, length uint64) bool {
	n, flags := min(stringLimit, r.free()), flagCut
	if length <= uint64(n) {
		n, flags = int(length), 0
	}
	if !r.h.read(r.buf[r.used:][:n], addr) && n > 0 {
		return false
	}
	r.locate(b, n, flags)
	r.used += n
	return true
}

// slice records the first elements.
func (r *recorder) slice(s *slot, b []byte, addr, length uint64) bool {
	n := min(length, sliceLimit)
	switch {
	case s.elem == nil:
		n = 0
	case s.elem.size > 0:
		n = min(n, uint64(r.free()/s.elem.size))
	}
	r.locate(b, int(n), 0)
	putLittleEndian(b[locationSize:], length)
	if n == 0 {
		return true
	}
	base := r.used
	r.used += int(n) * s.elem.size
	for i := range int(n) {
		r.record(s.elem, base+i*s.elem.size, addr+uint64(i)*s.stride)
	}
	return true
}

// interfaceValue records the dynamic type, the data word, and the text or the first bytes of
// what is behind it.
func (r *recorder) interfaceValue(s *slot, b []byte, typ, data uint64) bool {
	if typ != 0 && !s.empty {
		var ok bool
		// The type is the second word of an itab, see internal/abi.ITab.
		if typ, ok = r.h.load(typ+8, 8); !ok {
			return false
		}
	}
	putLittleEndian(b[:8], typ)
	putLittleEndian(b[8:16], data)
	location := b[16:]
	if typ == 0 || data == 0 {
		return true
	}
	if r.p.hasText(typ) {
		addr, ok1 := r.h.load(data, 8)
		length, ok2 := r.h.load(data+8, 8)
		if !ok1 || !ok2 || !r.goString(location, addr, length) {
			r.locate(location, 0, flagFault)
		}
		return true
	}
	n := min(behindLimit, r.free())
	n = r.h.readSome(r.buf[r.used:][:n], data)
	r.locate(location, n, 0)
	r.used += n
	return true
}

// hasText reports whether interfaces of a dynamic type are recorded with their text.
func (p *Program) hasText(typ uint64) bool {
	_, ok := slices.BinarySearch(p.strings, typ)
	return ok
}
