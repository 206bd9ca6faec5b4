package aggregate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	long := strings.Repeat("k", KeySize)
	type add struct {
		cpu int
		key string
		n   uint64
	}
	for _, test := range []struct {
		name string
		adds []add
		want string
		lost uint64
	}{
		{"nothing", nil, "", 0},
		{"no key", []add{{0, "", 1}, {1, "", 2}}, `"" 3`, 0},
		{"processors are added up", []add{{0, "a", 1}, {1, "a", 2}, {2, "a", 4}}, `"a" 7`, 0},
		{"largest first", []add{{0, "a", 1}, {0, "b", 3}, {0, "c", 2}}, `"b" 3 "c" 2 "a" 1`, 0},
		{"ties by key", []add{{1, "b", 1}, {0, "c", 1}, {2, "a", 1}, {1, "", 1}}, `"" 1 "a" 1 "b" 1 "c" 1`, 0},
		{"zero bytes count", []add{{0, "a", 1}, {0, "a\x00", 2}, {0, "\x00", 3}, {0, "", 4}}, `"" 4 "\x00" 3 "a\x00" 2 "a" 1`, 0},
		{"word boundaries", []add{{0, "1234567", 1}, {0, "12345678", 2}, {0, "123456789", 3}}, `"123456789" 3 "12345678" 2 "1234567" 1`, 0},
		{"longest", []add{{0, long, 1}, {0, long[1:], 2}}, fmt.Sprintf("%q 2 %q 1", long[1:], long), 0},
		{"too long is cut", []add{{0, long + "1", 1}, {0, long + "22", 1}}, fmt.Sprintf("%q 2", long), 0},
		{"no such processor", []add{{-1, "a", 1}, {3, "a", 5}, {2, "a", 1}}, `"a" 1`, 2},
		{"nothing added", []add{{0, "a", 0}}, "", 0},
		{"too many keys", []add{{0, "1", 1}, {0, "2", 1}, {0, "3", 1}, {0, "4", 1}, {0, "5", 1}, {0, "6", 9}, {0, "4", 1}, {1, "6", 1}},
			`"4" 2 "1" 1 "2" 1 "3" 1 "6" 1`, 2},
	} {
		c := NewCount(3, 4)
		for _, a := range test.adds {
			c.Add(a.cpu, []byte(a.key), a.n)
		}
		s := c.Snapshot()
		var got []string
		for _, e := range s.Entries {
			got = append(got, fmt.Sprintf("%q %d", e.Key, e.Count))
		}
		if got := strings.Join(got, " "); got != test.want || s.Lost != test.lost {
			t.Errorf("%s: got %s, %d lost; want %s, %d lost", test.name, got, s.Lost, test.want, test.lost)
		}
	}
}

// Random keys, more than there is room for, against a map.
func TestCountRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, keys := range []int{-1, 1, 2, 3, 7, 64, 100, 1000} {
		c := NewCount(1, keys)
		want := make(map[string]uint64)
		var lost uint64
		for range 20_000 {
			key := make([]byte, random.IntN(20))
			for i := range key {
				key[i] = byte(random.IntN(2))
			}
			if _, ok := want[string(key)]; ok || len(want) < max(keys, 1) {
				want[string(key)]++
			} else {
				lost++
			}
			c.Add(0, key, 1)
		}
		s := c.Snapshot()
		if s.Lost != lost || len(s.Entries) != len(want) {
			t.Fatalf("room for %d: %d keys, %d lost; want %d, %d", keys, len(s.Entries), s.Lost, len(want), lost)
		}
		for _, e := range s.Entries {
			if want[string(e.Key)] != e.Count {
				t.Fatalf("room for %d: key %q: %d, want %d", keys, e.Key, e.Count, want[string(e.Key)])
			}
		}
	}
}

// Keys whose hashes are the same are different keys.
func TestCollision(t *testing.T) {
	seen := make(map[uint32]uint64)
	var pairs [][2]uint64
	for k := uint64(0); len(pairs) < 3; k++ {
		if k == 2_000_000 {
			t.Fatalf("found %d collisions only", len(pairs))
		}
		// Like addresses: close to each other.
		h := hash([]uint64{0x1100000 + 16*k}, 8)
		if other, ok := seen[h]; ok {
			pairs = append(pairs, [2]uint64{0x1100000 + 16*other, 0x1100000 + 16*k})
		}
		seen[h] = k
	}
	for _, p := range pairs {
		c := NewCount(1, 2)
		for i, k := range p {
			c.Add(0, binary.LittleEndian.AppendUint64(nil, k), uint64(i+1))
		}
		s := c.Snapshot()
		if len(s.Entries) != 2 || s.Entries[0].Count != 2 || s.Entries[1].Count != 1 || s.Lost != 0 {
			t.Errorf("%x: got %+v", p, s)
		}
	}
}

// A search in a full table looks at a few slots only, whatever keys look like.
func TestSearchIsShort(t *testing.T) {
	const keys = 1024
	for name, key := range map[string]func(i uint64) uint64{
		"numbers":   func(i uint64) uint64 { return i },
		"addresses": func(i uint64) uint64 { return 0x1100000 + 16*i },
		"pages":     func(i uint64) uint64 { return i << 12 },
		"high bits": func(i uint64) uint64 { return i << 54 },
	} {
		c := NewCount(1, keys)
		for i := range uint64(keys) {
			c.Add(0, binary.LittleEndian.AppendUint64(nil, key(i)), 1)
		}
		if s := c.Snapshot(); len(s.Entries) != keys || s.Lost != 0 {
			t.Fatalf("%s: %d keys, %d lost", name, len(s.Entries), s.Lost)
		}
		run, longest := 0, 0
		for _, s := range c.t.cpus[0].index {
			run++
			if s.epoch == 0 {
				run = 0
			}
			longest = max(longest, run)
		}
		if longest > 64 {
			t.Errorf("%s: a search looks at up to %d slots", name, longest)
		}
	}
}

func TestTop(t *testing.T) {
	c := NewCount(1, 10)
	for i, key := range []string{"a", "b", "c", "d"} {
		c.Add(0, []byte(key), uint64(10-i))
	}
	for n, want := range map[int]int{-1: 0, 0: 0, 1: 1, 3: 3, 4: 4, 5: 4} {
		if got := c.Snapshot().Top(n); len(got.Entries) != want || want > 0 && string(got.Entries[0].Key) != "a" {
			t.Errorf("Top(%d) = %v, want %d", n, got, want)
		}
	}
}

func TestStacks(t *testing.T) {
	deep := make([]uintptr, StackDepth+5)
	for i := range deep {
		deep[i] = uintptr(i)
	}
	s := NewStacks(2, 4)
	for range 3 {
		s.Add(0, []uintptr{1, 2, 3})
		s.Add(1, []uintptr{1, 2, 3})
	}
	s.Add(0, []uintptr{1, 2})
	s.Add(0, []uintptr{1, 2, 0})
	s.Add(1, nil)
	s.Add(1, deep)
	s.Add(1, deep[:StackDepth])
	s.Add(1, []uintptr{9})
	s.Add(1, []uintptr{9, 9}) // a fifth one there
	s.Add(2, []uintptr{1, 2})
	want := StackCounts{Lost: 2, Entries: []StackCount{
		{[]uintptr{1, 2, 3}, 6},
		{deep[:StackDepth], 2},
		{[]uintptr{}, 1},
		{[]uintptr{1, 2}, 1},
		{[]uintptr{1, 2, 0}, 1},
		{[]uintptr{9}, 1},
	}}
	if got := s.Snapshot(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := s.Snapshot().Top(2); len(got.Entries) != 2 || got.Lost != 2 {
		t.Errorf("Top(2) = %v", got)
	}
}

func TestClear(t *testing.T) {
	c, h, s := NewCount(2, 2), NewHist(2, 2), NewStacks(2, 2)
	for round := range 5 {
		for i := range byte(5) {
			c.Add(0, []byte{byte(round), i}, 1)
			h.Add(0, []byte{byte(round), i}, int64(round))
			s.Add(0, []uintptr{uintptr(round), uintptr(i)})
		}
		c.Add(2, nil, 1)
		counts, hists, stacks := c.Snapshot(), h.Snapshot(), s.Snapshot()
		if len(counts.Entries) != 2 || counts.Lost != 4 || !bytes.Equal(counts.Entries[1].Key, []byte{byte(round), 1}) {
			t.Fatalf("round %d: %v", round, counts)
		}
		if len(hists.Entries) != 2 || hists.Lost != 3 || hists.Entries[0].Count != 1 || hists.Entries[0].Min != int64(round) || hists.Entries[0].Max != int64(round) {
			t.Fatalf("round %d: %v", round, hists)
		}
		if len(stacks.Entries) != 2 || stacks.Lost != 3 {
			t.Fatalf("round %d: %v", round, stacks)
		}
		c.Clear()
		h.Clear()
		s.Clear()
		if counts, hists, stacks = c.Snapshot(), h.Snapshot(), s.Snapshot(); len(counts.Entries)+len(hists.Entries)+len(stacks.Entries) != 0 ||
			counts.Lost+hists.Lost+stacks.Lost != 0 {
			t.Fatalf("round %d: after Clear: %v %v %v", round, counts, hists, stacks)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	const keys = 100
	c, h, s := NewCount(1, keys), NewHist(1, keys), NewStacks(1, keys)
	l, err := NewLinearHist(1, keys, -10, 10, 3)
	if err != nil {
		t.Fatal(err)
	}
	key, pcs, n := make([]byte, 0, 16), make([]uintptr, 5), uint64(0)
	if got := testing.AllocsPerRun(1000, func() {
		n++ // new keys, known ones, lost ones
		key = binary.LittleEndian.AppendUint64(key[:0], n%200)
		pcs[3] = uintptr(n % 200)
		c.Add(0, key, 1)
		h.Add(0, key, int64(n))
		l.Add(0, key, int64(n%30)-15)
		s.Add(0, pcs)
		if n%500 == 0 {
			c.Clear()
		}
	}); got != 0 {
		t.Errorf("%v allocations for an update", got)
	}
}

func BenchmarkCount(b *testing.B) {
	c := NewCount(1, 100)
	key := []byte("12345678")
	for b.Loop() {
		c.Add(0, key, 1)
	}
}

func BenchmarkHist(b *testing.B) {
	h := NewHist(1, 100)
	v := int64(1)
	for b.Loop() {
		v = v*3 + 1
		h.Add(0, nil, v)
	}
}
