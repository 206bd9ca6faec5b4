package dump

import (
	"compress/flate"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// NewFrameWriter returns a writer that sends a file to w in the framed form. Close ends the
// file, and does not close w. Only whole lines are written to w, several at a time, so that
// other output to w can go between two writes.
//
// A name that is not plain is an error of the first Write or Close.
func NewFrameWriter(w io.Writer, name string) io.WriteCloser {
	f := &frameWriter{w: w, name: name, err: checkName(name)}
	f.line(markFile, fmt.Appendf(nil, "BEGIN name=%s", name))
	// The level is one that there is, so this cannot fail.
	f.deflate, _ = flate.NewWriter(pieces{f}, flate.DefaultCompression)
	return f
}

// writeSize is about how much is written to the line at once: a console has its lock
// during that.
const writeSize = 4096

// A frameWriter sends a file.
type frameWriter struct {
	w       io.Writer
	name    string
	deflate *flate.Writer
	size    int64  // of the file, so far
	crc     uint32 // of the file, so far
	piece   []byte // compressed bytes that do not fill a line yet
	lines   int
	text    []byte // lines that are not written yet
	err     error
}

var errClosed = errors.New("write to a dumped file after its end")

// Write adds to the file.
func (f *frameWriter) Write(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	f.size += int64(len(b))
	f.crc = crc32.Update(f.crc, crc32.IEEETable, b)
	return f.deflate.Write(b)
}

// Close ends the file.
func (f *frameWriter) Close() error {
	if f.err != nil {
		return f.err
	}
	if err := f.deflate.Close(); err != nil {
		return err
	}
	f.putPiece()
	f.line(markFile, fmt.Appendf(nil, "END lines=%d size=%d crc32=%08x", f.lines, f.size, f.crc))
	f.flush()
	if f.err != nil {
		return f.err
	}
	f.err = errClosed
	return nil
}

// pieces is where the compressed file goes.
type pieces struct{ *frameWriter }

func (p pieces) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		k := min(len(b), pieceSize-len(p.piece))
		p.piece = append(p.piece, b[:k]...)
		b = b[k:]
		if len(p.piece) == pieceSize {
			p.putPiece()
		}
	}
	return n, p.err
}

// putPiece makes a line of the bytes that are there.
func (f *frameWriter) putPiece() {
	if len(f.piece) == 0 {
		return
	}
	f.lines++
	text := fmt.Appendf(nil, "%d ", f.lines)
	f.line(markPiece, base64.StdEncoding.AppendEncode(text, f.piece))
	f.piece = f.piece[:0]
}

// line adds a line to those that are to be written.
func (f *frameWriter) line(marker string, text []byte) {
	f.text = fmt.Appendf(f.text, "%s%s %08x\n", marker, text, lineCRC(text))
	if len(f.text) >= writeSize {
		f.flush()
	}
}

func (f *frameWriter) flush() {
	if f.err == nil {
		_, f.err = f.w.Write(f.text)
	}
	f.text = f.text[:0]
}
