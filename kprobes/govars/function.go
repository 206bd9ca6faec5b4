package govars

import (
	"debug/dwarf"
	"fmt"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"

	"tamaprobe/kprobes/event"
)

// A Function is a function of the image.
type Function struct {
	Name       string
	Entry, End uint64
	Line       int // of the declaration; 0: unknown
	Params     []Variable
	Results    []Variable
}

// A Variable is a parameter, a result or a local variable.
type Variable struct {
	Name string // ~r0, ~r1, ... if it has none
	Type string
}

// A routine is what is known about a function's variables.
type routine struct {
	procedure
	tree            *godwarf.Tree
	params, results []parameter

	// Where they are by the ABI. If trusted is false the debugging information contradicts it,
	// because it leaves parameters out.
	abi     assignment
	trusted bool
}

// A parameter is a parameter or a result.
type parameter struct {
	name string
	typ  godwarf.Type
	node *godwarf.Tree // nil: only the abstract function has it
}

// Function returns the function whose code is at an address.
func (im *Image) Function(pc uint64) (f *Function, err error) {
	defer im.use(&err)()
	r, err := im.routineAt(pc)
	if err != nil {
		return nil, err
	}
	f = &Function{Name: r.name, Entry: r.low, End: r.high}
	if line, ok := r.tree.Val(dwarf.AttrDeclLine).(int64); ok {
		f.Line = int(line)
	}
	for _, p := range r.params {
		f.Params = append(f.Params, Variable{p.name, typeName(p.typ)})
	}
	for _, p := range r.results {
		f.Results = append(f.Results, Variable{p.name, typeName(p.typ)})
	}
	return f, nil
}

// Locals returns the variables that an expression at an address may name, parameters
// included, the innermost first. Not all of them need to be available there.
func (im *Image) Locals(pc uint64) (variables []Variable, err error) {
	defer im.use(&err)()
	r, err := im.routineAt(pc)
	if err != nil {
		return nil, err
	}
	s := r.scope(pc)
	for _, name := range s.names() {
		node, address := s.find(name)
		if node == nil {
			node = address
		}
		typ, err := im.typeOf(node)
		if err != nil {
			return nil, err
		}
		if to, ok := pointee(typ); ok && node == address {
			typ = to
		}
		variables = append(variables, Variable{name, typeName(typ)})
	}
	return variables, nil
}

// routineAt returns the function at an address.
func (im *Image) routineAt(pc uint64) (*routine, error) {
	p, ok, err := im.procedureAt(pc)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("no debugging information about code at %#x: assembly has none", pc)
	}
	if r, ok := im.routines[p.offset]; ok {
		return r, nil
	}
	r := &routine{procedure: p}
	if r.tree, err = godwarf.LoadTree(p.offset, im.info, 0); err != nil {
		return nil, err
	}
	if err := im.signature(r); err != nil {
		return nil, err
	}
	if err := im.assignRoutine(r); err != nil {
		return nil, err
	}
	im.routines[p.offset] = r
	return r, nil
}

// signature finds a function's parameters and results. If there is an abstract function,
// it has them all and in their order; the machine code's entry may lack some.
func (im *Image) signature(r *routine) error {
	signature := r.tree
	if r.origin != 0 {
		abstract, err := godwarf.LoadTree(r.origin, im.info, 0)
		if err != nil {
			return err
		}
		signature = abstract
	}
	seen := make(map[string]bool)
	for _, node := range signature.Children {
		// The compiler describes some results twice.
		if node.Tag != dwarf.TagFormalParameter || seen[nodeName(node)] {
			continue
		}
		seen[nodeName(node)] = true
		typ, err := im.typeOf(node)
		if err != nil {
			return err
		}
		p := parameter{name: nodeName(node), typ: typ, node: node}
		if r.origin != 0 {
			p.node = parameterNode(r.tree, p.name)
		}
		if result, _ := node.Val(dwarf.AttrVarParam).(bool); result {
			r.results = append(r.results, p)
		} else {
			r.params = append(r.params, p)
		}
	}
	return nil
}

// parameterNode finds a function's parameter by its name, nil if there is none.
func parameterNode(function *godwarf.Tree, name string) *godwarf.Tree {
	for _, node := range function.Children {
		if node.Tag == dwarf.TagFormalParameter && nodeName(node) == name {
			return node
		}
	}
	return nil
}

func nodeName(node *godwarf.Tree) string {
	name, _ := node.Val(dwarf.AttrName).(string)
	return name
}

// assignRoutine assigns a function's parameters and results by the ABI.
//
// The debugging information does not say which ABI. A dictionary shows by where it leaves the
// parameters. An abstract function lacks parameters without a name, which shows too.
func (im *Image) assignRoutine(r *routine) error {
	candidates := []abi{{dictionary: noDictionary}}
	switch {
	case strings.Contains(r.name, "].") || strings.Contains(r.name, "])."): // a method: behind the receiver
		candidates = []abi{{dictionary: 1}, {dictionary: 0}, {dictionary: noDictionary}}
	case strings.Contains(r.name, "[go.shape."):
		candidates = []abi{{dictionary: 0}, {dictionary: noDictionary}}
	case im.isABI0(r.procedure):
		candidates = []abi{{dictionary: noDictionary, stack: true}}
	}
	fewest := -1
	for _, c := range candidates {
		assigned := c.assign(r.params, r.results)
		n, err := im.contradictions(r, assigned)
		if err != nil {
			return err
		}
		if fewest < 0 || n < fewest {
			fewest = n
			r.abi = assigned
		}
	}
	// The compiler errs now and then about a parameter that is assigned to.
	r.trusted = fewest == 0 || r.origin == 0
	return nil
}

// isABI0 reports whether a function has its parameters on the stack, as assembly has. Its
// symbol says so.
func (im *Image) isABI0(p procedure) bool {
	s, ok := im.symbol(p.name + ".abi0")
	return ok && s.Value == p.low
}

// contradictions counts the parameters that the debugging information has in other registers
// than the ABI.
func (im *Image) contradictions(r *routine, assigned assignment) (int, error) {
	n := 0
	for i, p := range r.params {
		if p.node == nil {
			continue
		}
		stated, err := im.stated(r, p.node, p.typ, r.low, wordSize)
		if err != nil {
			return 0, err
		}
		for _, piece := range stated {
			if piece.memory != nil {
				continue
			}
			register, ok := assigned.params[i].fetch(piece.offset, 1)
			if !ok || register != piece.register {
				n++
				break
			}
		}
	}
	return n, nil
}

// stated returns where the debugging information has a variable at an address, nil if
// nowhere.
func (im *Image) stated(r *routine, node *godwarf.Tree, t godwarf.Type, pc uint64, frame int64) (location, error) {
	expression, err := im.expression(r.unit, node, pc)
	if err != nil || len(expression) == 0 {
		return nil, err
	}
	l, err := execute(expression, t, frame)
	if err == errUnavailable {
		return nil, nil
	}
	return l, err
}

// atEntry returns where parameter i is when the function is entered.
//
// The ABI knows best: the debugging information has parameters that are to be moved to
// the heap or to a slot on the stack there from the first instruction on.
func (im *Image) atEntry(r *routine, i int) (location, error) {
	if r.trusted {
		return r.abi.params[i], nil
	}
	if r.params[i].node == nil {
		return nil, errUnavailable
	}
	l, err := im.stated(r, r.params[i].node, r.params[i].typ, r.low, wordSize)
	if err != nil {
		return nil, err
	}
	for _, piece := range l {
		if piece.memory == nil {
			return l, nil
		}
	}
	return nil, errUnavailable
}

// A scope is where in a function an expression is: the blocks and inlined functions around
// it, the innermost first.
type scope []*godwarf.Tree

// scope returns the scope at an address. At its entry a function is not yet in an inlined
// function, even if that has the first instruction.
func (r *routine) scope(pc uint64) scope {
	return scopeIn(r.tree, pc, pc == r.low)
}

func scopeIn(node *godwarf.Tree, pc uint64, entry bool) scope {
	for _, child := range node.Children {
		switch child.Tag {
		case dwarf.TagLexDwarfBlock, dwarf.TagInlinedSubroutine:
			if !entry && child.ContainsPC(pc) {
				return append(scopeIn(child, pc, false), node)
			}
		}
	}
	return scope{node}
}

// names returns the names of a scope's variables, the innermost blocks' first.
func (s scope) names() []string {
	var r []string
	seen := make(map[string]bool)
	for _, block := range s {
		for _, node := range block.Children {
			name := strings.TrimPrefix(nodeName(node), "&")
			if isVariable(node) && name != "" && name[0] != '.' && name != "_" && !seen[name] {
				seen[name] = true
				r = append(r, name)
			}
		}
	}
	return r
}

// find finds the variable that a name means. If it was moved to the heap there may be another
// one, &NAME, that holds its address; or only that one.
func (s scope) find(name string) (variable, address *godwarf.Tree) {
	for _, block := range s {
		// Of several in one block with the same name the last one hides the others.
		for _, node := range block.Children {
			switch {
			case !isVariable(node):
			case nodeName(node) == name:
				variable = node
			case nodeName(node) == "&"+name:
				address = node
			}
		}
		if variable != nil || address != nil {
			break
		}
	}
	return variable, address
}

func isVariable(node *godwarf.Tree) bool {
	return node.Tag == dwarf.TagFormalParameter || node.Tag == dwarf.TagVariable
}

// ResultValue resolves result n of the function whose code is at an address, counted from
// 0, for the moment at which it has returned to its caller.
func (im *Image) ResultValue(pc uint64, n int) (v event.Value, err error) {
	defer im.use(&err)()
	r, err := im.routineAt(pc)
	if err != nil {
		return event.Value{}, err
	}
	if n < 0 || n >= len(r.results) {
		switch len(r.results) {
		case 0:
			return event.Value{}, fmt.Errorf("%s has no results", r.name)
		case 1:
			return event.Value{}, fmt.Errorf("%s has one result, $ret0", r.name)
		}
		return event.Value{}, fmt.Errorf("%s has %d results, $ret0 to $ret%d", r.name, len(r.results), len(r.results)-1)
	}
	return newValue(operand{r.results[n].typ, r.abi.results[n], nil})
}
