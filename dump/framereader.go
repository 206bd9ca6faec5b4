package dump

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
)

// A File is a file that was in a capture.
type File struct {
	Name string
	Data []byte
}

// A DamageError says what is wrong with a file in a capture.
type DamageError struct {
	Line   int    // of the capture, counted from 1
	Name   string // of the file; "" if that was lost
	Reason string
}

func (e *DamageError) Error() string {
	name := e.Name
	if name == "" {
		name = "a file"
	}
	return fmt.Sprintf("line %d: %s: %s", e.Line, name, e.Reason)
}

// A FrameReader finds the files in a capture.
type FrameReader struct {
	in   *bufio.Reader
	line int    // number of the last line that was read
	buf  []byte // that line

	name   string // of the file that is being read
	pieces []byte // its compressed bytes so far
	lines  int    // that those came in
	state  readState
}

// A readState is what a FrameReader has seen last.
type readState int

const (
	outside readState = iota // the end of a file
	inside                   // part of a file
	lost                     // damage: what is left of the file is skipped
)

// NewFrameReader returns a reader of a capture.
func NewFrameReader(capture io.Reader) *FrameReader {
	return &FrameReader{in: bufio.NewReader(capture)}
}

// Next returns the next file. After a *DamageError the files behind the damaged one can still
// be read. At the end of the capture it returns io.EOF, and if the capture cannot be read that
// error.
func (r *FrameReader) Next() (*File, error) {
	for {
		err := r.readLine()
		if len(r.buf) > 0 {
			r.line++
			if f, damage := r.accept(r.buf); f != nil || damage != nil {
				return f, damage
			}
		}
		if err == nil {
			continue
		}
		if err == io.EOF && r.state == inside {
			return nil, r.damage("the capture ends inside of the file, at its line %d", r.lines)
		}
		return nil, err
	}
}

// readLine reads a line. Of a very long one it keeps the end, where a marker may be.
func (r *FrameReader) readLine() error {
	const keep = 4096
	r.buf = r.buf[:0]
	for {
		piece, err := r.in.ReadSlice('\n')
		r.buf = append(r.buf, piece...)
		if extra := len(r.buf) - keep; extra > 0 {
			r.buf = append(r.buf[:0], r.buf[extra:]...)
		}
		if err != bufio.ErrBufferFull {
			return err
		}
	}
}

// damage gives up the file.
func (r *FrameReader) damage(format string, args ...any) error {
	e := &DamageError{Line: r.line, Name: r.name, Reason: fmt.Sprintf(format, args...)}
	r.name, r.pieces, r.lines, r.state = "", nil, 0, lost
	return e
}

// accept takes a line of the capture. It returns a file if that was the last line of one.
func (r *FrameReader) accept(line []byte) (*File, error) {
	if i := bytes.LastIndex(line, []byte(markFile)); i >= 0 {
		text, ok := checkLine(line[i+len(markFile):])
		if !ok && !bytes.HasPrefix(text, []byte("BEGIN")) && !bytes.HasPrefix(text, []byte("END")) {
			return nil, nil
		}
		if !ok {
			return nil, r.damage("the line that begins or ends the file is damaged (its CRC is wrong)")
		}
		return r.mark(text)
	}
	if i := bytes.LastIndex(line, []byte(markPiece)); i >= 0 {
		text, ok := checkLine(line[i+len(markPiece):])
		return nil, r.piece(text, ok)
	}
	return nil, nil
}

// checkLine returns the text of a line, and whether the CRC behind it is its own.
func checkLine(line []byte) (text []byte, ok bool) {
	if end := bytes.IndexFunc(line, func(c rune) bool { return c < ' ' || c == 0x7f }); end >= 0 {
		line = line[:end]
	}
	space := bytes.LastIndexByte(line, ' ')
	if space < 0 {
		return line, false
	}
	crc, err := strconv.ParseUint(string(line[space+1:]), 16, 32)
	text = line[:space]
	return text, err == nil && uint32(crc) == lineCRC(text)
}

// mark takes a BEGIN or END line.
func (r *FrameReader) mark(text []byte) (*File, error) {
	var name string
	if n, _ := fmt.Sscanf(string(text), "BEGIN name=%s", &name); n == 1 {
		return nil, r.begin(name)
	}
	var lines int
	var size int64
	var crc uint32
	n, _ := fmt.Sscanf(string(text), "END lines=%d size=%d crc32=%x", &lines, &size, &crc)
	if n != 3 {
		return nil, r.damage("%q is not known; the kernel that wrote it is not this tamadump's", text)
	}
	return r.end(lines, size, crc)
}

func (r *FrameReader) begin(name string) error {
	var err error
	if r.state == inside {
		err = r.damage("another file begins before its end, behind its line %d", r.lines)
	}
	if bad := checkName(name); bad != nil {
		r.name = ""
		return errors.Join(err, r.damage("%v", bad))
	}
	r.name, r.pieces, r.lines, r.state = name, nil, 0, inside
	return err
}

func (r *FrameReader) piece(text []byte, ok bool) error {
	number, data, _ := bytes.Cut(text, []byte(" "))
	n, err := strconv.Atoi(string(number))
	switch {
	case r.state == lost, r.state == outside && !ok:
		return nil
	case r.state == outside:
		return r.damage("the line that begins the file is missing")
	case !ok || err != nil:
		return r.damage("its line %d is damaged (its CRC is wrong)", r.lines+1)
	case n != r.lines+1:
		return r.damage("its line %d is missing, here is line %d", r.lines+1, n)
	}
	pieces, err := base64.StdEncoding.AppendDecode(r.pieces, data)
	if err != nil {
		return r.damage("its line %d is not base64: %v", n, err)
	}
	r.pieces, r.lines = pieces, n
	return nil
}

func (r *FrameReader) end(lines int, size int64, crc uint32) (*File, error) {
	switch {
	case r.state == lost:
		r.state = outside
		return nil, nil
	case r.state == outside:
		err := r.damage("the line that begins the file is missing")
		r.state = outside
		return nil, err
	}
	data, reason := inflate(r.pieces, size)
	switch {
	case lines != r.lines:
		reason = fmt.Sprintf("it has %d lines, but %d are here", lines, r.lines)
	case reason != "":
	case crc32.ChecksumIEEE(data) != crc:
		reason = "the CRC of the whole file is wrong"
	}
	if reason != "" {
		err := r.damage("%s", reason)
		r.state = outside
		return nil, err
	}
	f := &File{Name: r.name, Data: data}
	r.name, r.pieces, r.lines, r.state = "", nil, 0, outside
	return f, nil
}

// maxSize bounds a file: a few lines can be made to decompress to anything.
const maxSize = 1 << 30

// inflate decompresses a file, or says why it cannot.
func inflate(pieces []byte, size int64) (data []byte, reason string) {
	if size > maxSize {
		return nil, fmt.Sprintf("it is said to have %d bytes, more than the %d that are accepted", size, maxSize)
	}
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(pieces)), size+1))
	switch {
	case err != nil:
		return nil, fmt.Sprintf("it cannot be decompressed: %v", err)
	case int64(len(data)) != size:
		return nil, fmt.Sprintf("it does not have the %d bytes that it should have", size)
	}
	return data, ""
}
