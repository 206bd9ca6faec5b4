package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program returns a Go program linked at an address that PVH can enter.
func program(t *testing.T, args ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "main")
	if err := os.WriteFile(src, []byte("package main\nfunc main() {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append(append([]string{"build", "-o", bin}, args...), src)...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAddNote(t *testing.T) {
	before := program(t, "-ldflags=-T 0x1010000 -R 0x1000")
	after, err := addNote(bytes.Clone(before))
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(after))
	if err != nil {
		t.Fatal(err)
	}
	notes := 0
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		notes++
		var note struct {
			Namesz, Descsz, Type uint32
			Name                 [4]byte
			Entry                uint64
		}
		if err := binary.Read(p.Open(), binary.LittleEndian, &note); err != nil {
			t.Fatal(err)
		}
		if note.Namesz != 4 || note.Descsz != 8 || note.Type != 18 || note.Name != [4]byte{'X', 'e', 'n'} || note.Entry != f.Entry {
			t.Errorf("note %+v, entry %#x", note, f.Entry)
		}
	}
	if notes != 1 {
		t.Errorf("%d notes", notes)
	}
	// Nothing else changed.
	old, err := elf.NewFile(bytes.NewReader(before))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range old.Progs {
		if p.Type != elf.PT_NOTE && p.ProgHeader != f.Progs[i].ProgHeader {
			t.Errorf("program header %d: %+v, was %+v", i, f.Progs[i].ProgHeader, p.ProgHeader)
		}
	}
	// Twice is as good as once.
	if again, err := addNote(bytes.Clone(after)); err != nil {
		t.Error(err)
	} else if _, err := elf.NewFile(bytes.NewReader(again)); err != nil {
		t.Error(err)
	}
}

func TestAddNoteErrors(t *testing.T) {
	image := program(t)
	high := bytes.Clone(image)
	binary.LittleEndian.PutUint64(high[24:], 1<<40) // e_entry
	arm := bytes.Clone(image)
	binary.LittleEndian.PutUint16(arm[18:], uint16(elf.EM_AARCH64))
	noNote := bytes.Clone(image)
	for i := range int(binary.LittleEndian.Uint16(noNote[56:])) { // e_phnum
		phdr := noNote[64+56*i:]
		if elf.ProgType(binary.LittleEndian.Uint32(phdr)) == elf.PT_NOTE {
			binary.LittleEndian.PutUint32(phdr, uint32(elf.PT_NULL))
		}
	}
	for _, c := range []struct {
		name  string
		image []byte
		want  string
	}{
		{"empty", nil, "EOF"},
		{"text", []byte("#!/bin/sh\necho this is not an image, but long enough to be one\n"), "bad magic number"},
		{"high entry", high, "is not a 32-bit address"},
		{"other machine", arm, "not an x86-64 image"},
		{"no note", noNote, "no PT_NOTE program header"},
	} {
		if _, err := addNote(c.image); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
