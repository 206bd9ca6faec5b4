package govars

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tamaprobe/kprobes/event"
)

// Symbol looks a symbol up, of code or data.
func (im *Image) Symbol(name string) (addr, size uint64, ok bool) {
	im.mu.Lock()
	defer im.mu.Unlock()
	s, ok := im.symbol(name)
	return s.Value, s.Size, ok
}

// symbol looks a symbol up. An image without symbols has none.
func (im *Image) symbol(name string) (elf.Symbol, bool) {
	if im.symbols == nil {
		im.symbols = make(map[string]elf.Symbol)
		symbols, _ := im.file.Symbols()
		for _, s := range symbols {
			im.symbols[s.Name] = s
		}
	}
	s, ok := im.symbols[name]
	return s, ok
}

// Variable resolves a package-level variable by its full name: `runtime.ncpu`.
func (im *Image) Variable(name string) (v event.Value, err error) {
	defer im.use(&err)()
	pkg := packageOf(name)
	o, ok, err := im.global(pkg, strings.TrimPrefix(name[len(pkg):], "."))
	if err != nil {
		return event.Value{}, err
	}
	if !ok {
		return event.Value{}, fmt.Errorf("no variable %s", name)
	}
	return newValue(o)
}

// global looks a package-level variable up. The package is named by its path, or by the last
// elements of it if there is no such path.
func (im *Image) global(pkg, name string) (operand, bool, error) {
	var found []string
	for _, path := range im.packages(pkg) {
		for _, u := range im.index.units {
			if u.name == path {
				if err := im.index.add(im.info, u); err != nil {
					return operand{}, false, err
				}
			}
		}
		if _, ok := im.index.globals[path+"."+name]; ok {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return operand{}, false, nil
	}
	if len(found) > 1 {
		return operand{}, false, fmt.Errorf("%s.%s is ambiguous: there are packages %s", pkg, name, strings.Join(found, ", "))
	}
	path := found[0]
	g := im.index.globals[path+"."+name]
	typ, err := im.typeAt(g.typ)
	if err != nil {
		return operand{}, false, err
	}
	return operand{typ: typ, loc: inMemory(memory{n: int64(g.addr)})}, true, nil
}

// packages returns the paths of the packages that a name may mean.
func (im *Image) packages(name string) []string {
	var r []string
	for _, u := range im.index.units {
		switch {
		case u.name == name:
			return []string{name}
		case strings.HasSuffix(u.name, "/"+name) && !slices.Contains(r, u.name):
			r = append(r, u.name)
		}
	}
	return r
}

// isPackage reports whether a name is a package's.
func (im *Image) isPackage(name string) bool { return len(im.packages(name)) > 0 }

// TypeName returns the name of the Go type whose run-time descriptor is at an address.
func (im *Image) TypeName(addr uint64) (name string, ok bool) {
	var err error
	defer im.use(&err)()
	if err := im.index.addTypes(im.info); err != nil {
		return "", false
	}
	types, ok := im.symbol("runtime.types")
	if !ok {
		return "", false
	}
	t, ok := im.index.typeNames[addr-types.Value]
	return t.name, ok
}

// StringTypes returns the descriptors of the types whose values are pointers to structs
// that begin with an error's text: *errors.errorString and others named like errors whose
// first field is a string. That they implement error is a guess from the name.
func (im *Image) StringTypes() (addrs []uint64, err error) {
	defer im.use(&err)()
	if im.stringTypes != nil {
		return im.stringTypes, nil
	}
	if err := im.index.addTypes(im.info); err != nil {
		return nil, err
	}
	types, ok := im.symbol("runtime.types")
	if !ok {
		return nil, errors.New("the ELF file has no symbol runtime.types: do not strip it")
	}
	for offset, t := range im.index.typeNames {
		name := strings.ToLower(t.name)
		if t.tag != dwarf.TagPointerType || !strings.HasPrefix(name, "*") || strings.HasPrefix(name, "**") ||
			!strings.HasSuffix(name, "error") && !strings.HasSuffix(name, "errors") && !strings.HasSuffix(name, "errorstring") {
			continue
		}
		typ, err := im.typeAt(t.offset)
		if err != nil {
			return nil, err
		}
		to, ok := pointee(typ)
		if !ok {
			continue
		}
		if s := structOf(to); s != nil && len(s.Field) > 0 && leafType(s.Field[0].Type).Kind == event.TypeGoString {
			addrs = append(addrs, types.Value+offset)
		}
	}
	slices.Sort(addrs)
	im.stringTypes = addrs
	return addrs, nil
}
