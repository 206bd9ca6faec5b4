package event

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// A test is a condition that is ready to be evaluated at a hit: fields are found, and the
// values that they are compared with are converted.
type test struct {
	logic       logic
	left, right *test

	node     *node  // of an argument
	common   string // or one of commonFields
	class    class
	operator string
	isNil    bool
	number   uint64 // the bits of a signed one; of a float its order
	text     []byte
	symbols  []uint64 // sorted: the functions that a comm is compared with
}

// A problem is what is wrong with a comparison, and where.
type problem struct {
	at      int
	message string
}

// bind makes the test of a comparison with a field of a class.
func bind(c *condition, field class) (*test, *problem) {
	t := &test{class: field, operator: c.operator, text: []byte(c.literal.text)}
	l := &c.literal
	isText := field.kind == classText || field.kind == classComm
	wrong := func(at int, format string, args ...any) (*test, *problem) {
		return nil, &problem{at, fmt.Sprintf(format, args...)}
	}
	ordered := c.operator == "<" || c.operator == "<=" || c.operator == ">" || c.operator == ">="
	switch {
	case field.kind == classNone:
		return wrong(c.fieldAt, "Field can not be compared: record one of its parts as an argument")
	case field.kind == classInterface:
		if t.isNil = l.quote == 0 && l.text == "nil"; !t.isNil {
			isText = true
		}
	case field.kind == classPointer && l.quote == 0 && l.text == "nil":
		t.isNil = true
	}
	equality := c.operator == "==" || c.operator == "!="
	switch {
	case t.isNil && !equality:
		return wrong(c.operatorAt, "Operator %s is not for nil: there are == and !=", c.operator)
	case t.isNil:
		return t, nil
	case isText && !equality && c.operator != "~":
		return wrong(c.operatorAt, "Operator %s is not for strings: there are == != ~", c.operator)
	case isText && l.quote == 0:
		if field.kind == classInterface {
			return wrong(l.at, "Value of another type: an interface is compared with nil or a string in quotes")
		}
		return wrong(l.at, "Value of another type: a string is in quotes")
	case isText && field.kind != classComm && len(l.text) > stringLimit:
		return wrong(l.at, "String is too long: the first %d bytes are recorded", stringLimit)
	case isText:
		return t, nil
	case c.operator == "~":
		return wrong(c.operatorAt, "Operator ~ is for strings only")
	}
	switch field.kind {
	case classBool:
		if !equality {
			return wrong(c.operatorAt, "Operator %s is not for bools: there are == and !=", c.operator)
		}
		v, err := strconv.ParseBool(l.text)
		if err != nil || l.quote != 0 || v != (l.text == "true") {
			return wrong(l.at, "Value of another type: a bool is true or false")
		}
		if v {
			t.number = 1
		}
	case classFloat:
		if c.operator == "&" {
			return wrong(c.operatorAt, "Operator & is for integers only")
		}
		v, err := strconv.ParseFloat(l.text, field.size*8)
		if err != nil || l.quote != 0 || math.IsNaN(v) {
			return wrong(l.at, "Value of another type: %s is no decimal number", l.quoted)
		}
		bits := math.Float64bits(v)
		if field.size == 4 {
			bits = uint64(math.Float32bits(float32(v)))
		}
		t.number, _ = floatOrder(bits, field.size)
	default:
		return bindInteger(t, c, ordered)
	}
	return t, nil
}

// bindInteger converts the value that an integer is compared with.
func bindInteger(t *test, c *condition, ordered bool) (*test, *problem) {
	l, bits := &c.literal, t.class.size*8
	v, isUnsigned := number(l.text)
	signed, isSigned := signedNumber(l.text)
	switch {
	case l.quote == '\'' && len([]rune(l.text)) == 1:
		v, isUnsigned = uint64([]rune(l.text)[0]), true
	case l.quote != 0:
		return nil, &problem{l.at, "Value of another type: an integer is compared with a number"}
	case t.class.duration && !isUnsigned:
		d, err := time.ParseDuration(l.text)
		if err != nil || d < 0 {
			return nil, &problem{l.at,
				fmt.Sprintf("Value of another type: %s is no duration, like 150us or 10ms or a number of nanoseconds", l.text)}
		}
		v, isUnsigned = uint64(d), true
	case !isUnsigned && isSigned:
		if ordered && !t.class.signed {
			return nil, &problem{l.at,
				"Value is negative, the field is unsigned: an argument may be given a type like s64"}
		}
		if signed < -1<<(bits-1) {
			return nil, &problem{l.at, fmt.Sprintf("Value is out of range: the field has %d bits", bits)}
		}
		t.number = uint64(signed)
		if !t.class.signed && bits < 64 {
			t.number &= 1<<bits - 1
		}
		return t, nil
	case !isUnsigned:
		return nil, &problem{l.at, fmt.Sprintf("Value of another type: %s is no number of 64 bits", l.text)}
	}
	limit := uint64(math.MaxUint64) >> (64 - bits)
	if t.class.signed && c.operator != "&" {
		limit >>= 1
	}
	if v > limit {
		return nil, &problem{l.at, fmt.Sprintf("Value is out of range: the field has %d bits", bits)}
	}
	t.number = v
	return t, nil
}

// floatOrder maps the bits of a float to an integer of the same order. It reports false for
// not-a-numbers. So filters need no floating-point registers at a hit.
func floatOrder(bits uint64, size int) (order uint64, ok bool) {
	infinity := uint64(0x7ff0000000000000)
	if size == 4 {
		// The exponent's width does not matter for the order.
		infinity = 0x7f800000 << 32
		bits <<= 32
	}
	const sign = 1 << 63
	switch {
	case bits&^sign > infinity:
		return 0, false
	case bits&^sign == 0:
		return sign, true
	case bits&sign != 0:
		return ^bits, true
	default:
		return bits | sign, true
	}
}

// test compiles a condition.
func (c *compiler) test(cond *condition) (*test, error) {
	if cond.logic != logicCompare {
		t := &test{logic: cond.logic}
		var err error
		if t.left, err = c.test(cond.left); err == nil && cond.right != nil {
			t.right, err = c.test(cond.right)
		}
		return t, err
	}
	field, n := commonFields[cond.common], (*node)(nil)
	if cond.arg >= 0 {
		n = &c.p.args[cond.arg]
		field = n.class()
		field.duration = c.d.Args[cond.arg].Fetch.Op == FetchDur
	}
	t, problem := bind(cond, field)
	if problem != nil {
		return nil, c.fail(problem.at+1, syscall.EINVAL, "%s", problem.message)
	}
	t.node, t.common = n, cond.common
	if field.kind == classComm {
		if err := c.commSymbols(t, cond); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// commSymbols finds the functions that a comm is compared with, because names are not known at a
// hit.
func (c *compiler) commSymbols(t *test, cond *condition) error {
	pattern := cond.literal.text
	if cond.operator != "~" {
		addr, ok := c.t.Symbol(pattern)
		if !ok {
			return c.fail(cond.literal.at+1, syscall.ENOENT,
				"Value is no function: comm is the function that a goroutine starts with, there is no %s", pattern)
		}
		t.symbols = []uint64{addr}
		return nil
	}
	functions, ok := c.t.(Functions)
	if !ok {
		return c.fail(cond.operatorAt+1, syscall.EINVAL,
			"Operator ~ is not available for comm here: use == with a function's name")
	}
	functions.Functions(func(name string, addr uint64) bool {
		if MatchName(pattern, name) {
			t.symbols = append(t.symbols, addr)
		}
		return true
	})
	if len(t.symbols) == 0 {
		return c.fail(cond.literal.at+1, syscall.ENOENT,
			"Value matches no function: comm is the function that a goroutine starts with")
	}
	slices.Sort(t.symbols)
	return nil
}
