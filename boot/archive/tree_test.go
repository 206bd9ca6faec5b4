package archive

import (
	"bytes"
	"fmt"
	"strings"
)

// The files that the test on bare metal has, and the working directory in which it starts.
const (
	start = "/tree/dir"
	many  = 2000 // files in /many
)

func tree() map[string][]byte {
	files := map[string][]byte{
		"/tree/hello":         []byte("hello, world\n"),
		"/tree/empty":         nil,
		"/tree/hollow/":       nil,
		"/tree/dir/inner":     []byte("inner"),
		"/tree/dir/sub/a.txt": []byte("a"),
		"/tree/dir/sub/b.txt": []byte("b"),
		"/tree/block":         bytes.Repeat([]byte("x"), 512),
		"/tree/large":         large(),
		longName:              []byte("long"),
	}
	for i := range many {
		files[fmt.Sprintf("/many/%04d", i)] = []byte(fmt.Sprint(i))
	}
	return files
}

// longName needs the header's prefix: it has more than 100 bytes.
var longName = "/tree/" + strings.Repeat("long/", 25) + strings.Repeat("n", 90)

// large is 3 MiB and a bit, in which every position can be told.
func large() []byte {
	b := make([]byte, 3<<20+1000)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}
