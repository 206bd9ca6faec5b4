package event

import (
	"strings"
	"syscall"
)

// Parse reads a line of the language. A blank line and a comment are no definition: it
// returns nil without an error. An error is an *Error.
func Parse(line string, t Target) (*Definition, error) {
	p := &parser{line: line, end: commentStart(line), t: t}
	for p.end > 0 && isBlank(line[p.end-1]) {
		p.end--
	}
	if !p.skip() {
		return nil, nil
	}
	if p.end > maxLineLength {
		return nil, p.fail(maxLineLength, syscall.E2BIG,
			"Command is too long: it has %d bytes, at most %d are allowed",
			p.end, maxLineLength)
	}
	if i := strings.IndexAny(line[:p.end], "\n\r\x00"); i >= 0 {
		return nil, p.fail(i, syscall.EINVAL, "A line holds one command: this one holds a line break")
	}
	d := &Definition{Group: DefaultGroup, Line: line}
	for _, part := range []func(*Definition) error{p.head, p.options, p.place, p.args, p.filter} {
		if d.Kind == KindRemove {
			break
		}
		if err := part(d); err != nil {
			return nil, err
		}
	}
	if d.Kind == KindRemove && p.skip() {
		return nil, p.fail(p.pos, syscall.EINVAL, "A removal takes an event's name only: -:[GRP/]EVENT")
	}
	return d, nil
}

// head reads the first word: p[:[GRP/][EVENT]], r[MAXACTIVE][:[GRP/][EVENT]] or -:[GRP/]EVENT.
func (p *parser) head(d *Definition) error {
	start := p.pos
	head, name, named := strings.Cut(p.word(), ":")
	active := strings.TrimLeft(head, "pr-")
	if len(head)-len(active) != 1 || active != "" && (head[0] == byte(KindRemove) || !isDigit(active[0])) {
		return p.fail(start, syscall.EINVAL,
			"Unknown command: it starts with p, r or -, and then a blank or a colon")
	}
	switch d.Kind = Kind(head[0]); {
	case d.Kind == KindRemove && !named:
		return p.fail(start+1, syscall.EINVAL, "Event name is not specified: a removal is -:[GRP/]EVENT")
	case d.Kind == KindProbe && active != "":
		return p.fail(start+1, syscall.EINVAL, "Maxactive is not for kprobe: it belongs to r")
	case active != "":
		n, ok := number(active)
		if !ok {
			return p.fail(start+1, syscall.EINVAL, "Invalid maxactive number")
		}
		if n > maxActive {
			return p.fail(start+1, syscall.E2BIG, "Maxactive is too big: at most %d are allowed", maxActive)
		}
		d.MaxActive = int(n)
	}
	if d.Kind == KindRemove {
		d.Group = ""
	}
	if !named {
		return nil
	}
	return p.eventName(d, name, start+len(head)+1)
}

// inlineOption asks for probes on inlined copies as well.
const inlineOption = "-inline"

// options reads what stands between the name and the place.
func (p *parser) options(d *Definition) error {
	for p.skip() && p.line[p.pos] == '-' {
		start := p.pos
		switch w := p.word(); {
		case w != inlineOption:
			return p.fail(start, syscall.EINVAL, "Unknown option %s: there is %s", w, inlineOption)
		case d.Kind == KindReturn:
			return p.fail(start, syscall.EINVAL,
				"%s is not for return probes: an inlined copy does not return", inlineOption)
		}
		d.Inlined = true
	}
	return nil
}

// args reads the arguments, up to the filter.
func (p *parser) args(d *Definition) error {
	for p.skip() {
		start := p.pos
		w := p.word()
		if w == filterWord {
			p.pos = start
			return nil
		}
		if len(d.Args) == maxArgs {
			return p.fail(start, syscall.E2BIG, "Too many arguments are specified: at most %d are allowed", maxArgs)
		}
		arg, err := p.arg(d, w, start)
		if err != nil {
			return err
		}
		for _, other := range d.Args {
			if other.Name == arg.Name {
				return p.fail(start, syscall.EINVAL, "This argument name is already used: %s", arg.Name)
			}
		}
		d.Args = append(d.Args, arg)
	}
	return nil
}

// arg reads the argument [NAME=]FETCH[:TYPE], which begins at a position of the line.
func (p *parser) arg(d *Definition, w string, pos int) (Arg, error) {
	arg := Arg{Column: pos + 1}
	if i := outside(w, func(c byte, _ int) bool { return c == '=' }); i < len(w) {
		arg.Name = w[:i]
		if err := p.checkArgName(arg.Name, pos); err != nil {
			return Arg{}, err
		}
		pos += i + 1
		w = w[i+1:]
	}
	colon := outside(w, func(c byte, depth int) bool { return c == ':' && depth <= 0 })
	fetch, typeName, typed := w[:colon], "", colon < len(w)
	if typed {
		typeName = w[colon+1:]
	}
	switch {
	case w == "":
		return Arg{}, p.fail(pos, syscall.EINVAL, "No argument expression")
	case len(w) > maxGoArgLength:
		return Arg{}, p.argTooLong(w, pos, maxGoArgLength)
	}
	f, err := p.fetch(d, fetch, pos, 0)
	if err != nil {
		return Arg{}, err
	}
	if len(w) > maxArgLength && !f.namesGo() {
		return Arg{}, p.argTooLong(w, pos, maxArgLength)
	}
	arg.Fetch = *f
	if arg.Name == "" {
		arg.Name = defaultArgName(f, len(d.Args))
	}
	if typed {
		arg.Type, err = p.argType(typeName, pos+colon+1)
		if err == nil {
			err = p.checkType(&arg, pos+colon+1)
		}
	}
	return arg, err
}

func (p *parser) argTooLong(w string, pos, limit int) error {
	return p.fail(pos, syscall.E2BIG,
		"Argument expression is too long: it has %d bytes, at most %d are allowed", len(w), limit)
}
