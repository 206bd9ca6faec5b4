package event

import (
	"strings"
	"syscall"
)

const (
	returnSuffix = "%return"
	badPlace     = "Invalid probed address or symbol: "
	badReturn    = "Retprobe address must be a function entry: give the function alone"
)

// place reads where the probe goes. The longest prefix of the line that is a function wins,
// because functions' names may hold what separates words elsewhere.
func (p *parser) place(d *Definition) error {
	if !p.skip() {
		return p.fail(p.pos, syscall.EINVAL, "Probe point is not specified")
	}
	start := p.pos
	d.Place.Column = start + 1
	if err := p.readPlace(d); err != nil {
		return err
	}
	at := &d.Place
	switch {
	case d.Inlined && at.Symbol == "":
		return p.fail(start, syscall.EINVAL,
			"%s takes a function: inlined copies are known by its name", inlineOption)
	case d.Kind == KindReturn && !at.Glob && !p.atEntry(d):
		return p.fail(start, syscall.EINVAL, badReturn)
	}
	return nil
}

// atEntry reports whether a definition's place is where a function begins.
func (p *parser) atEntry(d *Definition) bool {
	switch at := &d.Place; {
	case at.Symbol != "":
		return at.Offset == 0
	case at.File != "":
		return false
	default:
		_, offset, ok := p.t.SymbolAt(at.Addr)
		return ok && offset == 0
	}
}

func (p *parser) readPlace(d *Definition) error {
	start, at := p.pos, &d.Place
	rest := p.rest()
	if rest[0] == '"' {
		name, n, ok := quotedPrefix(rest)
		if !ok {
			return p.fail(start, syscall.EINVAL,
				badPlace+"the name is not closed with '\"', or holds an unknown escape")
		}
		p.pos += n
		if strings.HasPrefix(p.rest(), ":") && strings.HasSuffix(name, ".go") {
			return p.fileLine(d, name)
		}
		return p.named(d, name, start)
	}
	if n := longestName(rest, "+-%", p.t.Function); n > 0 {
		p.pos += n
		at.Symbol = rest[:n]
		return p.suffix(d)
	}
	w := p.word()
	p.pos = start
	if i := strings.LastIndex(w, ".go:"); i > 0 {
		p.pos += i + len(".go")
		return p.fileLine(d, w[:i+len(".go")])
	}
	if isDigit(w[0]) {
		return p.address(d, w)
	}
	name := strings.TrimSuffix(w, returnSuffix)
	if i := strings.IndexByte(name, '%'); i >= 0 && !isGlob(name) {
		return p.fail(start+i, syscall.EINVAL, "Invalid probed address suffix: there is %s", returnSuffix)
	}
	if i := strings.IndexByte(name, '+'); i > 0 {
		name = name[:i]
	}
	p.pos += len(name)
	return p.named(d, name, start)
}

// named takes a name that is complete.
func (p *parser) named(d *Definition, name string, pos int) error {
	_, isData := p.t.Symbol(name)
	switch {
	case p.t.Function(name):
	case isGlob(name):
		d.Place.Glob = true
		if functions, ok := p.t.(Functions); ok && !anyMatches(functions, name) {
			return p.fail(pos, syscall.ENOENT,
				badPlace+"there is no function %s, and none matches it as a pattern", quoteName(name))
		}
	case isData:
		return p.fail(pos, syscall.EINVAL, badPlace+"%s is data, not a function", name)
	case strings.ContainsRune(name, ':'):
		return p.fail(pos, syscall.ENOENT,
			badPlace+"there is no function %s; nor are there modules, one image holds all code", name)
	default:
		return p.fail(pos, syscall.ENOENT, badPlace+"there is no function %s", quoteName(name))
	}
	d.Place.Symbol = name
	return p.suffix(d)
}

// anyMatches reports whether there is a function that matches a pattern.
func anyMatches(functions Functions, pattern string) (found bool) {
	functions.Functions(func(name string, _ uint64) bool {
		found = MatchName(pattern, name)
		return !found
	})
	return found
}

// suffix reads what may follow a function's name: [+OFFSET][%return].
func (p *parser) suffix(d *Definition) error {
	start := p.pos
	offset, suffix := p.word(), ""
	if i := strings.IndexByte(offset, '%'); i >= 0 {
		offset, suffix = offset[:i], offset[i:]
	}
	if offset != "" {
		if d.Place.Glob {
			return p.fail(start, syscall.EINVAL, badPlace+"a pattern takes no offset, it probes entries")
		}
		n, ok := number(offset[1:])
		switch {
		case offset[0] != '+' && offset[0] != '-', !ok:
			return p.fail(start, syscall.EINVAL, badPlace+"%s is not an offset, that is + and a number", offset)
		case offset[0] == '-', n > 1<<32-1:
			return p.fail(start, syscall.EINVAL, badPlace+"the offset is not in the function")
		}
		d.Place.Offset = n
	}
	return p.returnSuffix(d, suffix, start+len(offset))
}

// returnSuffix takes %return, or nothing.
func (p *parser) returnSuffix(d *Definition, suffix string, pos int) error {
	switch {
	case suffix == "":
	case suffix != returnSuffix:
		return p.fail(pos, syscall.EINVAL, "Invalid probed address suffix: there is %s", returnSuffix)
	case d.Inlined:
		return p.fail(pos, syscall.EINVAL,
			"%s is not for return probes: an inlined copy does not return", inlineOption)
	default:
		d.Kind = KindReturn
	}
	return nil
}

// address reads a place that begins with a digit.
func (p *parser) address(d *Definition, w string) error {
	start := p.pos
	p.pos += len(w)
	digits, suffix := w, ""
	if i := strings.IndexByte(w, '%'); i >= 0 {
		digits, suffix = w[:i], w[i:]
	}
	addr, ok := number(digits)
	if !ok {
		return p.fail(start, syscall.EINVAL, badPlace+"%s is not a number of 64 bits", digits)
	}
	d.Place.Addr = addr
	return p.returnSuffix(d, suffix, start+len(digits))
}

// fileLine reads the :LINE behind a file's name.
func (p *parser) fileLine(d *Definition, file string) error {
	start := p.pos + 1
	w := p.word()[1:]
	n, ok := number(w)
	if !ok || n == 0 || n > 1<<31-1 {
		return p.fail(start, syscall.EINVAL,
			"Invalid line number: a place in a file is FILE.go:LINE, lines count from 1")
	}
	d.Place.File, d.Place.Line = file, int(n)
	return nil
}
