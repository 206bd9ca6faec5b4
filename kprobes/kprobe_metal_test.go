//go:build metal

package kprobes

import (
	"strings"
	"testing"

	"tamaprobe/arch/amd64"
	_ "tamaprobe/boot/board"
	"tamaprobe/symtab"
)

//go:noinline
func probed(a, b int) int { return a*3 + b }

func TestPreHandler(t *testing.T) {
	var args [2]uint64
	p := &Kprobe{Symbol: "tamaprobe/kprobes.probed", PreHandler: func(p *Kprobe, r *amd64.Regs) bool {
		args = [2]uint64{r.Arg(0), r.Arg(1)}
		return false
	}}
	if err := Register(p); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if got := probed(5, 7); got != 22 {
			t.Fatalf("probed(5, 7) = %d", got)
		}
	}
	if err := Unregister(p); err != nil {
		t.Fatal(err)
	}
	if args != [2]uint64{5, 7} || p.Nhit() != 10 || p.Nmissed() != 0 {
		t.Errorf("args %v, %d hits, %d missed", args, p.Nhit(), p.Nmissed())
	}
	probed(1, 2)
	if p.Nhit() != 10 {
		t.Errorf("hit after Unregister")
	}
}

func TestPostHandler(t *testing.T) {
	pre, post := 0, 0
	p := &Kprobe{Symbol: "tamaprobe/kprobes.probed",
		PreHandler:  func(p *Kprobe, r *amd64.Regs) bool { pre++; return false },
		PostHandler: func(p *Kprobe, r *amd64.Regs, flags uint64) { post++ },
	}
	if err := Register(p); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if got := probed(5, 7); got != 22 {
			t.Fatalf("probed(5, 7) = %d", got)
		}
	}
	if err := Unregister(p); err != nil {
		t.Fatal(err)
	}
	if pre != 10 || post != 10 {
		t.Errorf("%d, %d", pre, post)
	}
}

func TestBlacklist(t *testing.T) {
	start()
	for e, r := range blacklist() {
		f, _ := symtab.Find(e)
		if strings.Contains(r, "called by tamaprobe") || strings.Contains(f.Name(), "tamaprobe") {
			t.Log(f.Name(), r)
		}
	}
	t.Log(len(blacklist()))
}
