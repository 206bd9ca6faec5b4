// Package event is the language of probe events: the lines that a person types to say
// where to probe and what to record there (Linux, Documentation/trace/kprobetrace.rst), and
// what Go adds to them. It parses and prints definitions, compiles what they fetch into
// programs that run at a hit, and prints what those recorded.
//
// It knows no image and no processor: what a name means a Target says, registers and
// memory at a hit are a Hit. So it runs on any host.
package event

// A Kind is the first letter of a definition.
type Kind byte

const (
	KindProbe  Kind = 'p'
	KindReturn Kind = 'r'
	KindRemove Kind = '-'
)

// A Definition is a line of the language.
type Definition struct {
	Kind Kind
	// Group is "kprobes" if none was given; in a removal that names none it is "", for
	// any group.
	Group string
	// Event is "" in a definition that leaves the name to be made, see EventName. In a
	// removal it is "" for all events of the group.
	Event     string
	MaxActive int  // of a return probe; 0: the default
	Inlined   bool // -inline: probe inlined copies as well
	Place     Place
	Args      []Arg
	Filter    *Filter // nil: every hit
	Line      string  // as it was written, which columns refer to
}

// A Place is where a definition's probe goes.
type Place struct {
	Symbol string // a function; with Glob a pattern for functions' names
	Offset uint64
	Addr   uint64 // if Symbol and File are ""
	File   string // with Line: FILE.go:LINE
	Line   int
	Glob   bool
	Column int
}

// An Arg is one argument of an event.
type Arg struct {
	Name string
	// Of a definition as written: Fetch and Type. Those of Go variables become a Value
	// when the definition is resolved.
	Fetch  Fetch
	Type   Type
	Column int
	// Hidden arguments are behind the others: the filter needs them, nobody else sees them.
	Hidden bool
}

// A FetchOp is a kind of Fetch.
type FetchOp uint8

const (
	FetchReg    FetchOp = iota // %NAME
	FetchFloat                 // SSE register N; not in the language: Go variables are there
	FetchMem                   // @ADDR: Addr
	FetchSymbol                // @NAME+N
	FetchStack                 // $stack
	FetchStackN                // $stackN: word N of the stack
	FetchRetval                // $retval
	FetchArg                   // $argN, counted from 1
	FetchResult                // $retN: the function's Nth result, counted from 0, as a Go variable
	FetchComm                  // $comm
	FetchGoid                  // $goid
	FetchCaller                // $caller
	FetchDur                   // $dur, of a return: nanoseconds since the call
	FetchImm                   // \N
	FetchString                // \"NAME"
	FetchDeref                 // +N(Of), or with User +uN(Of)
	FetchVar                   // NAME is an expression in Go variables
)

// A Fetch says what to read at a hit. FetchMem, FetchSymbol and FetchDeref name memory: their
// value is what is at the address, read as the argument's type says, a word if they are
// part of another Fetch. The others name values.
type Fetch struct {
	Op     FetchOp
	Name   string
	N      int64
	Addr   uint64
	User   bool
	Of     *Fetch
	Column int // in the line, counted from 1
}

// A TypeKind is a kind of Type.
type TypeKind uint8

const (
	TypeDefault  TypeKind = iota // none was given: x64, and string for $comm and \"...
	TypeUnsigned                 // u8 to u64
	TypeSigned                   // s8 to s64
	TypeHex                      // x8 to x64
	TypeChar                     // char
	TypeString                   // string: bytes up to a zero byte, at the address that is fetched
	TypeUstring                  // ustring: the same here
	TypeSymbol                   // symbol: a word, printed as symbol+offset
	TypeSymstr                   // symstr: the same, as a string
	TypeBitfield                 // bW@O/S

	// Types of Go values, from debugging information. Not in the language.
	TypeBool
	TypeFloat     // Size 4 or 8
	TypeComplex   // Size 8 or 16, in two Parts: real, imaginary
	TypeGoString  // Parts: address, length
	TypePointer   // a word, printed as 0x..., or nil
	TypeFunc      // a word that points to a word with the function's entry
	TypeSlice     // Parts: address, length. Elem is the elements'
	TypeStruct    // Elems, with Names
	TypeGoArray   // Elems
	TypeInterface // Parts: type word, data word. Name is the interface's type
	TypeMap       // a word, printed as map of TYPE at address
	TypeChan      // the same for a channel
	TypeOpaque    // not shown, printed as TYPE
)

// A Type says how what is fetched is read and printed.
type Type struct {
	Kind  TypeKind
	Size  int    // in bytes, of one value
	Array int    // N of TYPE[N]; 0: no array
	Name  string // of a Go type

	// Of a bitfield: bWidth@Shift/Size*8.
	Width, Shift int
}

// A Value is how a Go value is read and printed: a tree, whose leaves are fetched.
type Value struct {
	Type  Type
	Name  string  // of a struct's field
	Parts []Fetch // what a leaf is made of; a scalar has one, of Type.Size bytes
	Elems []Value // of a struct or array
	Elem  *Elem   // of a slice; nil: only its length is recorded
	Empty bool    // an interface without methods: its type word is the type itself, not an itab
}

// An Elem describes a slice's elements, of which the first few are recorded. Value's fetches
// are relative to the element: FetchImm 0 stands for its address.
type Elem struct {
	Stride int
	Value  Value
}

// A Target is what definitions are about: it knows names.
type Target interface {
	// Function reports whether there is a function with that very name.
	Function(name string) bool
	// Symbol returns a symbol's address, of code or data.
	Symbol(name string) (addr uint64, ok bool)
	// SymbolAt names the function at an address.
	SymbolAt(addr uint64) (name string, offset uint64, ok bool)
	// Register returns a register's index in Hit.Regs and its size in bytes, by its name
	// without the %.
	Register(name string) (index, size int, ok bool)
	// Variable resolves an expression in Go variables as they are at the place of a
	// definition: `x`, `req.Method`, `len(body)`, `*p`, `a[2]`. It may allocate.
	Variable(d *Definition, expr string) (Value, error)
	// Result resolves result n of the function of a definition, at its return.
	Result(d *Definition, n int) (Value, error)
	// TypeName names the Go type whose descriptor is at an address, as in an
	// interface's type word.
	TypeName(addr uint64) (name string, ok bool)
	// StringTypes returns the addresses of the descriptors of the types whose values in
	// an interface are a pointer to memory that begins with a string: string itself,
	// *errors.errorString, *fmt.wrapError and the like.
	StringTypes() []uint64
}

// Entries is what a Target may implement besides: return events can then record Go variables
// as they are at the function's entry.
type Entries interface {
	// EntryVariable resolves an expression as Variable does, at the entry of the function.
	EntryVariable(d *Definition, expr string) (Value, error)
}

// Functions is what a Target may implement besides. It is needed for comm ~ "PATTERN" in
// filters; and with it a pattern that no function matches is refused by Parse.
type Functions interface {
	// Functions calls yield with every function, until it returns false.
	Functions(yield func(name string, addr uint64) bool)
}
