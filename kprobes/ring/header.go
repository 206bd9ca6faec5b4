package ring

import "encoding/binary"

// A Header is what every record begins with.
type Header struct {
	Time    int64 // when the hit was, on a clock that all processors share
	Goid    uint64
	StartPC uint64 // where the goroutine's function begins
	PC      uint64
	Caller  uint64
	Event   uint32
	CPU     uint16 // the ring's number; writers need not set it
}

// A Record is a record as a reader gets it.
type Record struct {
	Header
	// Lost is how many records of this processor were lost between the one that was read
	// before and this one: dropped, or overwritten.
	Lost uint64
	// Data is the payload.
	Data []byte
}

// The layout of a record: headerSize bytes, then the payload, then up to 7 bytes that
// bring it to a multiple of 8. What has no room before the end of the memory begins at
// its start, and padding fills the rest: a first word with isPadding set. Padding belongs
// to the record behind it; tail and head never lie between the two.
const (
	offsetSize     = 0 // 4 bytes: of the payload
	offsetEvent    = 4 // 4 bytes
	offsetTime     = 8
	offsetGoid     = 16
	offsetStartPC  = 24
	offsetPC       = 32
	offsetCaller   = 40
	offsetSequence = 48 // counts what was written or dropped, so that a reader sees gaps
	headerSize     = 56

	alignment = 8
	isPadding = 1 << 31 // in the place of the size
)

// recordSize returns the size of a record with a payload of n bytes.
func recordSize(n int) uint64 {
	return headerSize + (uint64(n)+alignment-1)&^uint64(alignment-1)
}

// putHeader writes all of a header but the payload's size.
func putHeader(mem []byte, h *Header, sequence uint64) {
	_ = mem[headerSize-1]
	binary.LittleEndian.PutUint32(mem[offsetEvent:], h.Event)
	binary.LittleEndian.PutUint64(mem[offsetTime:], uint64(h.Time))
	binary.LittleEndian.PutUint64(mem[offsetGoid:], h.Goid)
	binary.LittleEndian.PutUint64(mem[offsetStartPC:], h.StartPC)
	binary.LittleEndian.PutUint64(mem[offsetPC:], h.PC)
	binary.LittleEndian.PutUint64(mem[offsetCaller:], h.Caller)
	binary.LittleEndian.PutUint64(mem[offsetSequence:], sequence)
}

// header decodes a header.
func header(mem []byte, cpu int) Header {
	_ = mem[headerSize-1]
	return Header{
		Time:    int64(binary.LittleEndian.Uint64(mem[offsetTime:])),
		Goid:    binary.LittleEndian.Uint64(mem[offsetGoid:]),
		StartPC: binary.LittleEndian.Uint64(mem[offsetStartPC:]),
		PC:      binary.LittleEndian.Uint64(mem[offsetPC:]),
		Caller:  binary.LittleEndian.Uint64(mem[offsetCaller:]),
		Event:   binary.LittleEndian.Uint32(mem[offsetEvent:]),
		CPU:     uint16(cpu),
	}
}

func payloadSize(mem []byte) uint32 { return binary.LittleEndian.Uint32(mem[offsetSize:]) }

func sequence(mem []byte) uint64 { return binary.LittleEndian.Uint64(mem[offsetSequence:]) }
