package aggregate

import (
	"bytes"
	"cmp"
	"slices"
	"sync/atomic"
)

// A Hist puts values into buckets, by key.
type Hist struct {
	t     *tables
	scale scale
	unit  Unit
}

// A Unit is what a histogram's values are.
type Unit uint8

const (
	Number Unit = iota
	Nanoseconds
)

// What is kept for a key: words that updates only add to or raise, and all begin at zero.
// The smallest and largest value are kept so that they rise (rank). The bucket is updated
// last: a hit that shows there is in the other words.
const (
	wordSum = iota
	wordMin // rank(v), inverted
	wordMax // rank(v)
	wordBuckets
)

// rank maps values to unsigned numbers in the same order.
func rank(v int64) uint64 { return uint64(v) ^ 1<<63 }

func unrank(u uint64) int64 { return int64(u ^ 1<<63) }

// NewHist returns a Hist with buckets by powers of two, and room for a number of keys on
// each of cpus processors. A key takes about 1 KiB on each, whether it is used or not.
func NewHist(cpus, keys int) *Hist { return newHist(cpus, keys, log2, Number) }

// NewLatency is NewHist for times in nanoseconds.
func NewLatency(cpus, keys int) *Hist { return newHist(cpus, keys, log2, Nanoseconds) }

// NewLinearHist returns a Hist with a bucket for each step from low up to, but not
// including, high, one for what is less, and one for what is more.
func NewLinearHist(cpus, keys int, low, high, step int64) (*Hist, error) {
	s, err := newLinear(low, high, step)
	if err != nil {
		return nil, err
	}
	return newHist(cpus, keys, s, Number), nil
}

func newHist(cpus, keys int, s scale, u Unit) *Hist {
	return &Hist{newTables(cpus, keys, keyWords, wordBuckets+s.buckets()), s, u}
}

// Add puts a value into its bucket for a key; no bytes are a key too. It runs in handler
// context, on the processor itself.
func (h *Hist) Add(cpu int, key []byte, value int64) {
	v := h.t.findKey(cpu, key)
	b := wordBuckets + h.scale.bucket(value)
	if uint(b) >= uint(len(v)) {
		return
	}
	atomic.AddUint64(&v[wordSum], uint64(value))
	raise(&v[wordMin], ^rank(value))
	raise(&v[wordMax], rank(value))
	atomic.AddUint64(&v[b], 1)
}

// raise sets a word to u if that is more. Nobody else writes it.
func raise(word *uint64, u uint64) {
	if u > atomic.LoadUint64(word) {
		atomic.StoreUint64(word, u)
	}
}

// Clear forgets everything.
func (h *Hist) Clear() { h.t.clear() }

// A Histogram is the values of one key.
type Histogram struct {
	Key      []byte
	Unit     Unit
	Count    uint64
	Sum      int64 // wraps around when it is too large
	Min, Max int64
	// Buckets are those from the first to the last one that is not empty.
	Buckets []Bucket

	scale scale
}

// Mean returns the average value, rounded towards zero.
func (h *Histogram) Mean() int64 {
	if h.Count == 0 {
		return 0
	}
	return h.Sum / int64(h.Count)
}

// A Bucket is how many values from Low to High, both included, there were.
type Bucket struct {
	Low, High int64
	Count     uint64

	number int // on its scale
}

// Histograms are what a Hist has: the one with the most values first, those with as many
// in the order of their keys.
type Histograms struct {
	Entries []Histogram
	Lost    uint64 // hits for whose key there was no room
}

// Snapshot returns the histograms.
func (h *Hist) Snapshot() Histograms {
	entries, lost := h.t.read()
	merged := make(map[string][]uint64)
	for i := range entries {
		key, values := string(entries[i].bytes()), entries[i].values
		sum := merged[key]
		if sum == nil {
			merged[key] = values
			continue
		}
		sum[wordSum] += values[wordSum]
		sum[wordMin] = max(sum[wordMin], values[wordMin])
		sum[wordMax] = max(sum[wordMax], values[wordMax])
		for j := wordBuckets; j < len(sum); j++ {
			sum[j] += values[j]
		}
	}
	s := Histograms{Lost: lost}
	for key, values := range merged {
		// A key is there a moment before its first hit.
		if e := h.histogram([]byte(key), values); e.Count > 0 {
			s.Entries = append(s.Entries, e)
		}
	}
	slices.SortFunc(s.Entries, func(a, b Histogram) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), bytes.Compare(a.Key, b.Key))
	})
	return s
}

func (h *Hist) histogram(key []byte, values []uint64) Histogram {
	e := Histogram{
		Key:   key,
		Unit:  h.unit,
		Sum:   int64(values[wordSum]),
		Min:   unrank(^values[wordMin]),
		Max:   unrank(values[wordMax]),
		scale: h.scale,
	}
	for i, n := range values[wordBuckets:] {
		if n == 0 && e.Count == 0 {
			continue
		}
		low, high := h.scale.bounds(i)
		e.Buckets = append(e.Buckets, Bucket{low, high, n, i})
		e.Count += n
	}
	for n := len(e.Buckets); n > 0 && e.Buckets[n-1].Count == 0; n-- {
		e.Buckets = e.Buckets[:n-1]
	}
	return e
}

// Top returns the n histograms with the most values.
func (s Histograms) Top(n int) Histograms {
	s.Entries = top(s.Entries, n)
	return s
}
