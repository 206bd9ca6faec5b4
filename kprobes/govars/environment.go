package govars

import (
	"debug/dwarf"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
)

// An environment knows a function's variables at a moment.
type environment interface {
	lookup(name string) (o operand, found bool, err error)
	// names returns the names of the variables that are available.
	names() []string
}

// stopped is a function that has arrived at an address.
type stopped struct {
	im    *Image
	r     *routine
	scope scope
	pc    uint64
}

func (s stopped) lookup(name string) (operand, bool, error) {
	variable, address := s.scope.find(name)
	if variable != nil {
		o, err := s.operand(variable)
		if err == nil {
			return o, true, nil
		}
		if o, err2 := s.moved(address); err2 == nil {
			return o, true, nil
		}
		if result, _ := variable.Val(dwarf.AttrVarParam).(bool); result {
			return operand{}, true, fmt.Errorf("%s (%s) is a result, and not yet there: probe the return with r",
				display(name), o.typeName())
		}
		return operand{}, true, fmt.Errorf("%s (%s) is not available here: %w", name, o.typeName(), err)
	}
	if address != nil {
		o, err := s.moved(address)
		if err != nil {
			err = fmt.Errorf("%s is not available here: %w", name, err)
		}
		return o, true, err
	}
	known, err := s.known(name)
	if err != nil || !known {
		return operand{}, false, err
	}
	if s.pc == s.r.low && s.scope[len(s.scope)-1] == s.r.tree {
		for i, p := range s.r.params {
			if p.name == name {
				l, err := s.im.atEntry(s.r, i)
				if err != nil {
					break
				}
				return operand{typ: p.typ, loc: l}, true, nil
			}
		}
	}
	return operand{}, true, fmt.Errorf("%s is not available here: %w", name, errUnavailable)
}

// operand returns a variable. If it is not available only its type is known.
func (s stopped) operand(node *godwarf.Tree) (operand, error) {
	typ, err := s.im.typeOf(node)
	if err != nil {
		return operand{typ: &godwarf.VoidType{}}, err
	}
	l, err := s.locate(node, typ)
	return operand{typ: typ, loc: l}, err
}

// moved returns a variable that was moved to the heap, given the one that holds its address.
func (s stopped) moved(address *godwarf.Tree) (operand, error) {
	if address == nil {
		return operand{}, errUnavailable
	}
	o, err := s.operand(address)
	if err != nil {
		return operand{}, err
	}
	return dereference(o, nodeName(address))
}

// locate returns where a variable is.
func (s stopped) locate(node *godwarf.Tree, t godwarf.Type) (location, error) {
	frame := int64(wordSize)
	if s.pc == s.r.low {
		for i, p := range s.r.params {
			if p.node == node {
				return s.im.atEntry(s.r, i)
			}
		}
	} else {
		var err error
		if frame, err = s.im.frameOffset(s.pc); err != nil {
			return nil, err
		}
	}
	l, err := s.im.stated(s.r, node, t, s.pc, frame)
	if err == nil && l == nil {
		err = errUnavailable
	}
	return l, err
}

// known reports whether there is a variable of which only the abstract functions know:
// nothing of it is left here.
func (s stopped) known(name string) (bool, error) {
	for _, node := range s.scope {
		origin, ok := node.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			continue
		}
		abstract, err := godwarf.LoadTree(origin, s.im.info, 0)
		if err != nil {
			return false, err
		}
		for _, child := range abstract.Children {
			if isVariable(child) && nodeName(child) == name {
				return true, nil
			}
		}
	}
	return false, nil
}

func (s stopped) names() []string {
	var available []string
	for _, name := range s.scope.names() {
		if _, _, err := s.lookup(name); err == nil {
			available = append(available, name)
		}
	}
	return available
}

// returned is a function that has returned to its caller.
type returned struct{ r *routine }

func (r returned) lookup(name string) (operand, bool, error) {
	for i, p := range r.r.results {
		if p.name == name || name == "~r"+strconv.Itoa(i) {
			return operand{typ: p.typ, loc: r.r.abi.results[i]}, true, nil
		}
	}
	for _, p := range r.r.params {
		if p.name == name {
			return operand{}, true, fmt.Errorf("%s is a parameter: at the return of %s only its results are there%s",
				name, r.r.name, list(": ", r.names()))
		}
	}
	return operand{}, false, nil
}

func (r returned) names() []string {
	var names []string
	for _, p := range r.r.results {
		names = append(names, display(p.name))
	}
	return names
}

// display returns a variable's name as it is written in an expression.
func display(name string) string {
	if n, ok := strings.CutPrefix(name, "~r"); ok {
		return "$ret" + n
	}
	return name
}
