package aggregate

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// StackDepth is the number of frames of the deepest stack. Of deeper ones the callers
// furthest away are left out.
const StackDepth = 32

// Stacks counts stacks.
type Stacks struct {
	t *tables
}

// NewStacks returns Stacks with room for a number of different stacks on each of cpus
// processors.
func NewStacks(cpus, stacks int) *Stacks {
	return &Stacks{newTables(cpus, stacks, StackDepth, 1)}
}

// Add counts a stack, given by the PCs of its frames, the innermost first. It runs in
// handler context, on the processor itself.
func (s *Stacks) Add(cpu int, pcs []uintptr) {
	c := s.t.cpu(cpu)
	if c == nil {
		return
	}
	if len(pcs) > StackDepth {
		pcs = pcs[:StackDepth]
	}
	for i, pc := range pcs {
		c.scratch[i] = uint64(pc)
	}
	if v := s.t.find(c, len(pcs), len(pcs)); len(v) > 0 {
		atomic.AddUint64(&v[0], 1)
	}
}

// Clear forgets everything.
func (s *Stacks) Clear() { s.t.clear() }

// A StackCount is a stack and how often it was there.
type StackCount struct {
	PCs   []uintptr
	Count uint64
}

// StackCounts are what Stacks has counted: the most frequent first, those of one count in
// the order of their PCs.
type StackCounts struct {
	Entries []StackCount
	Lost    uint64 // hits for whose stack there was no room
}

// Snapshot returns what has been counted.
func (s *Stacks) Snapshot() StackCounts {
	entries, lost := s.t.read()
	r := StackCounts{Lost: lost}
	type stack struct {
		depth int
		pcs   [StackDepth]uint64
	}
	at := make(map[stack]int)
	for _, e := range entries {
		k := stack{depth: e.length}
		copy(k.pcs[:], e.key[:e.length])
		i, ok := at[k]
		if !ok {
			i = len(r.Entries)
			at[k] = i
			pcs := make([]uintptr, e.length)
			for j := range pcs {
				pcs[j] = uintptr(e.key[j])
			}
			r.Entries = append(r.Entries, StackCount{PCs: pcs})
		}
		r.Entries[i].Count += e.values[0]
	}
	// A stack is there a moment before its first hit.
	r.Entries = slices.DeleteFunc(r.Entries, func(e StackCount) bool { return e.Count == 0 })
	slices.SortFunc(r.Entries, func(a, b StackCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), slices.Compare(a.PCs, b.PCs))
	})
	return r
}

// Top returns the n most frequent stacks.
func (s StackCounts) Top(n int) StackCounts {
	s.Entries = top(s.Entries, n)
	return s
}
