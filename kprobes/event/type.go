package event

import (
	"strings"
	"syscall"
)

// typeNames are the types that have a name.
var typeNames = map[string]Type{
	"u8": {Kind: TypeUnsigned, Size: 1}, "u16": {Kind: TypeUnsigned, Size: 2},
	"u32": {Kind: TypeUnsigned, Size: 4}, "u64": {Kind: TypeUnsigned, Size: 8},
	"s8": {Kind: TypeSigned, Size: 1}, "s16": {Kind: TypeSigned, Size: 2},
	"s32": {Kind: TypeSigned, Size: 4}, "s64": {Kind: TypeSigned, Size: 8},
	"x8": {Kind: TypeHex, Size: 1}, "x16": {Kind: TypeHex, Size: 2},
	"x32": {Kind: TypeHex, Size: 4}, "x64": {Kind: TypeHex, Size: 8},
	"char":    {Kind: TypeChar, Size: 1},
	"string":  {Kind: TypeString},
	"ustring": {Kind: TypeUstring},
	"symbol":  {Kind: TypeSymbol, Size: 8},
	"symstr":  {Kind: TypeSymstr, Size: 8},
}

// argType reads a type that begins at a position of the line.
func (p *parser) argType(s string, pos int) (Type, error) {
	name, array, isArray := strings.Cut(s, "[")
	n := uint64(0)
	if isArray {
		arrayPos := pos + len(name) + 1
		digits, tail, isClosed := strings.Cut(array, "]")
		var ok bool
		n, ok = number(digits)
		switch {
		case !isClosed:
			return Type{}, p.fail(arrayPos+len(array), syscall.EINVAL, "Array is not closed")
		case tail != "":
			return Type{}, p.fail(arrayPos+len(digits)+1, syscall.EINVAL, "Array has wrong suffix: %s", tail)
		case !ok, n == 0:
			return Type{}, p.fail(arrayPos, syscall.EINVAL, "Invalid array size")
		case n > maxArray:
			return Type{}, p.fail(arrayPos, syscall.E2BIG,
				"Array number is too big: at most %d are allowed", maxArray)
		}
	}
	typ, ok := typeNames[name]
	if !ok && strings.HasPrefix(name, "b") {
		if isArray {
			return Type{}, p.fail(pos, syscall.EINVAL, "Invalid bitfield: there are no arrays of bitfields")
		}
		return p.bitfield(name, pos)
	}
	if !ok {
		return Type{}, p.fail(pos, syscall.EINVAL,
			"Unknown type is specified: there are u8 to u64, s8 to s64, x8 to x64, char, string, ustring, symbol, symstr, bW@O/S")
	}
	typ.Array = int(n)
	return typ, nil
}

// bitfield reads bWIDTH@OFFSET/SIZE.
func (p *parser) bitfield(s string, pos int) (Type, error) {
	const bad = "Invalid bitfield: "
	width, tail, hasOffset := strings.Cut(s[1:], "@")
	offset, size, hasSize := strings.Cut(tail, "/")
	w, ok1 := number(width)
	o, ok2 := number(offset)
	bits, ok3 := number(size)
	switch {
	case !hasOffset || !hasSize || !ok1 || !ok2 || !ok3:
		return Type{}, p.fail(pos, syscall.EINVAL, bad+"it is bWIDTH@OFFSET/SIZE")
	case bits != 8 && bits != 16 && bits != 32 && bits != 64:
		return Type{}, p.fail(pos, syscall.EINVAL, bad+"its container has 8, 16, 32 or 64 bits, not %d", bits)
	case w == 0:
		return Type{}, p.fail(pos, syscall.EINVAL, bad+"it has no bits")
	case w > bits || o > bits-w:
		return Type{}, p.fail(pos, syscall.EINVAL, bad+"%d bits at %d do not fit into %d", w, o, bits)
	}
	return Type{Kind: TypeBitfield, Size: int(bits / 8), Width: int(w), Shift: int(o)}, nil
}

// inMemory reports whether a fetch names memory.
func (f *Fetch) inMemory() bool {
	return f.Op == FetchMem || f.Op == FetchSymbol || f.Op == FetchDeref
}

// checkType checks that an argument can have the type that it was given.
func (p *parser) checkType(arg *Arg, pos int) error {
	f, typ := &arg.Fetch, &arg.Type
	isString := typ.Kind == TypeString || typ.Kind == TypeUstring
	switch {
	case f.Op == FetchComm || f.Op == FetchString:
		if typ.Kind != TypeString || typ.Array > 0 {
			return p.fail(pos, syscall.EINVAL,
				"Unknown type is specified: $comm and immediate strings have the type string")
		}
	case isString && !f.inMemory() && (f.Op != FetchImm || typ.Array > 0):
		return p.fail(pos, syscall.EINVAL,
			"String accepts only memory argument: +0(...) reads the string at an address")
	case typ.Kind == TypeSymstr && typ.Array > 0:
		return p.fail(pos, syscall.EINVAL, "Symbol String doesn't accept arrays: use symbol")
	case typ.Kind == TypeSymstr && (f.Op == FetchImm || f.User):
		return p.fail(pos, syscall.EINVAL, "Symbol String doesn't accept data/userdata")
	case typ.Array > 0 && !f.inMemory():
		return p.fail(pos, syscall.EINVAL,
			"Array accepts only memory argument: +0(...) reads the array at an address")
	}
	return nil
}
