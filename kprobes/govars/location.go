package govars

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"math"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/dwarf/op"

	"tamaprobe/kprobes/event"
)

// A location is where a value is: in pieces, one behind the other.
type location []piece

// A piece is where some bytes of a value are: in a register, or in memory. Bytes of which
// there is no piece are nowhere.
type piece struct {
	offset, size int64 // in the value
	memory       *memory
	register     event.Fetch // if memory is nil
}

// A memory is an address: a constant, or what was fetched and a constant.
type memory struct {
	of *event.Fetch
	n  int64
}

// at returns what fetches the memory at an offset.
func (m memory) at(offset int64) event.Fetch {
	if m.of == nil {
		return event.Fetch{Op: event.FetchMem, Addr: uint64(m.n + offset)}
	}
	return event.Fetch{Op: event.FetchDeref, N: m.n + offset, Of: m.of}
}

// inMemory is the location of a value in memory as a whole.
func inMemory(m memory) location {
	return location{{size: math.MaxInt64, memory: &m}}
}

// onStack is the location of a value at a distance from the stack pointer.
func onStack(offset int64) location {
	return inMemory(memory{&event.Fetch{Op: event.FetchStack}, offset})
}

// behind is the location of what a pointer points to.
func behind(pointer event.Fetch) location {
	return inMemory(memory{of: &pointer})
}

// part returns the location of a value inside of the value.
func (l location) part(offset int64) location {
	r := make(location, len(l))
	for i, p := range l {
		p.offset -= offset
		r[i] = p
	}
	return r
}

// fetch returns what fetches some bytes of a value. They must be in one piece, and in a
// register at its lower end.
func (l location) fetch(offset, size int64) (event.Fetch, bool) {
	for _, p := range l {
		if offset < p.offset || size > p.size || offset-p.offset > p.size-size {
			continue
		}
		if p.memory != nil {
			return p.memory.at(offset - p.offset), true
		}
		return p.register, offset == p.offset
	}
	return event.Fetch{}, false
}

// registerNames are the names that Linux gives the integer registers, in the order in which
// the System V ABI for x86-64 numbers them in debugging information (figure 3.36).
var registerNames = [...]string{"ax", "dx", "cx", "bx", "si", "di", "bp", "sp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

// The numbers of the stack pointer and the SSE registers there.
const (
	stackPointer  = 7
	firstSSE      = 17
	sseRegisters  = 16
	unavailableAt = "the compiler keeps it nowhere there"
)

var errUnavailable = errors.New(unavailableAt)

// fetchRegister returns what fetches a register, by its number in debugging information.
func fetchRegister(n uint64) (event.Fetch, error) {
	switch {
	case n < uint64(len(registerNames)):
		return event.Fetch{Op: event.FetchReg, Name: registerNames[n]}, nil
	case n >= firstSSE && n < firstSSE+sseRegisters:
		return event.Fetch{Op: event.FetchFloat, N: int64(n - firstSSE)}, nil
	}
	return event.Fetch{}, errors.New("the compiler keeps it in a register that a probe cannot read")
}

// Location expressions compute with addresses, of which nothing is known yet. They are
// executed with numbers that stand for them: multiples of symbolStep, far enough apart
// that what is added to them does not matter. The first one stands for the frame's address
// (CFA), each further one for a word read from memory.
const symbolStep = 1 << 40

// An evaluation executes a location expression.
type evaluation struct {
	frame   int64 // the frame's address, from the stack pointer
	symbols []event.Fetch
}

// memory returns the address that a number stands for.
func (v *evaluation) memory(n int64) (memory, error) {
	symbol := (n + symbolStep/2) / symbolStep
	switch {
	case symbol == 0:
		return memory{n: n}, nil
	case symbol == 1:
		return memory{&event.Fetch{Op: event.FetchStack}, n - symbolStep + v.frame}, nil
	case symbol >= 2 && symbol < int64(len(v.symbols))+2:
		return memory{&v.symbols[symbol-2], n - symbol*symbolStep}, nil
	}
	return memory{}, errors.New("its location is too complicated")
}

// read stands for reading memory while a location expression is executed.
func (v *evaluation) read(b []byte, addr uint64) (int, error) {
	m, err := v.memory(int64(addr))
	if err != nil {
		return 0, err
	}
	if len(b) != wordSize {
		return 0, errors.New("its location is too complicated")
	}
	v.symbols = append(v.symbols, m.at(0))
	binary.LittleEndian.PutUint64(b, uint64(len(v.symbols)+1)*symbolStep)
	return len(b), nil
}

// execute executes the location expression of a variable of a type. frame is the distance of
// the frame's address from the stack pointer.
func execute(expression []byte, t godwarf.Type, frame int64) (location, error) {
	if len(expression) == 0 {
		return nil, errUnavailable
	}
	v := evaluation{frame: frame}
	regs := op.DwarfRegisters{CFA: symbolStep, FrameBase: symbolStep, ByteOrder: binary.LittleEndian}
	addr, pieces, err := op.ExecuteStackProgram(regs, expression, wordSize, v.read)
	if err != nil {
		return nil, err
	}
	if pieces == nil {
		m, err := v.memory(addr)
		if err != nil {
			return nil, err
		}
		return inMemory(m), nil
	}
	if len(pieces) == 1 && pieces[0].Size == 0 {
		pieces[0].Size = math.MaxInt64
	}
	var l location
	words := words(t, 0, nil)
	offset := int64(0)
	for _, p := range pieces {
		size := int64(p.Size)
		if next := nextWord(words, offset); next-offset != size {
			// The compiler's optimized lists of pieces leave padding out.
			offset = next
		}
		piece := piece{offset: offset, size: size}
		switch {
		case p.Kind == op.RegPiece:
			if piece.register, err = fetchRegister(p.Val); err != nil {
				return nil, err
			}
		case p.Kind == op.AddrPiece:
			m, err := v.memory(int64(p.Val))
			if err != nil {
				return nil, err
			}
			piece.memory = &m
		default: // padding, or what is nowhere
			offset += size
			continue
		}
		l = append(l, piece)
		offset += size
	}
	if len(l) == 0 {
		return nil, errUnavailable
	}
	return l, nil
}

// A word is what is in one register if a value is in registers.
type word struct{ offset, size int64 }

// maxWords bounds the words that are looked at: values of more of them are in memory.
const maxWords = 64

// words appends a type's words.
func words(t godwarf.Type, offset int64, to []word) []word {
	if len(to) >= maxWords {
		return to
	}
	switch u := underlying(t).(type) {
	case *godwarf.StructType:
		for _, f := range u.Field {
			to = words(f.Type, offset+f.ByteOffset, to)
		}
		return to
	case *godwarf.ArrayType:
		for i := int64(0); i < u.Count && len(to) < maxWords; i++ {
			to = words(u.Type, offset+i*u.Type.Size(), to)
		}
		return to
	}
	size := t.Size()
	part := size
	switch leafType(t).Kind {
	case event.TypeGoString, event.TypeSlice, event.TypeInterface:
		part = wordSize
	case event.TypeComplex:
		part = max(1, size/2)
	}
	for at := int64(0); at < size; at += part {
		to = append(to, word{offset + at, part})
	}
	return to
}

// nextWord returns an offset that is not in padding: the given one or that of the next word.
func nextWord(words []word, offset int64) int64 {
	for _, w := range words {
		if offset < w.offset {
			return w.offset
		}
		if offset < w.offset+w.size {
			break
		}
	}
	return offset
}

// expression returns the location expression of a variable that holds at an address.
func (im *Image) expression(u *unit, e godwarf.Entry, pc uint64) ([]byte, error) {
	switch attr := e.Val(dwarf.AttrLocation).(type) {
	case []byte:
		return attr, nil
	case int64:
		lists, err := im.locationLists()
		if err != nil {
			return nil, err
		}
		entry, err := lists.Find(int(attr), 0, u.low, pc, im.addr.GetSubsection(u.addrBase))
		if err != nil || entry == nil {
			return nil, err
		}
		return entry.Instr, nil
	}
	return nil, nil
}

// frameOffset returns the distance of the frame's address from the stack pointer at an
// address in the code. The frame's address (CFA) is above the return address.
func (im *Image) frameOffset(pc uint64) (int64, error) {
	frames, err := im.frameEntries()
	if err != nil {
		return 0, err
	}
	entry, err := frames.FDEForPC(pc)
	if err != nil {
		return 0, err
	}
	context, err := entry.EstablishFrame(pc)
	if err != nil {
		return 0, err
	}
	if context.CFA.Reg != stackPointer {
		return 0, errors.New("the frame is not where the stack pointer says")
	}
	return context.CFA.Offset, nil
}
