package govars

import (
	"bytes"
	"cmp"
	"debug/dwarf"
	"slices"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
)

// A Copy is a copy of a function's code that the compiler put into another function instead
// of a call.
type Copy struct {
	PC     uint64 // of the first instruction
	Caller string // the function that it is in
	File   string // of the call
	Line   int

	offset dwarf.Offset
}

// InlinedCopies returns the inlined copies of a function, by address. The first call that
// does not find at once that there are none looks through all of the debugging information.
func (im *Image) InlinedCopies(name string) (copies []Copy, err error) {
	defer im.use(&err)()
	if never, err := im.neverInlined(name); never || err != nil {
		return nil, err
	}
	if err := im.index.all(im.info); err != nil {
		return nil, err
	}
	for _, origin := range im.index.abstract[name] {
		for _, inlined := range im.index.copies[origin] {
			c, ok, err := im.inlinedCopy(inlined)
			if err != nil {
				return nil, err
			}
			if ok {
				copies = append(copies, c)
			}
		}
	}
	slices.SortFunc(copies, func(a, b Copy) int { return cmp.Compare(a.PC, b.PC) })
	return copies, nil
}

// IsInlined reports whether a function has inlined copies.
func (im *Image) IsInlined(name string) bool {
	im.mu.Lock()
	info, err := im.section(".debug_info")
	im.mu.Unlock()
	// Most of what is asked for is no name at all, which is seen faster than InlinedCopies does.
	if err != nil || !bytes.Contains(info, []byte(name+"\x00")) {
		return false
	}
	copies, err := im.InlinedCopies(name)
	return err == nil && len(copies) > 0
}

// neverInlined reports whether it is sure, without looking far, that a function has no copies.
// Copies refer to an abstract function, an entry of its own that has the name: there is none if the
// function's machine code has it, and it occurs nowhere else. Go's tools write names where
// they belong, not into a table of strings.
func (im *Image) neverInlined(name string) (bool, error) {
	info, err := im.section(".debug_info")
	if err != nil || bytes.Count(info, []byte(name+"\x00")) != 1 {
		return false, err
	}
	for _, u := range im.index.units {
		if u.name != packageOf(name) {
			continue
		}
		if err := im.index.add(im.info, u); err != nil {
			return false, err
		}
		if slices.ContainsFunc(u.procedures, func(p procedure) bool { return p.name == name }) {
			return true, nil
		}
	}
	return false, nil
}

// inlinedCopy finds a copy's address. It has none if nothing of it was left.
func (im *Image) inlinedCopy(inlined inlinedEntry) (Copy, bool, error) {
	r := im.info.Reader()
	r.Seek(inlined.offset)
	e, err := r.Next()
	if err != nil || e == nil {
		return Copy{}, false, err
	}
	ranges, err := im.info.Ranges(e)
	if err != nil {
		return Copy{}, false, err
	}
	c := Copy{Caller: im.procedureName(inlined.caller), offset: inlined.offset}
	for _, r := range ranges {
		if r[0] < r[1] && (c.PC == 0 || r[0] < c.PC) {
			c.PC = r[0]
		}
	}
	if c.PC == 0 {
		return Copy{}, false, nil
	}
	if line, ok := e.Val(dwarf.AttrCallLine).(int64); ok {
		c.Line = int(line)
	}
	if file, ok := e.Val(dwarf.AttrCallFile).(int64); ok {
		files, err := im.files(inlined.caller.unit)
		if err != nil {
			return Copy{}, false, err
		}
		if file >= 0 && file < int64(len(files)) && files[file] != nil {
			c.File = files[file].Name
		}
	}
	return c, true, nil
}

// innermost returns the entry of the innermost inlined function in which an address of a
// function is, or of the function itself.
func (r *routine) innermost(pc uint64) dwarf.Offset {
	node := r.tree
	for {
		inner := innerNode(node, pc)
		if inner == nil {
			return node.Offset
		}
		node = inner
	}
}

// innerNode returns the inlined function in a block, or in blocks in it, in which an
// address is.
func innerNode(node *godwarf.Tree, pc uint64) *godwarf.Tree {
	for _, child := range node.Children {
		if !child.ContainsPC(pc) {
			continue
		}
		switch child.Tag {
		case dwarf.TagInlinedSubroutine:
			return child
		case dwarf.TagLexDwarfBlock:
			if inner := innerNode(child, pc); inner != nil {
				return inner
			}
		}
	}
	return nil
}
