package aggregate

import (
	"bytes"
	"cmp"
	"slices"
	"sync/atomic"
)

// A Count counts by key.
type Count struct {
	t *tables
}

// NewCount returns a Count with room for a number of keys on each of cpus processors.
func NewCount(cpus, keys int) *Count {
	return &Count{newTables(cpus, keys, keyWords, 1)}
}

// Add adds n to a key's count; no bytes are a key too. It runs in handler context, on the
// processor itself.
func (c *Count) Add(cpu int, key []byte, n uint64) {
	if v := c.t.findKey(cpu, key); len(v) > 0 {
		atomic.AddUint64(&v[0], n)
	}
}

// Clear forgets everything.
func (c *Count) Clear() { c.t.clear() }

// A KeyCount is a key and its count.
type KeyCount struct {
	Key   []byte
	Count uint64
}

// Counts are what a Count has counted: the largest first, those of one count in the order
// of their keys.
type Counts struct {
	Entries []KeyCount
	Lost    uint64 // hits for whose key there was no room
}

// Snapshot returns what has been counted.
func (c *Count) Snapshot() Counts {
	entries, lost := c.t.read()
	s := Counts{Lost: lost}
	at := make(map[string]int)
	for i := range entries {
		key := entries[i].bytes()
		j, ok := at[string(key)]
		if !ok {
			j = len(s.Entries)
			at[string(key)] = j
			s.Entries = append(s.Entries, KeyCount{Key: key})
		}
		s.Entries[j].Count += entries[i].values[0]
	}
	// A key is there a moment before its first hit.
	s.Entries = slices.DeleteFunc(s.Entries, func(e KeyCount) bool { return e.Count == 0 })
	slices.SortFunc(s.Entries, func(a, b KeyCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), bytes.Compare(a.Key, b.Key))
	})
	return s
}

// Top returns the n largest counts.
func (s Counts) Top(n int) Counts {
	s.Entries = top(s.Entries, n)
	return s
}

// top returns the first n of entries.
func top[E any](entries []E, n int) []E {
	return entries[:max(0, min(n, len(entries)))]
}
