package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A saver writes files into a folder, and nowhere else.
type saver struct {
	root  *os.Root
	dir   string
	force bool            // replace files that were there before
	saved map[string]bool // by name: written by this saver
}

func newSaver(dir string, force bool) (*saver, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &saver{root: root, dir: dir, force: force, saved: make(map[string]bool)}, nil
}

func (s *saver) Close() error { return s.root.Close() }

// save writes a file under its name, or one with a number if that was saved already, and
// returns its path. A file is there with all of its contents or not at all.
func (s *saver) save(name string, data []byte) (path string, err error) {
	name = s.number(name)
	path = filepath.Join(s.dir, name)
	if _, err := s.root.Lstat(name); err == nil && !s.force {
		return "", fmt.Errorf("%s is there already; -f overwrites it", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	part := "." + name + ".part"
	if err := s.root.WriteFile(part, data, 0o666); err != nil {
		return "", errors.Join(err, s.root.Remove(part))
	}
	if err := s.root.Rename(part, name); err != nil {
		return "", errors.Join(err, s.root.Remove(part))
	}
	s.saved[name] = true
	return path, nil
}

// number makes name another one if a file was saved under it: trace.json is trace-2.json
// then.
func (s *saver) number(name string) string {
	base, extension, _ := strings.Cut(name, ".")
	if extension != "" {
		extension = "." + extension
	}
	for n := 2; s.saved[name]; n++ {
		name = fmt.Sprintf("%s-%d%s", base, n, extension)
	}
	return name
}
