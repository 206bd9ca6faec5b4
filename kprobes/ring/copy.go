package ring

import "encoding/binary"

// load copies what a writer may be writing to, word by word. What it got is worth nothing
// until tail has been looked at after it. It has a loop of its own because the race
// detector looks at copy wherever it is called.
//
//go:norace
//go:noinline
func load(to, from []byte) {
	for len(to) >= 8 && len(from) >= 8 {
		binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(from))
		to, from = to[8:], from[8:]
	}
	for i := range min(len(to), len(from)) {
		to[i] = from[i]
	}
}
