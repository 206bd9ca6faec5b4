package event

import "strconv"

// A Field is an argument of a program, to be read from records, also at a hit. Only Append and
// AppendKey allocate.
type Field struct {
	p *Program
	n *node
}

// Fields returns all arguments, without those that are for the filter only.
func (p *Program) Fields() []Field {
	fields := make([]Field, p.recorded)
	for i := range fields {
		fields[i] = Field{p, &p.args[i]}
	}
	return fields
}

// Field returns the argument of a name.
func (p *Program) Field(name string) (Field, bool) {
	for i := range p.recorded {
		if p.args[i].name == name {
			return Field{p, &p.args[i]}, true
		}
	}
	return Field{}, false
}

// Name returns the argument's name.
func (f Field) Name() string { return f.n.name }

// IsInteger reports whether Int reads the argument: integers, bools, pointers, symbols.
func (f Field) IsInteger() bool {
	switch f.n.class().kind {
	case classInteger, classBool, classPointer, classComm:
		return true
	}
	return false
}

// IsText reports whether Bytes reads the argument: strings, and interfaces as far as they
// hold text.
func (f Field) IsText() bool {
	switch f.n.class().kind {
	case classText, classInterface:
		return true
	}
	return false
}

// Int returns the argument as an integer. It reports false if it could not be read or is none.
func (f Field) Int(rec []byte) (v int64, ok bool) {
	if !f.IsInteger() {
		return 0, false
	}
	b := slotBytes(rec, &f.p.frame, 0, f.n.slot)
	if b == nil {
		return 0, false
	}
	u := littleEndian(b)
	if f.n.show == showSigned {
		u = signExtend(u, len(b))
	}
	return int64(u), true
}

// Bytes returns the argument's text, which lies in the record. It reports false if it could
// not be read or is none.
func (f Field) Bytes(rec []byte) (text []byte, ok bool) {
	if f.n.show != showString && f.n.show != showInterface {
		return nil, false
	}
	b := slotBytes(rec, &f.p.frame, 0, f.n.slot)
	if b == nil {
		return nil, false
	}
	if f.n.show == showInterface {
		if !f.p.hasText(littleEndian(b[:8])) {
			return nil, false
		}
		b = b[16:]
	}
	text, _, ok = located(rec, b)
	return text, ok
}

// Append prints the argument's value.
func (f Field) Append(dst, rec []byte, t Target) []byte {
	pr := printer{f.p, rec, t}
	return pr.node(dst, f.n, &f.p.frame, 0)
}

// First bytes of keys.
const (
	keyFault byte = iota
	keyValue
	keyCut // of a string of which the end is missing
)

// MaxKey is the length of the longest key.
const MaxKey = 1 + 8 + stringLimit

// Key writes what tells values of the argument apart to key, as much as fits, and returns its
// length: records with equal keys are one group. Structs, slices and arrays have no key: it
// returns 0.
func (f Field) Key(key, rec []byte) int {
	if len(key) == 0 || !f.HasKey() {
		return 0
	}
	key[0] = keyValue
	if f.n.show == showConst {
		return 1
	}
	b := slotBytes(rec, &f.p.frame, 0, f.n.slot)
	if b == nil {
		key[0] = keyFault
		return 1
	}
	switch f.n.show {
	case showString:
		return 1 + copyText(key, 1, rec, b)
	case showInterface:
		// Values of other types than those with text are told apart by the type only: where they
		// lie says little.
		n := copy(key[1:], b[:8])
		if f.p.hasText(littleEndian(b[:8])) {
			n += copyText(key, 1+n, rec, b[16:])
		}
		return 1 + n
	}
	return 1 + copy(key[1:], b)
}

// copyText copies a string to key[at:], and notes in key[0] if it is not whole.
func copyText(key []byte, at int, rec, location []byte) int {
	text, cut, ok := located(rec, location)
	at = min(at, len(key))
	n := copy(key[at:], text)
	switch {
	case !ok:
		key[0] = keyFault
	case cut, n < len(text):
		key[0] = keyCut
	}
	return n
}

// HasKey reports whether Key works for the argument.
func (f Field) HasKey() bool { return f.n.class().kind != classNone }

// AppendKey prints a key that Key wrote.
func (f Field) AppendKey(dst, key []byte, t Target) []byte {
	if len(key) == 0 {
		return append(dst, faultText...)
	}
	status, key := key[0], key[1:]
	pr := printer{f.p, nil, t}
	switch f.n.show {
	case showConst:
		return strconv.AppendQuote(dst, f.n.text)
	case showString:
		return appendText(dst, key, status == keyCut, status != keyFault)
	case showInterface:
		return pr.interfaceKey(dst, key, status)
	}
	if status == keyFault {
		return append(dst, faultText...)
	}
	return pr.scalar(dst, f.n.show, f.n.typ, key)
}

// interfaceKey prints an interface's key: its type and text.
func (pr *printer) interfaceKey(dst, key []byte, status byte) []byte {
	if len(key) < 8 {
		return append(dst, faultText...)
	}
	typ := littleEndian(key[:8])
	if typ == 0 {
		return append(dst, "nil"...)
	}
	dst = pr.typeName(dst, typ)
	if pr.p.hasText(typ) {
		dst = append(dst, '(')
		dst = appendText(dst, key[8:], status == keyCut, status != keyFault)
		dst = append(dst, ')')
	}
	return dst
}

// typeName prints a dynamic type in parentheses.
func (pr *printer) typeName(dst []byte, typ uint64) []byte {
	dst = append(dst, '(')
	if name, ok := pr.t.TypeName(typ); ok {
		dst = append(dst, name...)
	} else {
		dst = appendHex(dst, typ)
	}
	return append(dst, ')')
}
