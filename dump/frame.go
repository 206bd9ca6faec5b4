package dump

import (
	"fmt"
	"hash/crc32"
)

// The framed form of a file is lines of text among others:
//
//	#tamadump BEGIN name=trace.json 2c1b90d5
//	#td 1 7H0JfFTV9fB9kz2ZZCb7QgIJ... 8c9a1f03
//	#td 2 ...
//	#tamadump END lines=2 size=5120 crc32=5e0f1f44 91c0a2be
//
// The file is compressed by DEFLATE (RFC 1951) and cut into pieces. Each is a line, in
// base64, behind its number. Every line ends in the CRC-32 of what is between the marker
// and it. END has the number of the lines, and the size and the CRC-32 of the file.
//
// No line is longer than 80 characters, so a terminal does not wrap it. A reader goes by the
// last marker in a line: a prompt, its escape sequences, or what was typed may stand before
// it. Behind the CRC, or a control character, the rest of the line is ignored.
const (
	markFile  = "#tamadump "
	markPiece = "#td "
)

// pieceSize is the number of a file's compressed bytes in a line: 60 characters of base64.
const pieceSize = 45

// maxName bounds a file's name, so that the BEGIN line does not get too long.
const maxName = 48

// checkName refuses names of files that are not plain: a capture may come from anywhere,
// and must not say where in the file system its files go.
func checkName(name string) error {
	ok := name != "" && len(name) <= maxName && name[0] != '.' && name[0] != '-'
	for _, c := range []byte(name) {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case c == '.', c == '_', c == '-':
		default:
			ok = false
		}
	}
	if !ok {
		return fmt.Errorf("%q is no name for a dumped file: it takes letters, digits, and inside of it . _ and -, no path", name)
	}
	return nil
}

// lineCRC is what a line's CRC is of: the text between its marker and it.
func lineCRC(text []byte) uint32 { return crc32.ChecksumIEEE(text) }
