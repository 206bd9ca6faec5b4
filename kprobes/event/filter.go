package event

import (
	"strconv"
	"strings"
	"syscall"
)

// A Filter is the condition behind a definition's `if`: comparisons of arguments and of what every
// event has, joined by &&, || and !. It is part of the definition; Compile makes of it
// what is evaluated at a hit (Program.Match).
type Filter struct {
	text string
	root *condition
}

// String returns the filter's expression as it was written.
func (f *Filter) String() string { return f.text }

// filterWord begins a filter.
const filterWord = "if"

// Limits of a filter: to evaluate it takes stack and time at a hit.
const (
	maxConditions  = 64
	maxParentheses = 8
)

// logic is how a condition is made.
type logic uint8

const (
	logicCompare logic = iota
	logicAnd
	logicOr
	logicNot
)

// A condition is a filter or a part of it.
type condition struct {
	logic       logic
	left, right *condition // of logicNot left only

	// Of a comparison.
	arg        int // index; -1: common
	common     string
	operator   string
	literal    literal
	fieldAt    int // positions in the line
	operatorAt int
}

// A literal is what a field is compared with.
type literal struct {
	text   string
	quote  byte // 0: a number or a word
	at     int
	quoted string // as it was written
}

// operators are the comparisons; of two that begin alike the longer one is first.
var operators = []string{"==", "!=", "<=", ">=", "<", ">", "&", "~"}

// commonFields are the fields that every event has.
var commonFields = map[string]class{
	"common_pid": {kind: classInteger, size: 8},
	"common_cpu": {kind: classInteger, size: 8},
	"comm":       {kind: classComm},
	"dur":        {kind: classInteger, size: 8, duration: true},
}

// A filterParser reads a filter.
type filterParser struct {
	*parser
	d          *Definition
	conditions int
}

// filter reads `if EXPR`.
func (p *parser) filter(d *Definition) error {
	if !p.skip() {
		return nil
	}
	p.pos += len(filterWord)
	if !p.skip() {
		return p.fail(p.pos, syscall.EINVAL, "No filter expression: if needs a condition")
	}
	text := p.rest()
	f := &filterParser{parser: p, d: d}
	root, err := f.or(0)
	if err != nil {
		return err
	}
	if f.skip() {
		if f.line[f.pos] == ')' {
			return f.fail(f.pos, syscall.EINVAL, "Parenthesis is not opened")
		}
		return f.fail(f.pos, syscall.EINVAL, "Invalid filter: && or || joins conditions")
	}
	d.Filter = &Filter{text, root}
	return nil
}

// or reads conditions that are joined by ||.
func (f *filterParser) or(depth int) (*condition, error) {
	return f.joined("||", logicOr, func() (*condition, error) {
		return f.joined("&&", logicAnd, func() (*condition, error) { return f.condition(depth) })
	})
}

// joined reads what an operator joins. The tree grows to the right, which Match follows without
// recursion.
func (f *filterParser) joined(operator string, l logic, next func() (*condition, error)) (*condition, error) {
	left, err := next()
	if err != nil || !f.skip() || !strings.HasPrefix(f.rest(), operator) {
		return left, err
	}
	f.pos += len(operator)
	right, err := f.joined(operator, l, next)
	return &condition{logic: l, left: left, right: right}, err
}

// condition reads a comparison, a negation or what is in parentheses.
func (f *filterParser) condition(depth int) (*condition, error) {
	if !f.skip() {
		return nil, f.fail(f.pos, syscall.EINVAL,
			"Field is not specified: the filter ends where a condition is expected")
	}
	start := f.pos
	switch f.line[start] {
	case '!', '(':
		if depth == maxParentheses {
			return nil, f.fail(start, syscall.E2BIG, "Filter is too much nested: at most %d deep", maxParentheses)
		}
		f.pos++
		if f.line[start] == '!' {
			of, err := f.condition(depth + 1)
			return &condition{logic: logicNot, left: of}, err
		}
		of, err := f.or(depth + 1)
		if err != nil {
			return nil, err
		}
		if !f.skip() || f.line[f.pos] != ')' {
			return nil, f.fail(f.pos, syscall.EINVAL, "Parenthesis is not closed")
		}
		f.pos++
		return of, nil
	}
	return f.comparison()
}

// comparison reads FIELD OPERATOR VALUE.
func (f *filterParser) comparison() (*condition, error) {
	c := &condition{fieldAt: f.pos}
	if f.conditions++; f.conditions > maxConditions {
		return nil, f.fail(f.pos, syscall.E2BIG,
			"Filter is too long: at most %d comparisons are allowed", maxConditions)
	}
	if err := f.field(c); err != nil {
		return nil, err
	}
	f.skip()
	c.operatorAt = f.pos
	for _, operator := range operators {
		if strings.HasPrefix(f.rest(), operator) {
			c.operator = operator
			break
		}
	}
	if c.operator == "" || strings.HasPrefix(f.rest(), "&&") {
		return nil, f.fail(f.pos, syscall.EINVAL, "Operator is not specified: there are == != < <= > >= & ~")
	}
	f.pos += len(c.operator)
	if err := f.literal(c); err != nil {
		return nil, err
	}
	field := f.classOf(c)
	if field.kind == classUnknown {
		return c, nil
	}
	_, problem := bind(c, field)
	if problem != nil {
		return nil, f.fail(problem.at, syscall.EINVAL, "%s", problem.message)
	}
	return c, nil
}

// classOf is what is known of a field before Go's variables are resolved.
func (f *filterParser) classOf(c *condition) class {
	if c.arg < 0 {
		return commonFields[c.common]
	}
	arg := &f.d.Args[c.arg]
	typ := arg.Type
	if typ.Kind == TypeDefault {
		switch arg.Fetch.Op {
		case FetchVar, FetchResult:
			return class{}
		}
		typ = defaultType(&arg.Fetch)
	}
	return classOfType(&arg.Fetch, typ)
}

// field reads a field's name. Arguments come first, the longest name wins: names may be
// expressions, like len(body).
func (f *filterParser) field(c *condition) error {
	rest := f.rest()
	c.arg = -1
	length := 0
	for i := range f.d.Args {
		name := f.d.Args[i].Name
		tail, ok := strings.CutPrefix(rest, name)
		if ok && len(name) > length && !continuesName(tail) {
			c.arg, length = i, len(name)
		}
	}
	if c.arg >= 0 {
		f.pos += length
		return nil
	}
	length = outside(rest, func(b byte, depth int) bool {
		return depth <= 0 && (isBlank(b) || strings.IndexByte("=!<>&|~)", b) >= 0)
	})
	c.common = rest[:length]
	if length == 0 {
		return f.fail(f.pos, syscall.EINVAL, "Field is not specified: a condition begins with an argument's name")
	}
	if _, ok := commonFields[c.common]; !ok {
		return f.unrecorded(c)
	}
	if c.common == "dur" && f.d.Kind != KindReturn {
		return f.fail(f.pos, syscall.EINVAL, "dur is not available on probe: define a return probe, with r")
	}
	f.pos += length
	return nil
}

// unrecorded makes a hidden argument of a field that is no argument: a Go variable, a register or what
// else can be fetched.
func (f *filterParser) unrecorded(c *condition) error {
	expr := c.common
	if strings.HasPrefix(expr, "common_") {
		return f.fail(f.pos, syscall.ENOENT,
			"Field not found: %s is no argument of this event, and none of common_pid, common_cpu, comm, dur", expr)
	}
	if len(expr) > maxGoArgLength {
		return f.argTooLong(expr, f.pos, maxGoArgLength)
	}
	fetch, err := f.fetch(f.d, expr, f.pos, 0)
	if err != nil {
		return err
	}
	c.common, c.arg = "", len(f.d.Args)
	f.d.Args = append(f.d.Args, Arg{Name: expr, Fetch: *fetch, Column: f.pos + 1, Hidden: true})
	f.pos += len(expr)
	return nil
}

// continuesName reports whether s begins with what may be part of a field's name.
func continuesName(s string) bool {
	r := firstRune(s)
	return isLetter(r) || '0' <= r && r <= '9' || s != "" && strings.ContainsRune(".[(", r)
}

// literal reads the value that a field is compared with.
func (f *filterParser) literal(c *condition) error {
	f.skip()
	rest := f.rest()
	l := &c.literal
	l.at = f.pos
	n := 0
	switch {
	case rest == "":
		return f.fail(f.pos, syscall.EINVAL, "Value is not specified")
	case rest[0] == '"' || rest[0] == '\'':
		l.quote = rest[0]
		end := closing(rest)
		if end < 0 {
			return f.fail(len(f.line[:f.end]), syscall.EINVAL, "String is not closed with %q", rune(l.quote))
		}
		n = end + 1
		var ok bool
		if l.text, ok = unquoteLiteral(rest[:n]); !ok {
			return f.fail(f.pos, syscall.EINVAL, "Invalid string: it holds an unknown escape")
		}
	default:
		for n < len(rest) && !isBlank(rest[n]) && !strings.ContainsRune("()&|!<>=~", rune(rest[n])) {
			n++
		}
		l.text = rest[:n]
		if n == 0 {
			return f.fail(f.pos, syscall.EINVAL, "Value is not specified")
		}
	}
	l.quoted = rest[:n]
	f.pos += n
	return nil
}

// closing returns the index of the quote that ends the string at the start of s, -1 if
// there is none.
func closing(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i
		}
	}
	return -1
}

// unquoteLiteral takes off quotes, and replaces escapes as Go has them. Strings may be in
// single quotes too.
func unquoteLiteral(s string) (string, bool) {
	quote, tail := s[0], s[1:len(s)-1]
	var b strings.Builder
	for tail != "" {
		r, multibyte, rest, err := strconv.UnquoteChar(tail, quote)
		if err != nil {
			return "", false
		}
		if multibyte {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r))
		}
		tail = rest
	}
	return b.String(), true
}
