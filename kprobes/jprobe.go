package kprobes

import (
	"reflect"
	"syscall"

	"tamaprobe/arch/amd64"
	"tamaprobe/symtab"
)

// A Jprobe calls a function with the arguments of every call of the probed function. It
// is otherwise a Kprobe: Enable, Disable and Unregister take its Kprobe.
type Jprobe struct {
	Kprobe
}

// RegisterJprobe makes every call of the function symbol call mirror first: a Go
// function of the same signature. It runs as a handler does, with the same rules, and just
// returns; its results are not used, and what it does to its arguments changes nothing.
// Several can mirror one function.
//
// That the parameters agree is checked by their sizes and places, which is what an image
// knows of them; assembly functions, of which it knows nothing, are refused. Goroutine
// context.
func RegisterJprobe(symbol string, mirror any) (*Jprobe, error) {
	j := &Jprobe{Kprobe{Symbol: symbol, PreHandler: callMirror}}
	if err := j.setMirror(mirror); err != nil {
		return nil, err
	}
	if err := Register(&j.Kprobe); err != nil {
		return nil, err
	}
	return j, nil
}

// UnregisterJprobe is Unregister for a jprobe. Goroutine context.
func UnregisterJprobe(j *Jprobe) error { return Unregister(&j.Kprobe) }

func (j *Jprobe) setMirror(mirror any) error {
	const op = "register"
	p := &j.Kprobe
	v := reflect.ValueOf(mirror)
	if v.Kind() != reflect.Func || v.IsNil() {
		return failed(op, p, syscall.EINVAL, "the mirror is not a function")
	}
	own, ok := symtab.Find(v.Pointer())
	if !ok {
		return failed(op, p, syscall.EINVAL, "the mirror is not in the text")
	}
	mu.Lock()
	defer mu.Unlock()
	if err := started(op, p); err != nil {
		return err
	}
	addr, fn, err := p.resolve(op)
	if err != nil {
		return err
	}
	switch {
	case addr != fn.Entry():
		return failed(op, p, syscall.EINVAL, "arguments are known at the entry only")
	case fn.IsAssembly():
		return failed(op, p, syscall.EINVAL, "an assembly function: its parameters are not known")
	case own.IsAssembly():
		return failed(op, p, syscall.EINVAL, "the mirror %s is an assembly function", own.Name())
	case fn.ArgInfo() != own.ArgInfo() || fn.ArgsSize() != own.ArgsSize():
		return failed(op, p, syscall.EINVAL, "the mirror %s has other parameters or results", own.Name())
	case fn.ArgsSize() > amd64.MaxMirrorArgs:
		return failed(op, p, syscall.EINVAL, "%d bytes of arguments are too many, the limit is %d", fn.ArgsSize(), amd64.MaxMirrorArgs)
	}
	p.mirror = funcPointer(mirror)
	p.argsSize = uintptr(fn.ArgsSize()) &^ 7
	return nil
}

// callMirror is the pre handler of jprobes.
//
//go:nosplit
func callMirror(p *Kprobe, r *amd64.Regs) bool {
	amd64.CallMirror(p.mirror, r, p.argsSize)
	return false
}
