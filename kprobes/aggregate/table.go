// Package aggregate sums hits up where they happen, instead of recording them: it counts
// them by key, puts values and latencies into histograms, and counts stacks.
//
// Updates run in handler context: each processor has tables of its own, of a fixed size,
// allocated when they are made. What finds no room there is counted as lost. Snapshots
// run in goroutines, add up the tables of all processors, and do not disturb the updates.
//
// # How writer and reader share a table
//
// A key is written once, before the number of keys says that it is there, and stays until
// the table is cleared. The values behind it are words that change atomically, each by
// itself: a snapshot may have a hit in one word and not yet in another. Clear only starts
// a new epoch; each processor finds that out at its next update, and forgets its keys
// then. Until then readers ignore what is from another epoch than the current one. The
// index, which leads from a key's hash to the key, is the processor's own, and never read
// by others.
//
// The package knows no probes, registers or symbols: keys are bytes and stacks are
// numbers, which the caller names when they are printed.
package aggregate

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
)

// maxKeys is the largest number of keys that a table can be made for.
const maxKeys = 1 << 20

// tables are one table of keys and values for every processor.
type tables struct {
	keyWords, valueWords int // of one key
	cpus                 []table
	epoch                atomic.Uint32
	stray                atomic.Uint64 // hits on processors that have no table

	// reading is held by readers and by Clear, so that there is one epoch while a reader
	// reads.
	reading sync.Mutex
}

// A table is one processor's.
type table struct {
	epoch atomic.Uint32 // that n, lost, keys and values are of
	n     atomic.Uint32 // keys
	lost  atomic.Uint64 // hits

	lengths []uint32 // of keys, in the unit of the caller
	keys    []uint64 // keyWords for each
	values  []uint64 // valueWords for each

	// The processor's own.
	index   []slot
	scratch []uint64 // the key that is looked for

	_ [64]byte // keeps the next table's words out of this one's cache line
}

// A slot of the index is in use if its epoch is the current one.
type slot struct {
	epoch, hash, key uint32
}

// newTables returns tables for a number of keys on each processor.
func newTables(cpus, keys, keyWords, valueWords int) *tables {
	keys = max(1, min(keys, maxKeys))
	t := &tables{keyWords: keyWords, valueWords: valueWords, cpus: make([]table, max(cpus, 1))}
	t.epoch.Store(1)
	for i := range t.cpus {
		c := &t.cpus[i]
		c.lengths = make([]uint32, keys)
		c.keys = make([]uint64, keys*keyWords)
		c.values = make([]uint64, keys*valueWords)
		// Half empty at least, so that a search is short and ends.
		c.index = make([]slot, 1<<bits.Len(uint(2*keys-1)))
		c.scratch = make([]uint64, keyWords)
	}
	return t
}

// cpu returns a processor's table, or nil if it has none: that hit is lost.
func (t *tables) cpu(cpu int) *table {
	if uint(cpu) >= uint(len(t.cpus)) {
		t.stray.Add(1)
		return nil
	}
	return &t.cpus[cpu]
}

// find returns the values of the key whose words are the first ones of c.scratch. A new
// key gets zeros. It returns nil if there is no room for one: that hit is lost.
func (t *tables) find(c *table, words, length int) []uint64 {
	epoch := t.epoch.Load()
	if c.epoch.Load() != epoch {
		c.n.Store(0)
		c.lost.Store(0)
		c.epoch.Store(epoch)
	}
	key := c.scratch[:words]
	h := hash(key, length)
	mask := uint32(len(c.index) - 1)
	for i := range uint32(len(c.index)) {
		s := &c.index[(h+i)&mask]
		if s.epoch != epoch {
			n := c.n.Load()
			if int(n) >= len(c.lengths) {
				break
			}
			*s = slot{epoch, h, n}
			return t.insert(c, n, key, length)
		}
		if s.hash == h && c.lengths[s.key] == uint32(length) && equal(t.key(c, s.key), key) {
			return t.value(c, s.key)
		}
	}
	c.lost.Add(1)
	return nil
}

// insert makes a key the table's nth.
func (t *tables) insert(c *table, n uint32, key []uint64, length int) []uint64 {
	words, values := t.key(c, n), t.value(c, n)
	// Word by word, because copy and clear would call what uses SSE registers.
	for i, w := range key {
		atomic.StoreUint64(&words[i], w)
	}
	for i := range values {
		atomic.StoreUint64(&values[i], 0)
	}
	c.lengths[n] = uint32(length)
	c.n.Store(n + 1)
	return values
}

func (t *tables) key(c *table, n uint32) []uint64 {
	return c.keys[int(n)*t.keyWords:][:t.keyWords]
}

func (t *tables) value(c *table, n uint32) []uint64 {
	return c.values[int(n)*t.valueWords:][:t.valueWords]
}

// equal reports whether a key begins with the words of another one.
func equal(key, words []uint64) bool {
	if len(key) < len(words) {
		return false
	}
	for i, w := range words {
		if key[i] != w {
			return false
		}
	}
	return true
}

// hash mixes the words of a key.
func hash(words []uint64, length int) uint32 {
	const factor = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio: odd, its bits look random
	h := uint64(length+1) * factor
	for _, w := range words {
		high, low := bits.Mul64(h^w, factor)
		h = high ^ low
	}
	return uint32(h ^ h>>32)
}

// clear has all tables start anew.
func (t *tables) clear() {
	t.reading.Lock()
	defer t.reading.Unlock()
	t.epoch.Add(1)
	t.stray.Store(0)
}

// An entry is a key with its values as they are in one processor's table.
type entry struct {
	key    []uint64
	length int
	values []uint64
}

// read copies the tables of all processors. Keys may be there once for each.
func (t *tables) read() (entries []entry, lost uint64) {
	t.reading.Lock()
	defer t.reading.Unlock()
	epoch := t.epoch.Load()
	lost = t.stray.Load()
	for i := range t.cpus {
		c := &t.cpus[i]
		if c.epoch.Load() != epoch {
			continue
		}
		lost += c.lost.Load()
		for n := range c.n.Load() {
			e := entry{
				key:    slices.Clone(t.key(c, n)),
				length: int(c.lengths[n]),
				values: make([]uint64, t.valueWords),
			}
			values := t.value(c, n)
			// The last word first: updates end with it, so those before it are not behind
			// it.
			for j := len(values) - 1; j >= 0; j-- {
				e.values[j] = atomic.LoadUint64(&values[j])
			}
			entries = append(entries, e)
		}
	}
	return entries, lost
}
