package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"tamaprobe/arch/amd64"
	"tamaprobe/arch/amd64/inst"
	"tamaprobe/boot/board"
	"tamaprobe/kernel/shell"
	"tamaprobe/kprobes"
	"tamaprobe/kprobes/event"
	"tamaprobe/symtab"
)

// Commands that look at the machine and the image.

// machine says what runs here in a line.
func machine() string {
	start, end := runtime.MemRegion()
	cpus := "1 CPU"
	if n := runtime.NumCPU(); n > 1 {
		cpus = fmt.Sprintf("%d CPUs", n)
	}
	return fmt.Sprintf("%s%s, %s (%s), %d MiB, TSC %d.%03d MHz", runtime.Version(), tamagoVersion(), cpus,
		strings.TrimSpace(runtime.CPU()), (end-start)>>20, board.TSC()/1e6, board.TSC()/1e3%1e3)
}

func tamagoVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/usbarmory/tamago" {
			return ", tamago " + m.Version
		}
	}
	return ""
}

func (c *console) uname(x *shell.Context) error {
	x.Printf("Tamaprobe %s\nup %s, %d functions, command line %q\n", machine(), board.Uptime(), symtab.Len(), os.Args[1:])
	return nil
}

var imageCommands = []command{
	{name: "funcs", args: "[GLOB]", help: "list functions: address, size, name", run: (*console).funcs, examples: []string{"funcs sort.*"}},
	{name: "vars", args: "SYMBOL[+OFF]|ADDR", help: "list the Go variables that an event there can name", run: (*console).vars, complete: completeSymbols},
	{name: "dis", args: "[-d] SYMBOL|ADDR", help: "disassemble a function; marks what is probed, -d shows detours", run: (*console).dis, complete: completeSymbols},
}

func (c *console) funcs(x *shell.Context, args []string) error {
	glob := "*"
	switch len(args) {
	case 0:
	case 1:
		glob = args[0]
	default:
		return shell.ErrUsage
	}
	w := lineWriter{w: x}
	n := 0
	for f := range symtab.All() {
		if event.MatchName(glob, f.Name()) {
			w.printf("%016x %6d %s\n", f.Entry(), f.End()-f.Entry(), f.Name())
			n++
		}
	}
	w.flush()
	if n == 0 {
		return fmt.Errorf("%s: no function matches", glob)
	}
	return nil
}

// parseNumber reads a number as Go writes them.
func parseNumber(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: not a number (%w)", s, err.(*strconv.NumError).Err)
	}
	return n, nil
}

// isNumber tells a number from a symbol.
func isNumber(s string) bool { return s != "" && '0' <= s[0] && s[0] <= '9' }

// findFunc returns the function with a name, or the one that holds an address.
func findFunc(s string) (symtab.Func, error) {
	if isNumber(s) {
		addr, err := parseNumber(s)
		if err != nil {
			return symtab.Func{}, err
		}
		f, ok := symtab.Find(uintptr(addr))
		if !ok {
			return symtab.Func{}, fmt.Errorf("%s: not in the text", s)
		}
		return f, nil
	}
	fns := symtab.Lookup(s)
	if len(fns) == 0 {
		return symtab.Func{}, fmt.Errorf("%s: no such symbol", s)
	}
	return fns[0], nil
}

// vars lists the variables of debugging information.
func (c *console) vars(x *shell.Context, args []string) error {
	if len(args) != 1 {
		return shell.ErrUsage
	}
	lines, err := c.tracer.Variables(args[0])
	if err != nil {
		return err
	}
	w := lineWriter{w: x}
	for _, line := range lines {
		w.printf("%s\n", line)
	}
	w.flush()
	return nil
}

// sourceLine returns where the source is of the code at pc.
func sourceLine(pc uintptr) (file string, line int) {
	if fn := runtime.FuncForPC(pc); fn != nil {
		return fn.FileLine(pc)
	}
	return "", 0
}

func (c *console) dis(x *shell.Context, args []string) error {
	detours := len(args) > 0 && args[0] == "-d"
	if detours {
		args = args[1:]
	}
	if len(args) != 1 {
		return shell.ErrUsage
	}
	f, err := findFunc(args[0])
	if err != nil {
		return err
	}
	probed := c.probed()
	w := lineWriter{w: x}
	w.printf("%s:\n", f.Name())
	replaced := f.Entry() // the end of what has been shown as it is now
	for pc := f.Entry(); pc < f.End(); {
		code := amd64.OriginalText(pc)
		n := uintptr(1)
		if i, err := inst.Decode(code); err == nil {
			n = uintptr(i.Len)
			if i.Flow == inst.FlowInt3 && isPadding(pc, f.End()) {
				break
			}
		}
		names := make([]string, len(probed[pc]))
		for i, e := range probed[pc] {
			names[i] = e.event.Definition.Event
		}
		if len(names) > 0 {
			w.printf("%s:\n", strings.Join(names, ", "))
		}
		w.printf("%4s %016x +%-4x %-30s %s\n", "", pc, pc-f.Entry(), fmt.Sprintf("% x", code[:n]), inst.Text(code, uint64(pc), symtab.Symname))
		if now := memory(pc, inst.MaxLen); now[0] != code[0] && pc >= replaced {
			replaced = pc + disLine(&w, "now", pc, now)
		}
		if len(probed[pc]) > 0 && detours {
			disDetour(&w, probed[pc][0])
		}
		pc += n
	}
	w.flush()
	return nil
}

// disDetour disassembles the code that an optimized probe's jump leads to.
func disDetour(w *lineWriter, e probe) {
	lo, hi, ok := kprobes.Detour(e.Kprobe)
	if !ok {
		if err := kprobes.Unoptimizable(e.Kprobe); err != nil {
			w.printf("     not optimized: %v\n", err)
		}
		return
	}
	for pc := lo; pc < hi; {
		pc += disLine(w, "|", pc, memory(pc, int(hi-pc)))
	}
}

// disLine prints the instruction that is at pc in fact, and returns its length.
func disLine(w *lineWriter, mark string, pc uintptr, code []byte) uintptr {
	n := 1
	if i, err := inst.Decode(code); err == nil {
		n = int(i.Len)
	}
	w.printf("%4s %016x %-5s %-30s %s\n", mark, pc, "", fmt.Sprintf("% x", code[:n]), inst.Text(code, uint64(pc), symtab.Symname))
	return uintptr(n)
}

// memory returns up to n bytes of memory as it is, at least one.
func memory(addr uintptr, n int) []byte {
	b := make([]byte, 0, n)
	for i := range n {
		v, ok := amd64.TryLoad8(addr + uintptr(i))
		if !ok && i > 0 {
			break
		}
		b = append(b, v)
	}
	return b
}

// isPadding reports whether nothing but INT3 lies between pc and end.
func isPadding(pc, end uintptr) bool {
	for _, b := range amd64.OriginalText(pc)[:end-pc] {
		if b != 0xcc {
			return false
		}
	}
	return true
}

func (c *console) peek(x *shell.Context, args []string) error {
	const limit = 4096
	if len(args) < 1 || len(args) > 2 {
		return shell.ErrUsage
	}
	var addr, n uint64 = 0, 64
	if isNumber(args[0]) {
		var err error
		if addr, err = parseNumber(args[0]); err != nil {
			return err
		}
	} else {
		f, err := findFunc(args[0])
		if err != nil {
			return err
		}
		addr = uint64(f.Entry())
	}
	if len(args) == 2 {
		var err error
		if n, err = parseNumber(args[1]); err != nil {
			return err
		}
	}
	if n == 0 || n > limit {
		return fmt.Errorf("%d: the length must be 1 to %d", n, limit)
	}
	w := lineWriter{w: x}
	defer w.flush()
	for off := uint64(0); off < n; off += 16 {
		var hex, text strings.Builder
		for i := off; i < min(off+16, n); i++ {
			b, ok := amd64.TryLoad8(uintptr(addr + i))
			if !ok {
				w.printf("%016x %-49s %s\n", addr+off, hex.String(), text.String())
				return fmt.Errorf("%#x: cannot be read", addr+i)
			}
			if i == off+8 {
				hex.WriteByte(' ')
			}
			fmt.Fprintf(&hex, " %02x", b)
			if b < ' ' || b > '~' {
				b = '.'
			}
			text.WriteByte(b)
		}
		w.printf("%016x %-49s %s\n", addr+off, hex.String(), text.String())
	}
	return nil
}
