package event

import (
	"strings"
	"syscall"
)

// fetch reads what an argument fetches; s begins at a position of the line and is all of it. depth
// counts the dereferences around it.
func (p *parser) fetch(d *Definition, s string, pos, depth int) (*Fetch, error) {
	f := &Fetch{Column: pos + 1}
	var err error
	switch first := firstRune(s); {
	case first == '$':
		err = p.variable(d, f, s[1:], pos)
	case first == '%':
		f.Op, f.Name = FetchReg, s[1:]
		if _, _, ok := p.t.Register(f.Name); !ok {
			err = p.fail(pos, syscall.EINVAL, "Invalid register name: %s", s)
		}
	case first == '@':
		err = p.memory(f, s, pos)
	case first == '+' || first == '-':
		return p.dereference(d, s, pos, depth)
	case first == '\\':
		err = p.immediate(f, s[1:], pos+1)
	case isLetter(first), first == '*', first == '(':
		f.Op, f.Name = FetchVar, s
	case s == "":
		err = p.fail(pos, syscall.EINVAL, "No argument expression")
	default:
		err = p.fail(pos, syscall.EINVAL,
			"Invalid fetch argument: it is none of %%REG, @MEMORY, $NAME, +OFFSET(FETCH), \\VALUE, and no Go variable")
	}
	return f, err
}

// variable reads what follows a $.
func (p *parser) variable(d *Definition, f *Fetch, name string, pos int) error {
	digits := strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz")
	word := name[:len(name)-len(digits)]
	// Numbers are decimal here, also with a leading 0.
	n, ok := uint64(0), false
	if digits != "" {
		decimal := strings.TrimLeft(digits, "0")
		if decimal == "" {
			decimal = "0"
		}
		n, ok = number(decimal)
		ok = ok && isDigit(digits[0])
	}
	isReturn := d.Kind == KindReturn
	switch {
	case name == "retval":
		f.Op = FetchRetval
		if !isReturn {
			return p.fail(pos, syscall.EINVAL, "$retval is not available on probe: define a return probe, with r")
		}
	case name == "stack":
		f.Op = FetchStack
	case word == "stack" && ok:
		f.Op, f.N = FetchStackN, int64(n)
		if n > maxStackWord {
			return p.fail(pos, syscall.EINVAL, "Invalid stack number: the last word is $stack%d", maxStackWord)
		}
	case name == "comm":
		f.Op = FetchComm
	case word == "arg" && ok:
		f.Op, f.N = FetchArg, int64(n)
		switch {
		case n == 0, n > maxIntegerArgument:
			return p.fail(pos, syscall.EINVAL,
				"Invalid argument number: registers hold $arg1 to $arg%d", maxIntegerArgument)
		case !isReturn && !d.Place.Glob && !p.atEntry(d):
			return p.fail(pos, syscall.EINVAL,
				"$arg%d can be used only on function entry: use a register, or a Go variable", n)
		}
	case word == "ret" && ok && n < 1<<31:
		f.Op, f.N = FetchResult, int64(n)
		if !isReturn {
			return p.fail(pos, syscall.EINVAL, "$ret%d is not available on probe: define a return probe, with r", n)
		}
	case name == "goid":
		f.Op = FetchGoid
	case name == "caller":
		f.Op = FetchCaller
	case name == "dur":
		f.Op = FetchDur
		if !isReturn {
			return p.fail(pos, syscall.EINVAL, "$dur is not available on probe: define a return probe, with r")
		}
	default:
		return p.fail(pos, syscall.EINVAL,
			"Invalid $-variable specified: there are $stack, $stackN, $argN, $retval, $retN, $comm, $goid, $caller, $dur")
	}
	return nil
}

// memory reads @ADDR or @SYMBOL[+|-OFFSET].
func (p *parser) memory(f *Fetch, s string, pos int) error {
	const bad = "Invalid memory address: "
	name := s[1:]
	switch {
	case name == "":
		return p.fail(pos, syscall.EINVAL, bad+"@ needs an address or a symbol")
	case name[0] == '+':
		return p.fail(pos, syscall.EINVAL, "File offset is not available with kprobe")
	case isDigit(name[0]):
		addr, ok := number(name)
		if !ok {
			return p.fail(pos, syscall.EINVAL, bad+"%s is not a number of 64 bits", name)
		}
		f.Op, f.Addr = FetchMem, addr
		return nil
	}
	known := func(name string) bool { _, ok := p.t.Symbol(name); return ok }
	n := 0
	if name[0] == '"' {
		var ok bool
		f.Name, n, ok = quotedPrefix(name)
		if !ok {
			return p.fail(pos, syscall.EINVAL, bad+"the symbol is not closed with '\"', or holds an unknown escape")
		}
		if !known(f.Name) {
			n = 0
		}
	} else {
		n = longestName(name, "+-", known)
		f.Name = name[:n]
	}
	if n == 0 {
		if f.Name == "" {
			f.Name = name
		}
		return p.fail(pos, syscall.ENOENT, bad+"there is no symbol %s", f.Name)
	}
	f.Op = FetchSymbol
	if offset := name[n:]; offset != "" {
		var ok bool
		f.N, ok = signedNumber(strings.TrimPrefix(offset, "+"))
		if !ok || offset[0] != '+' && offset[0] != '-' || strings.HasPrefix(offset, "+-") {
			return p.fail(pos+1+n, syscall.EINVAL, bad+"%s is not an offset", offset)
		}
	}
	return nil
}

// dereference reads +|-[u]OFFSET(FETCH).
func (p *parser) dereference(d *Definition, s string, pos, depth int) (*Fetch, error) {
	f := &Fetch{Op: FetchDeref, Column: pos + 1}
	open := strings.IndexByte(s, '(')
	if open < 0 {
		return nil, p.fail(pos, syscall.EINVAL, "Dereference needs a brace: +OFFSET(FETCH)")
	}
	offset, user := strings.CutPrefix(s[1:open], "u")
	f.User = user
	n, ok := signedNumber(strings.TrimPrefix(s[:1], "+") + offset)
	if !ok || strings.HasPrefix(offset, "-") {
		return nil, p.fail(pos, syscall.EINVAL, "Invalid dereference offset: %s", s[:open])
	}
	f.N = n
	inner := s[open+1:]
	// The brace that closes is the last one. What follows it has no meaning.
	end := strings.LastIndexByte(inner, ')')
	switch {
	case end < 0:
		return nil, p.fail(pos+len(s), syscall.EINVAL, "Dereference brace is not closed")
	case end != len(inner)-1:
		return nil, p.fail(pos+open+1+end+1, syscall.EINVAL,
			"Invalid fetch argument: the type goes behind the brace, as :TYPE")
	case depth == maxDereferences:
		return nil, p.fail(pos, syscall.E2BIG,
			"Dereference is too much nested: at most %d are allowed", maxDereferences)
	}
	of, err := p.fetch(d, inner[:end], pos+open+1, depth+1)
	if err != nil {
		return nil, err
	}
	switch of.Op {
	case FetchComm:
		return nil, p.fail(of.Column-1, syscall.EINVAL, "$comm can not be dereferenced")
	case FetchString:
		return nil, p.fail(of.Column-1, syscall.EINVAL, "An immediate string can not be dereferenced")
	}
	f.Of = of
	return f, nil
}

// immediate reads what follows a \.
func (p *parser) immediate(f *Fetch, s string, pos int) error {
	if strings.HasPrefix(s, `"`) {
		text, n, ok := quotedPrefix(s)
		switch {
		case closing(s) < 0:
			return p.fail(pos+len(s), syscall.EINVAL, "String is not closed with '\"'")
		case !ok:
			return p.fail(pos, syscall.EINVAL, "Invalid immediate value: the string holds an unknown escape")
		case n < len(s):
			return p.fail(pos+n, syscall.EINVAL, "Invalid immediate value: %s follows the string", s[n:])
		}
		f.Op, f.Name = FetchString, text
		return nil
	}
	n, ok := signedNumber(strings.TrimPrefix(s, "+"))
	if u, isUnsigned := number(s); isUnsigned {
		n, ok = int64(u), true
	}
	if !ok || strings.HasPrefix(s, "+-") {
		return p.fail(pos, syscall.EINVAL, "Invalid immediate value: it is a number, or a string in quotes")
	}
	f.Op, f.N = FetchImm, n
	return nil
}

// namesGo reports whether a fetch names a symbol or a variable of Go, or holds a string.
func (f *Fetch) namesGo() bool {
	for f.Of != nil {
		f = f.Of
	}
	return f.Op == FetchSymbol || f.Op == FetchVar || f.Op == FetchString
}
