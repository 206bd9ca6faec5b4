//go:build metal

package board

import "testing"

func TestCPUIDTSC(t *testing.T) {
	for _, c := range []struct {
		name   string
		leaves map[uint32][4]uint32
		want   uint64
	}{
		{"none", map[uint32][4]uint32{0: {0x14}}, 0},
		{"crystal", map[uint32][4]uint32{0: {0x16}, 0x15: {2, 250, 24000000}}, 3000000000},
		{"no crystal", map[uint32][4]uint32{0: {0x16}, 0x15: {2, 250, 0}, 0x16: {2900}}, 2900000000},
		{"no crystal, no base", map[uint32][4]uint32{0: {0x15}, 0x15: {2, 250, 0}}, 0},
		{"zero ratio", map[uint32][4]uint32{0: {0x16}, 0x15: {0, 0, 24000000}}, 0},
	} {
		got := cpuidTSC(func(leaf, _ uint32) (a, b, cc, d uint32) {
			l := c.leaves[leaf]
			return l[0], l[1], l[2], l[3]
		})
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// The references agree with each other.
func TestReferences(t *testing.T) {
	want := float64(TSC())
	if pm := pmTimer(); pm != nil {
		if hz := float64(pm.measure()); hz < want*0.99 || hz > want*1.01 {
			t.Errorf("by the ACPI timer the TSC runs at %.0f Hz, not at %.0f", hz, want)
		}
	} else {
		t.Log("no ACPI timer")
	}
	if hz := float64(pit().measure()); hz < want*0.99 || hz > want*1.01 {
		t.Errorf("by the PIT the TSC runs at %.0f Hz, not at %.0f", hz, want)
	}
	stuck := &reference{hz: 1e6, mask: 0xffff, read: func() uint64 { return 7 }}
	if hz := stuck.measure(); hz != 0 {
		t.Errorf("by a counter that stands still the TSC runs at %d Hz", hz)
	}
}

func TestSleepType(t *testing.T) {
	pad := string(make([]byte, headerSize))
	for _, c := range []struct {
		dsdt string
		want uint16
		ok   bool
	}{
		{pad + "\x08_S5_\x12\x06\x04\x0a\x05\x0a\x05\x00\x00", 5, true},
		{pad + "\x08_S5_\x12\x06\x04\x00\x00\x00\x00", 0, true},
		{pad + "_S5_ is mentioned here", 0, false},
		{pad, 0, false},
	} {
		if typ, ok := sleepType([]byte(c.dsdt)); typ != c.want || ok != c.ok {
			t.Errorf("%q: %d, %v", c.dsdt, typ, ok)
		}
	}
}
