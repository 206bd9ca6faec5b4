package event

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// argumentRegisters are the registers of integer arguments and results, in the order of Go's ABI.
var argumentRegisters = [maxIntegerArgument]string{"ax", "bx", "cx", "di", "si", "r8", "r9", "r10", "r11"}

// Compile makes the program that records what a definition fetches. It resolves symbols, registers
// and Go variables. Errors are of type *Error.
func Compile(d *Definition, t Target) (*Program, error) {
	c := &compiler{d: d, t: t, p: &Program{}}
	if d.Kind == KindRemove || d.Place.Glob {
		return nil, c.fail(d.Place.Column, syscall.EINVAL,
			"Only a probe on one function records: this is a removal or a pattern")
	}
	for i := range d.Args {
		c.entry = d.Kind == KindReturn && d.Args[i].Fetch.atEntry()
		first := len(c.p.frame.slots)
		n, err := c.arg(&d.Args[i])
		if c.entry {
			c.p.hasEntry = true
			for j := first; j < len(c.p.frame.slots); j++ {
				c.p.frame.slots[j].entry = true
			}
		}
		if err != nil {
			return nil, c.located(err, d.Args[i].Fetch.Column)
		}
		n.name = d.Args[i].Name
		c.p.args = append(c.p.args, n)
		if !d.Args[i].Hidden {
			c.p.recorded = i + 1
		}
	}
	if err := c.p.frame.layOut(); err != nil {
		column := 1
		if len(d.Args) > 0 {
			column = d.Args[0].Column
		}
		return nil, c.fail(column, syscall.E2BIG, "Too many arguments are specified: %v", err)
	}
	if d.Filter != nil {
		test, err := c.test(d.Filter.root)
		if err != nil {
			return nil, err
		}
		c.p.filter = test
	}
	return c.p, nil
}

// A compiler makes a program.
type compiler struct {
	d *Definition
	t Target
	p *Program

	entry bool // the argument that is compiled is fetched at the entry of a return event
}

func (c *compiler) fail(column int, errno syscall.Errno, format string, args ...any) error {
	return &Error{c.d.Line, min(max(column, 1), len(c.d.Line)+1), fmt.Sprintf(format, args...), errno}
}

// located makes an *Error of an error about the fetch at a column.
func (c *compiler) located(err error, column int) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return err
	}
	errno := syscall.EINVAL
	errors.As(err, &errno)
	return c.fail(column, errno, "Invalid fetch argument: %v", err)
}

// layOut gives the slots of a frame their places.
func (f *frame) layOut() error {
	f.faults = (len(f.slots) + 7) / 8
	f.size = f.faults
	for i := range f.slots {
		f.slots[i].offset = f.size
		f.size += f.slots[i].size
	}
	if len(f.slots) > maxSlots || f.size > maxFrame {
		return fmt.Errorf("%d values of %d bytes, at most %d values and %d bytes are recorded",
			len(f.slots), f.size, maxSlots, maxFrame)
	}
	return nil
}

// add appends a slot and returns its index.
func (f *frame) add(s slot) int {
	f.slots = append(f.slots, s)
	return len(f.slots) - 1
}

// arg compiles an argument.
func (c *compiler) arg(arg *Arg) (node, error) {
	f := &arg.Fetch
	typ := arg.Type
	var v Value
	var err error
	switch f.Op {
	case FetchString:
		return node{show: showConst, text: f.Name}, nil
	case FetchVar, FetchResult:
		v, err = c.goValue(f)
	default:
		if typ.Kind == TypeDefault {
			typ = defaultType(f)
		}
		return c.typed(f, typ)
	}
	if err != nil {
		return node{}, err
	}
	if typ.Kind == TypeDefault {
		return c.value(&c.p.frame, v, 0, false)
	}
	ops, err := c.word(v)
	if err != nil {
		return node{}, c.fail(f.Column, syscall.EINVAL, "Unknown type is specified: %v", err)
	}
	return c.scalar(&c.p.frame, ops, typ), nil
}

// defaultType is the type of an argument that was given none.
func defaultType(f *Fetch) Type {
	switch f.Op {
	case FetchComm:
		return Type{Kind: TypeString}
	case FetchGoid, FetchDur:
		return Type{Kind: TypeUnsigned, Size: 8}
	case FetchCaller:
		return Type{Kind: TypeSymbol, Size: 8}
	default:
		return Type{Kind: TypeHex, Size: 8}
	}
}

// typed compiles an argument of one of the language's types.
func (c *compiler) typed(f *Fetch, typ Type) (node, error) {
	frame := &c.p.frame
	if f.Op == FetchComm {
		return node{show: showComm, slot: frame.add(slot{size: 8, value: []op{{code: opStartPC}}})}, nil
	}
	ops, err := c.ops(f, false)
	if err != nil {
		return node{}, err
	}
	isString := typ.Kind == TypeString || typ.Kind == TypeUstring
	if f.inMemory() {
		ops = address(ops)
	}
	switch {
	case isString && typ.Array > 0:
		list := node{show: showList}
		for i := range typ.Array {
			element := append(slices.Clone(ops), op{code: opLoad, size: 8, n: uint64(i) * 8})
			list.kids = append(list.kids, c.cString(element))
		}
		return list, nil
	case isString:
		return c.cString(ops), nil
	case typ.Array > 0:
		s := slot{store: storeBytes, size: typ.Size * typ.Array, value: ops}
		return node{show: showFlat, typ: typ, slot: frame.add(s)}, nil
	case f.inMemory():
		ops = append(ops, op{code: opLoad, size: uint8(typ.Size)})
	}
	return c.scalar(frame, ops, typ), nil
}

// cString adds a string at the address that is fetched.
func (c *compiler) cString(ops []op) node {
	return node{show: showString, slot: c.p.frame.add(slot{store: storeCString, size: locationSize, value: ops})}
}

// scalar adds a value of up to 8 bytes.
func (c *compiler) scalar(f *frame, ops []op, typ Type) node {
	n := node{typ: typ}
	switch typ.Kind {
	case TypeUnsigned:
		n.show = showUnsigned
	case TypeSigned:
		n.show = showSigned
	case TypeChar:
		n.show = showChar
	case TypeSymbol:
		n.show = showSymbol
	case TypeSymstr:
		n.show = showSymstr
	case TypeBitfield:
		n.show = showUnsigned
		ops = append(ops, op{code: opUnsigned, size: uint8(typ.Size)},
			op{code: opBits, index: uint8(typ.Shift), size: uint8(typ.Width)})
	default:
		n.show = showHex
	}
	n.slot = f.add(slot{size: typ.Size, value: ops})
	return n
}

// ops compiles a fetch. If it names memory, the last step loads a word.
func (c *compiler) ops(f *Fetch, inElem bool) ([]op, error) {
	switch f.Op {
	case FetchReg:
		return c.register(f.Name)
	case FetchFloat:
		if f.N < 0 || f.N > 15 {
			return nil, fmt.Errorf("there is no SSE register %d", f.N)
		}
		return []op{{code: opFloat, index: uint8(f.N)}}, nil
	case FetchMem:
		return []op{{code: opImm, n: f.Addr}, {code: opLoad, size: 8}}, nil
	case FetchSymbol:
		addr, ok := c.t.Symbol(f.Name)
		if !ok {
			return nil, c.fail(f.Column, syscall.ENOENT, "Invalid memory address: there is no symbol %s", f.Name)
		}
		return []op{{code: opImm, n: addr}, {code: opLoad, size: 8, n: uint64(f.N)}}, nil
	case FetchStack:
		return []op{{code: opStack}}, nil
	case FetchStackN:
		return []op{{code: opStack}, {code: opLoad, size: 8, n: uint64(f.N) * 8}}, nil
	case FetchRetval:
		return c.register(argumentRegisters[0])
	case FetchArg:
		if f.N < 1 || f.N > maxIntegerArgument {
			return nil, c.fail(f.Column, syscall.EINVAL,
				"Invalid argument number: registers hold $arg1 to $arg%d", maxIntegerArgument)
		}
		return c.register(argumentRegisters[f.N-1])
	case FetchGoid:
		return []op{{code: opGoid}}, nil
	case FetchCaller:
		return []op{{code: opCaller}}, nil
	case FetchDur:
		return []op{{code: opDuration}}, nil
	case FetchImm:
		if inElem && f.N == 0 {
			return []op{{code: opElem}}, nil
		}
		return []op{{code: opImm, n: uint64(f.N)}}, nil
	case FetchDeref:
		if f.Of == nil {
			return nil, c.fail(f.Column, syscall.EINVAL, "Dereference needs a brace: +OFFSET(FETCH)")
		}
		ops, err := c.ops(f.Of, inElem)
		return append(ops, op{code: opLoad, size: 8, n: uint64(f.N)}), err
	case FetchVar, FetchResult:
		return c.variable(f)
	default:
		return nil, c.fail(f.Column, syscall.EINVAL, "Invalid fetch argument: %v is no address", f)
	}
}

// register compiles the fetch of a register, which may be a part of a larger one.
func (c *compiler) register(name string) ([]op, error) {
	index, size, ok := c.t.Register(name)
	if !ok || index < 0 || index > 31 || size < 1 {
		return nil, fmt.Errorf("there is no register %s", name)
	}
	ops := []op{{code: opReg, index: uint8(index)}}
	if size < 8 {
		ops = append(ops, op{code: opUnsigned, size: uint8(size)})
	}
	return ops, nil
}

// address makes of steps that end in loading a word those that compute its address.
func address(ops []op) []op {
	last := &ops[len(ops)-1]
	if last.n == 0 {
		return ops[:len(ops)-1]
	}
	*last = op{code: opAdd, n: last.n}
	return ops
}

// goValue resolves a Go variable. At a return those are the results; what is none of them is fetched
// at the entry.
func (c *compiler) goValue(f *Fetch) (Value, error) {
	if f.Op == FetchResult {
		return c.t.Result(c.d, int(f.N))
	}
	v, err := c.t.Variable(c.d, f.Name)
	entry, ok := c.t.(Entries)
	if err == nil || !ok || c.d.Kind != KindReturn {
		return v, err
	}
	v, errAtEntry := entry.EntryVariable(c.d, f.Name)
	if errAtEntry != nil {
		return v, fmt.Errorf("%w; at the entry: %v", err, errAtEntry)
	}
	c.entry = true
	return v, nil
}

// atEntry reports whether a fetch of a return event is made at the entry: arguments are gone at
// the return.
func (f *Fetch) atEntry() bool {
	for ; f != nil; f = f.Of {
		if f.Op == FetchArg {
			return true
		}
	}
	return false
}

// variable compiles a Go variable as an address: a pointer, or where a string's or slice's
// data are.
func (c *compiler) variable(f *Fetch) ([]op, error) {
	v, err := c.goValue(f)
	if err != nil {
		return nil, c.located(err, f.Column)
	}
	switch v.Type.Kind {
	case TypeGoString, TypeSlice:
		if len(v.Parts) > 0 {
			return c.ops(&v.Parts[0], false)
		}
	}
	ops, err := c.word(v)
	if err != nil {
		return nil, c.fail(f.Column, syscall.EINVAL, "Invalid fetch argument: %v", err)
	}
	return ops, nil
}
