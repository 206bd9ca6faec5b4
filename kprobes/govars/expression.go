package govars

import (
	"debug/dwarf"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"

	"tamaprobe/kprobes/event"
)

// supported is what an expression may be.
const supported = "NAME, PACKAGE.NAME, X.FIELD, *X, X[NUMBER], len(X) or cap(X)"

// maxExpression bounds an expression's length: deeper nesting than this allows could overrun a
// small stack.
const maxExpression = 1000

// maxNames bounds the names that an error lists.
const maxNames = 24

// Results are named $ret0, or ~r0 as in the debugging information if they have no name in
// Go. Neither is an identifier, so they are parsed as unnamed_result_0.
const unnamedPrefix = "unnamed_result_"

var identifiers = strings.NewReplacer("$ret", unnamedPrefix, "~r", unnamedPrefix)

// A resolver resolves an expression at a place.
type resolver struct {
	im       *Image
	source   string // the expression as it is parsed
	function string // its name, for errors
	pkg      string // its package
	at       environment
}

// Resolve resolves an expression in Go variables at an address in the code: how to fetch its
// value when a probe there is hit. At the return of a function (pc is its entry then) the
// variables are its results, as its caller gets them.
//
// What the image does not know cannot be checked: whether an index is within a slice, or a
// pointer is nil.
func (im *Image) Resolve(pc uint64, atReturn bool, expr string) (v event.Value, err error) {
	defer im.use(&err)()
	r, err := im.routineAt(pc)
	if err != nil {
		return event.Value{}, err
	}
	x := resolver{im: im, function: r.name, pkg: packageOf(r.name)}
	if atReturn {
		x.at = returned{r}
	} else {
		x.at = stopped{im, r, r.scope(pc), pc}
	}
	return x.resolve(expr)
}

// ResolveInlined resolves an expression at the beginning of an inlined copy of a function, in
// that function's variables.
func (im *Image) ResolveInlined(c Copy, expr string) (v event.Value, err error) {
	defer im.use(&err)()
	r, err := im.routineAt(c.PC)
	if err != nil {
		return event.Value{}, err
	}
	tree, err := godwarf.LoadTree(c.offset, im.info, 0)
	if err != nil {
		return event.Value{}, err
	}
	name, _ := tree.Val(dwarf.AttrName).(string)
	x := resolver{im: im, function: name, pkg: packageOf(name)}
	x.at = stopped{im, r, scopeIn(tree, c.PC, true), c.PC}
	return x.resolve(expr)
}

// list lists names behind a text, or nothing if there are none.
func list(text string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	if len(names) > maxNames {
		names = append(slices.Clone(names[:maxNames]), "...")
	}
	return text + strings.Join(names, ", ")
}

// resolve resolves an expression.
func (x *resolver) resolve(expr string) (event.Value, error) {
	if len(expr) > maxExpression {
		return event.Value{}, fmt.Errorf("the expression is longer than %d bytes", maxExpression)
	}
	x.source = identifiers.Replace(expr)
	e, err := parser.ParseExpr(x.source)
	if err != nil {
		return event.Value{}, fmt.Errorf("%q is not a Go expression: use %s", expr, supported)
	}
	o, err := x.eval(e, "")
	if err != nil {
		return event.Value{}, err
	}
	v, err := newValue(o)
	if err != nil {
		return event.Value{}, fmt.Errorf("%s is not available here: %w", expr, err)
	}
	return v, nil
}

// eval evaluates an expression. path is what was before it, if it began with a package's
// path, whose slashes look like divisions.
func (x *resolver) eval(e ast.Expr, path string) (operand, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return x.eval(e.X, "")
	case *ast.Ident:
		return x.variable(e.Name)
	case *ast.SelectorExpr:
		return x.selector(e, path)
	case *ast.StarExpr:
		o, err := x.eval(e.X, "")
		if err != nil {
			return operand{}, err
		}
		return dereference(o, x.text(e.X))
	case *ast.IndexExpr:
		return x.indexExpr(e, path)
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.Ident); ok && len(e.Args) == 1 && (f.Name == "len" || f.Name == "cap") {
			o, err := x.eval(e.Args[0], "")
			if err != nil {
				return operand{}, err
			}
			return length(o, f.Name, x.text(e.Args[0]))
		}
		return operand{}, fmt.Errorf("%s calls a function, which a probe cannot: use %s", x.text(e), supported)
	case *ast.BinaryExpr:
		if e.Op == token.QUO && isChain(e.Y) {
			return x.eval(e.Y, x.text(e.X)+"/")
		}
	}
	return operand{}, fmt.Errorf("%s is not what a probe can fetch: use %s", x.text(e), supported)
}

// text returns the source of an expression.
func (x *resolver) text(e ast.Expr) string {
	from, to := int(e.Pos())-1, int(e.End())-1
	if from < 0 || to > len(x.source) || from > to {
		return x.source
	}
	return strings.ReplaceAll(x.source[from:to], unnamedPrefix, "$ret")
}

// isChain reports whether an expression is PACKAGE.NAME and what may follow.
func isChain(e ast.Expr) bool {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			if _, ok := x.X.(*ast.Ident); ok {
				return true
			}
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		default:
			return false
		}
	}
}

// variable evaluates a name.
func (x *resolver) variable(name string) (operand, error) {
	if n, ok := strings.CutPrefix(name, unnamedPrefix); ok {
		name = "~r" + n
	}
	o, found, err := x.at.lookup(name)
	if found || err != nil {
		return o, err
	}
	if o, found, err = x.im.global(x.pkg, name); found || err != nil {
		return o, err
	}
	names := x.at.names()
	if len(names) == 0 {
		return operand{}, fmt.Errorf("%s has no variable %s here, nor any other", x.function, display(name))
	}
	return operand{}, fmt.Errorf("%s has no variable %s here%s", x.function, display(name), list("; it has ", names))
}

// selector evaluates X.NAME: a field, or a package's variable.
func (x *resolver) selector(e *ast.SelectorExpr, path string) (operand, error) {
	if pkg, ok := e.X.(*ast.Ident); ok {
		found := false
		if path == "" {
			var err error
			if _, found, err = x.at.lookup(pkg.Name); err != nil {
				return operand{}, err
			}
			if !found {
				if _, found, err = x.im.global(x.pkg, pkg.Name); err != nil {
					return operand{}, err
				}
			}
		}
		if !found {
			o, found, err := x.im.global(path+pkg.Name, e.Sel.Name)
			if found || err != nil {
				return o, err
			}
			if x.im.isPackage(path + pkg.Name) {
				return operand{}, fmt.Errorf("package %s has no variable %s", path+pkg.Name, e.Sel.Name)
			}
			if path != "" {
				return operand{}, fmt.Errorf("there is no package %s", path+pkg.Name)
			}
		}
	}
	o, err := x.eval(e.X, path)
	if err != nil {
		return operand{}, err
	}
	return field(o, e.Sel.Name, x.text(e.X))
}

// indexExpr evaluates X[NUMBER].
func (x *resolver) indexExpr(e *ast.IndexExpr, path string) (operand, error) {
	o, err := x.eval(e.X, path)
	if err != nil {
		return operand{}, err
	}
	number, ok := e.Index.(*ast.BasicLit)
	if !ok || number.Kind != token.INT {
		return operand{}, fmt.Errorf("the index in %s is not a number: only numbers can be indexes here", x.text(e))
	}
	n, err := strconv.ParseInt(number.Value, 0, 32)
	if err != nil {
		return operand{}, fmt.Errorf("the index %s is too large", number.Value)
	}
	return element(o, n, x.text(e.X))
}

// dereference evaluates *X.
func dereference(o operand, name string) (operand, error) {
	if o.computed == nil {
		if to, ok := pointee(o.typ); ok {
			pointer, ok := o.loc.fetch(0, wordSize)
			if !ok {
				return operand{}, fmt.Errorf("%s is not available here: %w", name, errUnavailable)
			}
			return operand{typ: to, loc: behind(pointer)}, nil
		}
	}
	return operand{}, fmt.Errorf("%s (%s) is not a pointer that can be followed", name, o.typeName())
}

// typeName returns an operand's type for errors.
func (o operand) typeName() string {
	if o.computed != nil {
		return o.computed.Type.Name
	}
	return typeName(o.typ)
}

// field evaluates X.NAME for a struct or a pointer to one.
func field(o operand, name, of string) (operand, error) {
	if o.computed != nil {
		return operand{}, fmt.Errorf("%s (%s) has no fields", of, o.typeName())
	}
	s := structOf(o.typ)
	if to, ok := pointee(o.typ); ok && s == nil {
		if s = structOf(to); s != nil {
			var err error
			if o, err = dereference(o, of); err != nil {
				return operand{}, err
			}
		}
	}
	if s == nil {
		if _, ok := underlying(o.typ).(*godwarf.InterfaceType); ok {
			return operand{}, fmt.Errorf("%s (%s) is an interface: its fields depend on what is in it; record %s itself", of, o.typeName(), of)
		}
		return operand{}, fmt.Errorf("%s (%s) has no fields", of, o.typeName())
	}
	way := findField(s, name)
	if way == nil {
		return operand{}, fmt.Errorf("%s (%s) has no field %s%s", of, o.typeName(), name, list("; it has ", fieldNames(s)))
	}
	for _, f := range way {
		if structOf(o.typ) == nil { // an embedded pointer
			var err error
			if o, err = dereference(o, of); err != nil {
				return operand{}, err
			}
		}
		o = operand{typ: f.Type, loc: o.loc.part(f.ByteOffset)}
	}
	return o, nil
}

func fieldNames(s *godwarf.StructType) []string {
	var names []string
	for _, f := range s.Field {
		names = append(names, f.Name)
	}
	return names
}

// findField finds a field of a struct, or one that is promoted from an embedded struct: the
// fields that lead there. As in Go the one at the least depth wins.
func findField(s *godwarf.StructType, name string) []*godwarf.StructField {
	type step struct {
		s   *godwarf.StructType
		way []*godwarf.StructField
	}
	seen := map[*godwarf.StructType]bool{}
	for level := []step{{s: s}}; len(level) > 0; {
		var next []step
		for _, l := range level {
			if seen[l.s] {
				continue
			}
			seen[l.s] = true
			for _, f := range l.s.Field {
				way := append(slices.Clone(l.way), f)
				if f.Name == name {
					return way
				}
				if !f.Embedded {
					continue
				}
				embedded := structOf(f.Type)
				if to, ok := pointee(f.Type); ok && embedded == nil {
					embedded = structOf(to)
				}
				if embedded != nil {
					next = append(next, step{embedded, way})
				}
			}
		}
		level = next
	}
	return nil
}

// element evaluates X[n].
func element(o operand, n int64, name string) (operand, error) {
	if o.computed != nil {
		return operand{}, fmt.Errorf("%s (%s) has no elements", name, o.typeName())
	}
	if to, ok := pointee(o.typ); ok {
		if _, array := underlying(to).(*godwarf.ArrayType); array {
			var err error
			if o, err = dereference(o, name); err != nil {
				return operand{}, err
			}
		}
	}
	switch u := underlying(o.typ).(type) {
	case *godwarf.ArrayType:
		if n >= u.Count {
			return operand{}, fmt.Errorf("%s (%s) has %d elements: the index %d is out of range", name, o.typeName(), u.Count, n)
		}
		return operand{typ: u.Type, loc: o.loc.part(n * u.Type.Size())}, nil
	case *godwarf.SliceType:
		data, ok := o.loc.fetch(0, wordSize)
		if !ok {
			return operand{}, fmt.Errorf("%s is not available here: %w", name, errUnavailable)
		}
		return operand{typ: u.ElemType, loc: behind(data).part(n * u.ElemType.Size())}, nil
	case *godwarf.StringType:
		data, ok := o.loc.fetch(0, wordSize)
		if !ok {
			return operand{}, fmt.Errorf("%s is not available here: %w", name, errUnavailable)
		}
		f, _ := behind(data).fetch(n, 1)
		return operand{computed: &event.Value{
			Type:  event.Type{Kind: event.TypeUnsigned, Size: 1, Name: "uint8"},
			Parts: []event.Fetch{f},
		}}, nil
	case *godwarf.MapType:
		return operand{}, fmt.Errorf("%s (%s) is a map: a probe cannot look into it; len(%s) works", name, o.typeName(), name)
	}
	return operand{}, fmt.Errorf("%s (%s) has no elements", name, o.typeName())
}

// length evaluates len(X) and cap(X).
func length(o operand, function, name string) (operand, error) {
	refused := fmt.Errorf("%s (%s) has no %s", name, o.typeName(), function)
	if o.computed != nil {
		return operand{}, refused
	}
	if to, ok := pointee(o.typ); ok {
		if array, ok := underlying(to).(*godwarf.ArrayType); ok {
			return number(event.Fetch{Op: event.FetchImm, N: array.Count}), nil
		}
	}
	// Where the number is: at an offset in the value, or in what the value points to.
	var offset int64
	var inside string
	switch u := underlying(o.typ).(type) {
	case *godwarf.ArrayType:
		return number(event.Fetch{Op: event.FetchImm, N: u.Count}), nil
	case *godwarf.StringType:
		if function == "cap" {
			return operand{}, refused
		}
		offset = wordSize
	case *godwarf.SliceType:
		offset = wordSize
		if function == "cap" {
			offset = 2 * wordSize
		}
	case *godwarf.MapType:
		if function == "cap" {
			return operand{}, refused
		}
		inside = "used"
	case *godwarf.ChanType:
		inside = map[string]string{"len": "qcount", "cap": "dataqsiz"}[function]
	default:
		return operand{}, refused
	}
	f, ok := o.loc.fetch(offset, wordSize)
	if !ok {
		return operand{}, fmt.Errorf("%s is not available here: %w", name, errUnavailable)
	}
	if inside == "" {
		return number(f), nil
	}
	s := runtimeStruct(o.typ)
	if s == nil {
		return operand{}, refused
	}
	way := findField(s, inside)
	if len(way) != 1 {
		return operand{}, refused
	}
	f, _ = behind(f).fetch(way[0].ByteOffset, wordSize)
	return number(f), nil
}

// number is an int.
func number(f event.Fetch) operand {
	return operand{computed: &event.Value{
		Type:  event.Type{Kind: event.TypeSigned, Size: wordSize, Name: "int"},
		Parts: []event.Fetch{f},
	}}
}
