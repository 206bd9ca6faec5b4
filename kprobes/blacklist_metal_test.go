//go:build metal

package kprobes

import (
	"runtime"
	"strings"
	"testing"

	"tamaprobe/arch/amd64"
	"tamaprobe/arch/amd64/inst"
	"tamaprobe/symtab"
)

// The trap path outside of the guard is short, and consists of our own code and what
// TamaGo does at a non-maskable interrupt: nothing there can panic, allocate, or lock.
func TestBlacklist(t *testing.T) {
	list, err := Blacklist()
	if err != nil {
		t.Fatal(err)
	}
	reasons := make(map[string]string)
	for _, b := range list {
		name := b.Func.Name()
		reasons[name] = b.Reason
		if !strings.HasPrefix(name, "tamaprobe/arch/amd64.") && !strings.HasPrefix(name, "tamaprobe/kprobes.") &&
			name != "github.com/usbarmory/tamago/amd64.irqHandler" && name != "github.com/usbarmory/tamago/amd64.handleNMI" {
			t.Errorf("%s: %s", name, b.Reason)
		}
		if b.Reason == "" {
			t.Errorf("%s: no reason", name)
		}
	}
	for _, name := range []string{"tamaprobe/arch/amd64.breakpointEntry", pkg + "breakpoint", pkg + "debug", pkg + "resumeHit"} {
		if reasons[name] == "" {
			t.Errorf("%s is not blacklisted", name)
		}
	}
	for _, name := range []string{"fault", "recordFailure", "preSaved", "Register"} {
		if reason := reasons[pkg+name]; reason != "" {
			t.Errorf("%s is blacklisted: %s", name, reason)
		}
	}
	t.Logf("%d functions", len(list))
}

// oneProcessor skips a test of the image that says nothing new with several processors.
func oneProcessor(t *testing.T) {
	if runtime.GOMAXPROCS(0) > 1 {
		t.Skip("done with one processor")
	}
}

// All but very few functions can be probed.
func TestMostFunctionsCanBeProbed(t *testing.T) {
	oneProcessor(t)
	start()
	can := 0
	for fn := range symtab.All() {
		p := &Kprobe{Addr: fn.Entry(), Flags: FlagDisabled}
		if err := Register(p); err != nil {
			t.Logf("%v", err)
			continue
		}
		can++
		unregister(t, p)
	}
	t.Logf("%d of %d functions can be probed", can, symtab.Len())
	if can*100 < symtab.Len()*98 {
		t.Error("less than 98 %")
	}
}

// What runs in the trap path without the SSE registers saved must not use them, and is
// our own.
func TestTrapPathUsesNoSSE(t *testing.T) {
	list, err := Blacklist()
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	pending := make(map[string]symtab.Func)
	for _, b := range list {
		pending[b.Func.Name()] = b.Func
	}
	// Exceptions in handlers, up to where they are saved.
	for _, name := range []string{pkg + "fault", pkg + "(*cpu).handlerFault", "tamaprobe/trap.dispatch", "tamaprobe/trap.handleSaved",
		"tamaprobe/arch/amd64.trapEntry", "tamaprobe/arch/amd64.FixLoad", "tamaprobe/arch/amd64.Abandon"} {
		for _, fn := range symtab.Lookup(name) {
			pending[name] = fn
		}
	}
	checked := make(map[string]bool)
	for len(pending) > 0 {
		for name, fn := range pending {
			delete(pending, name)
			if checked[name] || name == "github.com/usbarmory/tamago/amd64.irqHandler" { // all vectors' entry points
				continue
			}
			checked[name] = true
			if name != "github.com/usbarmory/tamago/amd64.handleNMI" && !strings.HasPrefix(name, "tamaprobe/") {
				t.Errorf("%s is part of the trap path", name)
				continue
			}
			switch name {
			case "tamaprobe/arch/amd64.report", "tamaprobe/arch/amd64.Fatal": // do not return
				continue
			case "tamaprobe/arch/amd64.callSavedAsm", "tamaprobe/arch/amd64.restoreSavedAsm": // save them
				continue
			}
			for pc := fn.Entry(); pc < fn.End(); {
				code := amd64.OriginalText(pc)
				i, err := inst.Decode(code)
				if err != nil {
					t.Fatal(err)
				}
				if s := inst.Text(code, uint64(pc), symtab.Symname); i.UsesSSE() && !afterFatal(fn, pc) {
					t.Errorf("%s+%#x: %s", fn.Name(), pc-fn.Entry(), s)
				}
				if i.Relative() {
					if to, ok := symtab.Find(i.Target(pc)); ok && !growsStack(to.Entry()) {
						pending[to.Name()] = to
					}
				}
				pc += uintptr(i.Len)
			}
		}
	}
	if !checked[pkg+"fixed"] || !checked["tamaprobe/arch/amd64.(*Point).emulate"] {
		t.Error("the search has missed something")
	}
	t.Logf("%d functions", len(checked))
}

// afterFatal reports whether the instruction at pc follows a call of amd64.Fatal,
// which does not return, directly: the compiler restores Go's ABI there.
func afterFatal(f symtab.Func, pc uintptr) bool {
	call, err := inst.Decode(amd64.OriginalText(pc - 5))
	if err != nil || call.Flow != inst.FlowCall {
		return false
	}
	to, ok := symtab.Find(call.Target(pc - 5))
	return ok && to.Name() == "tamaprobe/arch/amd64.Fatal"
}
