package event

// An opcode is a step of fetching a value.
type opcode uint8

const (
	opImm      opcode = iota // v = n
	opReg                    // v = register index
	opFloat                  // v = low 8 bytes of SSE register index
	opStack                  // v = the stack pointer
	opStartPC                // v = where the goroutine began
	opGoid                   // v = the goroutine's id
	opCaller                 // v = the caller
	opDuration               // v = the duration
	opElem                   // v = the address of the slice's element
	opAdd                    // v += n
	opLoad                   // v = size bytes at v + n
	opFunc                   // v = the word at v, the entry of a func value; 0 of a nil one
	opSigned                 // v = its low size bytes, sign extended
	opUnsigned               // v = its low size bytes
	opBits                   // v = width bits from bit index
)

// An op is one step. Steps work on one value, v.
type op struct {
	code  opcode
	index uint8
	size  uint8 // in bytes; of opBits the width in bits
	n     uint64
}

// eval fetches a value. elem is the address of the element that the ops may refer to. It
// reports false if memory could not be read, or the hit lacks what is asked for.
func (h *Hit) eval(ops []op, elem uint64) (v uint64, ok bool) {
	for i := range ops {
		o := &ops[i]
		switch o.code {
		case opImm:
			v = o.n
		case opReg:
			if h.Regs == nil {
				return 0, false
			}
			v = h.Regs[o.index&31]
		case opFloat:
			if h.Floats == nil {
				return 0, false
			}
			v = h.Floats[o.index&15][0]
		case opStack:
			v = h.Stack
		case opStartPC:
			v = h.StartPC
		case opGoid:
			v = h.Goid
		case opCaller:
			v = h.Caller
		case opDuration:
			v = h.Duration
		case opElem:
			v = elem
		case opAdd:
			v += o.n
		case opLoad:
			if v, ok = h.load(v+o.n, int(o.size)); !ok {
				return 0, false
			}
		case opFunc:
			if v == 0 {
				break
			}
			if v, ok = h.load(v, 8); !ok {
				return 0, false
			}
		case opSigned:
			v = signExtend(v, int(o.size))
		case opUnsigned:
			shift := 64 - 8*uint64(o.size)
			v = v << shift >> shift
		case opBits:
			v = v >> o.index << (64 - uint64(o.size)) >> (64 - uint64(o.size))
		}
	}
	return v, true
}

// signExtend extends an integer of a number of bytes.
func signExtend(v uint64, size int) uint64 {
	shift := 64 - 8*uint64(size)
	return uint64(int64(v<<shift) >> shift)
}
