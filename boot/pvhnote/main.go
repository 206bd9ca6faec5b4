// Command pvhnote makes a Go ELF image bootable by PVH.
//
// A PVH boot loader (QEMU -kernel) enters the image where an ELF note of type
// XEN_ELFNOTE_PHYS32_ENTRY says. The Go linker writes one note, its build ID, and
// cannot be told to write another; this program appends the note to the file and
// points the PT_NOTE program header at it. The boot loader reads notes from the
// file, so the note need not be loaded.
//
//	pvhnote IMAGE [OUTPUT]    in place without OUTPUT
package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: pvhnote IMAGE [OUTPUT]")
		os.Exit(2)
	}
	in, out := os.Args[1], os.Args[len(os.Args)-1]
	if err := run(in, out); err != nil {
		fmt.Fprintf(os.Stderr, "pvhnote: %s: %v\n", in, err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	image, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	if image, err = addNote(image); err != nil {
		return err
	}
	return os.WriteFile(out, image, 0o777)
}

// Offsets in the 64-bit ELF header and program header (ELF-64 object file
// format, version 1.5).
const (
	ehdrPhoff     = 32
	ehdrPhentsize = 54

	phdrOffset = 8
	phdrVaddr  = 16
	phdrPaddr  = 24
	phdrFilesz = 32
	phdrMemsz  = 40
	phdrAlign  = 48
)

// addNote returns the image with the note, whose entry point is the ELF header's.
func addNote(image []byte) ([]byte, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_X86_64 {
		return nil, fmt.Errorf("is %v for %v, not an x86-64 image", f.Class, f.Machine)
	}
	if f.Entry == 0 || f.Entry >= 1<<32 {
		return nil, fmt.Errorf("entry point %#x is not a 32-bit address", f.Entry)
	}
	note := -1
	for i, p := range f.Progs {
		if p.Type == elf.PT_NOTE {
			note = i
		}
	}
	if note < 0 {
		return nil, errors.New("no PT_NOTE program header")
	}

	le := binary.LittleEndian
	image = append(image, make([]byte, -len(image)&7)...)
	off := uint64(len(image))
	image = append(image, phys32Entry(f.Entry)...)
	phdr := image[le.Uint64(image[ehdrPhoff:])+uint64(note)*uint64(le.Uint16(image[ehdrPhentsize:])):]
	size := uint64(len(image)) - off
	le.PutUint64(phdr[phdrOffset:], off)
	le.PutUint64(phdr[phdrVaddr:], 0)
	le.PutUint64(phdr[phdrPaddr:], 0)
	le.PutUint64(phdr[phdrFilesz:], size)
	le.PutUint64(phdr[phdrMemsz:], size)
	le.PutUint64(phdr[phdrAlign:], 4)
	return image, nil
}

// phys32Entry is the note (Xen, public/elfnote.h).
func phys32Entry(entry uint64) []byte {
	const typePhys32Entry = 18
	le := binary.LittleEndian
	var b []byte
	b = le.AppendUint32(b, 4) // size of the name
	b = le.AppendUint32(b, 8) // size of the descriptor
	b = le.AppendUint32(b, typePhys32Entry)
	b = append(b, "Xen\x00"...)
	return le.AppendUint64(b, entry)
}
