package tracer

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"

	"tamaprobe/arch/amd64"
	"tamaprobe/kprobes/govars"
)

var (
	errNoImage    = errors.New("the image was booted without its debugging information as boot module: Go variables have no names")
	errOtherImage = errors.New("the boot module is not this image: Go variables have no names")
)

// openImage opens the debugging information of the image that runs.
func openImage(r io.ReaderAt) (*govars.Image, error) {
	if r == nil {
		return nil, errNoImage
	}
	im, err := govars.Open(r)
	if err == nil && !runs(r) {
		return nil, errOtherImage
	}
	return im, err
}

// runs reports whether an ELF file has the very code that runs: with another one's debugging
// information, variables would be looked for in wrong places.
func runs(r io.ReaderAt) bool {
	file, err := elf.NewFile(r)
	if err != nil {
		return false
	}
	text := file.Section(".text")
	lo, hi := amd64.TextRange()
	if text == nil || text.Addr != uint64(lo) || text.Size < uint64(hi-lo) {
		return false
	}
	running := amd64.OriginalText(lo)[:hi-lo]
	piece := make([]byte, 64<<10)
	for off := 0; off < len(running); off += len(piece) {
		piece = piece[:min(len(piece), len(running)-off)]
		if _, err := text.ReadAt(piece, int64(off)); err != nil || !bytes.Equal(piece, running[off:][:len(piece)]) {
			return false
		}
	}
	return true
}
