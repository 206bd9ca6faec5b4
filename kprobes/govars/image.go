// Package govars is Go's own view of the variables of an image: it resolves expressions such
// as `req.Method` or `len(body)` at a place in the code into the registers and memory that
// hold them there, from the debugging information (DWARF) that the Go linker writes.
//
// It looks at an ELF file only. It knows neither probes nor the running kernel, so it
// works on any host. Nothing is read before it is needed: an image has some 100,000 entries,
// and a kernel in an emulator decodes them slowly.
package govars

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-delve/delve/pkg/dwarf/frame"
	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/dwarf/loclist"
)

// An Image is an executable with its debugging information. Its methods may be called from
// several goroutines.
type Image struct {
	mu   sync.Mutex
	file *elf.File
	info *dwarf.Data // without line tables
	addr *godwarf.DebugAddrSection

	// Decoded when they are first needed.
	sections  map[string][]byte
	lines     *dwarf.Data
	locations *loclist.Dwarf5Reader
	frames    frame.FrameDescriptionEntries
	symbols   map[string]elf.Symbol
	types     map[dwarf.Offset]godwarf.Type
	routines  map[dwarf.Offset]*routine

	stringTypes []uint64

	index index
}

// Open reads an ELF file's headers and the part of the debugging information that all else
// hangs on. The reader must stay readable.
func Open(r io.ReaderAt) (image *Image, err error) {
	defer damaged(&err)
	file, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("not an ELF file: %w", err)
	}
	if file.Machine != elf.EM_X86_64 {
		return nil, fmt.Errorf("the ELF file is for %v, not for x86-64", file.Machine)
	}
	im := &Image{
		file:     file,
		sections: make(map[string][]byte),
		types:    make(map[dwarf.Offset]godwarf.Type),
		routines: make(map[dwarf.Offset]*routine),
	}
	if im.info, err = im.open(nil); err != nil {
		return nil, err
	}
	addr, err := im.section(".debug_addr")
	if err != nil {
		return nil, err
	}
	im.addr = godwarf.ParseAddr(addr)
	if err := im.index.open(im.info); err != nil {
		return nil, err
	}
	return im, nil
}

// open makes a reader of the debugging information, given the line tables if it is to read
// those.
func (im *Image) open(line []byte) (*dwarf.Data, error) {
	abbrev, err := im.section(".debug_abbrev")
	if err != nil {
		return nil, err
	}
	info, err := im.section(".debug_info")
	if err != nil {
		return nil, err
	}
	if abbrev == nil || info == nil {
		return nil, errors.New("the ELF file has no debugging information (.debug_info): link it without -ldflags=-w, and do not strip it")
	}
	str, err := im.section(".debug_str")
	if err != nil {
		return nil, err
	}
	data, err := dwarf.New(abbrev, nil, nil, info, line, nil, nil, str)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{".debug_addr", ".debug_line_str", ".debug_rnglists", ".debug_str_offsets"} {
		contents, err := im.section(name)
		if err != nil {
			return nil, err
		}
		if contents == nil {
			continue
		}
		if err := data.AddSection(name, contents); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// section returns a section's contents, nil if there is no such section.
func (im *Image) section(name string) ([]byte, error) {
	if contents, ok := im.sections[name]; ok {
		return contents, nil
	}
	s := im.file.Section(name)
	if s == nil {
		return nil, nil
	}
	contents, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", name, err)
	}
	im.sections[name] = contents
	return contents, nil
}

// frameEntries returns the call frame information.
func (im *Image) frameEntries() (frame.FrameDescriptionEntries, error) {
	if im.frames == nil {
		contents, err := im.section(".debug_frame")
		if err != nil {
			return nil, err
		}
		if contents == nil {
			return nil, errors.New("the ELF file has no call frame information (.debug_frame)")
		}
		im.frames, err = frame.Parse(contents, binary.LittleEndian, 0, 8, 0)
		if err != nil {
			return nil, err
		}
	}
	return im.frames, nil
}

// locationLists returns the location lists.
func (im *Image) locationLists() (*loclist.Dwarf5Reader, error) {
	if im.locations == nil {
		contents, err := im.section(".debug_loclists")
		if err != nil {
			return nil, err
		}
		if im.locations = loclist.NewDwarf5Reader(contents); im.locations == nil {
			return nil, errors.New("the ELF file has no location lists (.debug_loclists): build it with Go 1.25 or later")
		}
	}
	return im.locations, nil
}

// use locks an image. The function that it returns is to be deferred: it unlocks the image
// again.
func (im *Image) use(err *error) func() {
	im.mu.Lock()
	return func() {
		im.mu.Unlock()
		if r := recover(); r != nil {
			*err = fmt.Errorf("the debugging information is damaged: %v", r)
		}
	}
}

// damaged is to be deferred: it makes an error of a panic. The readers of debugging
// information do not check every offset that they follow.
func damaged(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the debugging information is damaged: %v", r)
	}
}
