package aggregate

import "encoding/binary"

// KeySize is the size of the longest key in bytes. Longer ones are cut.
const KeySize = 64

const keyWords = KeySize / 8

// findKey is find for a key of bytes.
func (t *tables) findKey(cpu int, key []byte) []uint64 {
	c := t.cpu(cpu)
	if c == nil {
		return nil
	}
	if len(key) > KeySize {
		key = key[:KeySize]
	}
	length := len(key)
	words := 0
	for ; len(key) >= 8; key = key[8:] {
		c.scratch[words] = binary.LittleEndian.Uint64(key)
		words++
	}
	if len(key) > 0 {
		w := uint64(0)
		for i, b := range key {
			w |= uint64(b) << (8 * i)
		}
		c.scratch[words] = w
		words++
	}
	return t.find(c, words, length)
}

// bytes returns a key of bytes.
func (e *entry) bytes() []byte {
	key := make([]byte, 0, KeySize)
	for _, w := range e.key {
		key = binary.LittleEndian.AppendUint64(key, w)
	}
	return key[:e.length:e.length]
}
