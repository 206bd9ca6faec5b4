package govars

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// lineData returns the debugging information with the line tables.
func (im *Image) lineData() (*dwarf.Data, error) {
	if im.lines == nil {
		line, err := im.section(".debug_line")
		if err != nil {
			return nil, err
		}
		if line == nil {
			return nil, errors.New("the ELF file has no line tables (.debug_line)")
		}
		if im.lines, err = im.open(line); err != nil {
			return nil, err
		}
	}
	return im.lines, nil
}

// files returns the files of a unit.
func (im *Image) files(u *unit) ([]*dwarf.LineFile, error) {
	data, err := im.lineData()
	if err != nil {
		return nil, err
	}
	r, err := data.LineReader(u.entry)
	if err != nil || r == nil {
		return nil, err
	}
	return r.Files(), nil
}

// Lines returns the addresses where a line's code begins, of a file that is named by its
// path or the last elements of it: one for each function and each inlined copy of one
// that has code of the line.
func (im *Image) Lines(file string, line int) (pcs []uint64, err error) {
	defer im.use(&err)()
	path, units, err := im.findFile(file)
	if err != nil {
		return nil, err
	}
	found := make(map[dwarf.Offset]uint64) // by function
	before, after := 0, 0                  // the nearest lines with code
	for _, u := range units {
		err := im.eachLine(u, func(e *dwarf.LineEntry) error {
			switch {
			case e.File == nil || e.File.Name != path:
				return nil
			case e.Line < line:
				before = max(before, e.Line)
				return nil
			case e.Line > line:
				if after == 0 || e.Line < after {
					after = e.Line
				}
				return nil
			}
			r, err := im.routineAt(e.Address)
			if err != nil {
				return err
			}
			function := r.innermost(e.Address)
			if pc, ok := found[function]; !ok || e.Address < pc {
				found[function] = e.Address
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s:%d has no code; %s", file, line, nearest(before, after))
	}
	for _, pc := range found {
		pcs = append(pcs, pc)
	}
	slices.Sort(pcs)
	return slices.Compact(pcs), nil
}

func nearest(before, after int) string {
	switch {
	case before > 0 && after > 0:
		return fmt.Sprintf("the nearest lines that have are %d and %d", before, after)
	case before > 0:
		return fmt.Sprintf("the last line that has is %d", before)
	case after > 0:
		return fmt.Sprintf("the first line that has is %d", after)
	}
	return "no line of the file has"
}

// findFile finds the file that is meant, and the units with code of it.
func (im *Image) findFile(name string) (path string, units []*unit, err error) {
	var paths []string
	byPath := make(map[string][]*unit)
	for _, u := range im.index.units {
		files, err := im.files(u)
		if err != nil {
			return "", nil, err
		}
		for _, f := range files {
			if f == nil || f.Name != name && !strings.HasSuffix(f.Name, "/"+name) {
				continue
			}
			if byPath[f.Name] == nil {
				paths = append(paths, f.Name)
			}
			if of := byPath[f.Name]; len(of) == 0 || of[len(of)-1] != u {
				byPath[f.Name] = append(of, u)
			}
		}
	}
	slices.Sort(paths)
	switch {
	case len(paths) == 0:
		return "", nil, fmt.Errorf("no code is from a file %s", name)
	case byPath[name] != nil:
		return name, byPath[name], nil
	case len(paths) > 1:
		return "", nil, fmt.Errorf("%s is ambiguous: it may be%s", name, list(" ", paths))
	}
	return paths[0], byPath[paths[0]], nil
}

// eachLine calls a function for every place of a unit where a line's code begins.
func (im *Image) eachLine(u *unit, f func(*dwarf.LineEntry) error) error {
	data, err := im.lineData()
	if err != nil {
		return err
	}
	r, err := data.LineReader(u.entry)
	if err != nil || r == nil {
		return err
	}
	var e dwarf.LineEntry
	for {
		if err := r.Next(&e); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if e.IsStmt && !e.EndSequence {
			if err := f(&e); err != nil {
				return err
			}
		}
	}
}
