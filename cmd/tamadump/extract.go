package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"tamaprobe/dump"
)

// extractFiles extracts the captures that are named.
func (c *command) extractFiles() {
	for _, name := range c.files {
		f, err := os.Open(name)
		if err != nil {
			c.fail("%v", err)
			continue
		}
		c.extract(name, f)
		f.Close()
	}
}

// extract writes the files of a capture.
func (c *command) extract(name string, capture io.Reader) {
	found := false
	r := dump.NewFrameReader(capture)
	for {
		f, err := r.Next()
		var damage *dump.DamageError
		switch {
		case err == io.EOF:
			if !found {
				c.fail("%s: no dumped file in it: a file begins with a line #tamadump BEGIN, which the console's dump command writes", name)
			}
			return
		case errors.As(err, &damage):
			found = true
			c.fail("%s: %v", name, err)
		case err != nil:
			c.fail("%s: %v", name, err)
			return
		default:
			found = true
			c.save(f.Name, f.Data)
		}
	}
}

// save writes a file, and says how to open it.
func (c *command) save(name string, data []byte) {
	path, err := c.saver.save(name, data)
	if err != nil {
		c.fail("%v", err)
		return
	}
	fmt.Fprintf(c.out, "%s: %d bytes", path, len(data))
	switch {
	case strings.HasSuffix(path, ".json"):
		fmt.Fprint(c.out, "; open it at https://ui.perfetto.dev")
	case strings.HasSuffix(path, ".pb.gz"):
		fmt.Fprintf(c.out, "; go tool pprof -http=: %s", path)
	}
	fmt.Fprintln(c.out)
}
