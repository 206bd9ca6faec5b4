package govars

import (
	"cmp"
	"debug/dwarf"
	"slices"
	"sort"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/dwarf/op"
)

// An index tells where in the debugging information things are. It is filled unit by unit, a
// unit being what was compiled at once: a package.
type index struct {
	units  []*unit
	ranges []unitRange // by address

	abstract  map[string][]dwarf.Offset       // the functions that were inlined somewhere, by name
	copies    map[dwarf.Offset][]inlinedEntry // by abstract function
	globals   map[string]global
	typeNames map[uint64]runtimeType // by descriptor, as an offset from the symbol runtime.types
}

// A unit is a compilation unit.
type unit struct {
	entry      *dwarf.Entry
	name       string // of the package
	low        uint64 // what location lists are relative to
	addrBase   uint64
	indexed    bool
	procedures []procedure // by address
}

type unitRange struct {
	low, high uint64
	unit      *unit
}

// A procedure is a function's machine code.
type procedure struct {
	low, high uint64
	unit      *unit
	offset    dwarf.Offset
	origin    dwarf.Offset // of the abstract function, which has the name; 0: none
	name      string
}

// An inlinedEntry is a copy of a function's code in another function.
type inlinedEntry struct {
	offset dwarf.Offset
	caller procedure
}

// A global is a package-level variable.
type global struct {
	addr uint64
	typ  dwarf.Offset
}

// A runtimeType is a type that has a descriptor at run time.
type runtimeType struct {
	name   string
	offset dwarf.Offset
	tag    dwarf.Tag
}

// open finds the units, without looking into them.
func (x *index) open(info *dwarf.Data) error {
	x.abstract = make(map[string][]dwarf.Offset)
	x.copies = make(map[dwarf.Offset][]inlinedEntry)
	x.globals = make(map[string]global)
	x.typeNames = make(map[uint64]runtimeType)
	r := info.Reader()
	for {
		e, err := r.Next()
		if err != nil {
			return err
		}
		if e == nil {
			break
		}
		if e.Tag == dwarf.TagCompileUnit {
			u := &unit{entry: e}
			u.name, _ = e.Val(dwarf.AttrName).(string)
			u.low, _ = e.Val(dwarf.AttrLowpc).(uint64)
			if base, ok := e.Val(dwarf.AttrAddrBase).(int64); ok {
				u.addrBase = uint64(base)
			}
			x.units = append(x.units, u)
			ranges, err := info.Ranges(e)
			if err != nil {
				return err
			}
			for _, r := range ranges {
				x.ranges = append(x.ranges, unitRange{r[0], r[1], u})
			}
		}
		r.SkipChildren()
	}
	slices.SortFunc(x.ranges, func(a, b unitRange) int { return cmp.Compare(a.low, b.low) })
	return nil
}

// unitAt returns the unit whose code is at an address, nil if there is none.
func (x *index) unitAt(pc uint64) *unit {
	i := sort.Search(len(x.ranges), func(i int) bool { return x.ranges[i].low > pc })
	if i == 0 || pc >= x.ranges[i-1].high {
		return nil
	}
	return x.ranges[i-1].unit
}

// all looks into all units.
func (x *index) all(info *dwarf.Data) error {
	for _, u := range x.units {
		if err := x.add(info, u); err != nil {
			return err
		}
	}
	return nil
}

// addTypes looks into the unit with the types that have a descriptor. The linker writes
// them all into one unit, behind the others.
func (x *index) addTypes(info *dwarf.Data) error {
	for _, u := range slices.Backward(x.units) {
		if len(x.typeNames) > 0 {
			break
		}
		if err := x.add(info, u); err != nil {
			return err
		}
	}
	return nil
}

// add looks into a unit, once. The entries have no links that lead over the children of
// one, so all must be decoded.
func (x *index) add(info *dwarf.Data, u *unit) error {
	if u.indexed {
		return nil
	}
	r := info.Reader()
	r.Seek(u.entry.Offset)
	depth := 0
	var current procedure
	for {
		e, err := r.Next()
		if err != nil {
			return err
		}
		if e == nil {
			break
		}
		if e.Tag == 0 {
			if depth--; depth == 0 {
				break
			}
			continue
		}
		switch {
		case e.Tag == dwarf.TagSubprogram:
			current = x.addFunction(u, e)
		case e.Tag == dwarf.TagInlinedSubroutine:
			if origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
				x.copies[origin] = append(x.copies[origin], inlinedEntry{e.Offset, current})
			}
		case depth == 1 && e.Tag == dwarf.TagVariable:
			x.addGlobal(e)
		default:
			x.addType(e)
		}
		if e.Children {
			depth++
		}
	}
	slices.SortFunc(u.procedures, func(a, b procedure) int { return cmp.Compare(a.low, b.low) })
	u.indexed = true
	return nil
}

// addFunction adds a function: its machine code, or the abstract one that is in other
// functions' code.
func (x *index) addFunction(u *unit, e *dwarf.Entry) procedure {
	p := procedure{unit: u, offset: e.Offset}
	p.name, _ = e.Val(dwarf.AttrName).(string)
	low, ok := e.Val(dwarf.AttrLowpc).(uint64)
	if !ok {
		if p.name != "" {
			x.abstract[p.name] = append(x.abstract[p.name], e.Offset)
		}
		return p
	}
	p.low = low
	switch high := e.Val(dwarf.AttrHighpc).(type) {
	case uint64:
		p.high = high
	case int64: // a length
		p.high = low + uint64(high)
	}
	p.origin, _ = e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
	u.procedures = append(u.procedures, p)
	return p
}

// addGlobal adds a package-level variable, whose location is an address.
func (x *index) addGlobal(e *dwarf.Entry) {
	name, _ := e.Val(dwarf.AttrName).(string)
	location, _ := e.Val(dwarf.AttrLocation).([]byte)
	typ, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
	if !ok || len(location) == 0 || op.Opcode(location[0]) != op.DW_OP_addr {
		return
	}
	addr, _, err := op.ExecuteStackProgram(op.DwarfRegisters{}, location, 8, nil)
	if err != nil {
		return
	}
	x.globals[name] = global{uint64(addr), typ}
}

// addType adds a type if it has a descriptor.
func (x *index) addType(e *dwarf.Entry) {
	offset, ok := e.Val(godwarf.AttrGoRuntimeType).(uint64)
	if !ok || offset == 0 {
		return
	}
	if name, ok := e.Val(dwarf.AttrName).(string); ok {
		x.typeNames[offset] = runtimeType{name, e.Offset, e.Tag}
	}
}

// procedureAt returns the function whose code is at an address.
func (im *Image) procedureAt(pc uint64) (procedure, bool, error) {
	u := im.index.unitAt(pc)
	if u == nil {
		return procedure{}, false, nil
	}
	if err := im.index.add(im.info, u); err != nil {
		return procedure{}, false, err
	}
	i := sort.Search(len(u.procedures), func(i int) bool { return u.procedures[i].low > pc })
	if i == 0 || pc >= u.procedures[i-1].high {
		return procedure{}, false, nil
	}
	p := u.procedures[i-1]
	p.name = im.procedureName(p)
	return p, true, nil
}

// procedureName returns a function's name, which the abstract function has if there is one.
func (im *Image) procedureName(p procedure) string {
	if p.name != "" || p.origin == 0 {
		return p.name
	}
	r := im.info.Reader()
	r.Seek(p.origin)
	if e, err := r.Next(); err == nil && e != nil {
		p.name, _ = e.Val(dwarf.AttrName).(string)
	}
	return p.name
}

// packageOf returns the path of the package that a symbol belongs to: what is before the
// first dot behind the last slash, type arguments aside.
func packageOf(symbol string) string {
	if i := strings.IndexByte(symbol, '['); i >= 0 {
		symbol = symbol[:i]
	}
	slash := strings.LastIndexByte(symbol, '/') + 1
	if dot := strings.IndexByte(symbol[slash:], '.'); dot >= 0 {
		return symbol[:slash+dot]
	}
	return symbol
}
