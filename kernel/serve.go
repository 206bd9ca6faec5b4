package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// A small service with a slow spot, for investigations: requests for pages, of which some are
// kept compressed.

// A request is what a client sent.
type request struct {
	Method, Path string
	Body         []byte
}

var (
	errNotFound = errors.New("no such page")
	errMethod   = errors.New("method not allowed")
)

// A store holds pages.
type store struct {
	pages   map[string]string
	archive map[string][]byte // compressed
}

// pages is the store, made when it is first used.
var pages = sync.OnceValue(newStore)

func newStore() *store {
	s := &store{pages: make(map[string]string), archive: make(map[string][]byte)}
	for i := range 50 {
		text := strings.Repeat(fmt.Sprintf("page %d ", i), 1000)
		s.pages[fmt.Sprintf("/page/%d", i)] = text
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		io.WriteString(w, text)
		w.Close()
		s.archive[fmt.Sprintf("/archive/%d", i)] = b.Bytes()
	}
	return s
}

// load returns a page.
//
//go:noinline
func (s *store) load(path string) (text string, err error) {
	if text, ok := s.pages[path]; ok {
		return text, nil
	}
	packed, ok := s.archive[path]
	if !ok {
		return "", errNotFound
	}
	return unpack(packed)
}

//go:noinline
func unpack(packed []byte) (string, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

// handle answers a request.
//
//go:noinline
func handle(s *store, req *request) (status int, err error) {
	if req.Method != "GET" {
		return 405, errMethod
	}
	text, err := s.load(req.Path)
	if err != nil {
		return 404, fmt.Errorf("%s: %w", req.Path, err)
	}
	return 200, checkPage(text)
}

//go:noinline
func checkPage(text string) error {
	if !strings.HasPrefix(text, "page ") {
		return errors.New("not a page")
	}
	return nil
}

// runServe answers 100 requests.
func runServe(i int) string {
	s := pages()
	counts := make(map[int]int)
	for j := range 100 {
		req := &request{Method: "GET", Path: fmt.Sprintf("/page/%d", j%50)}
		switch {
		case j%10 == 3:
			req.Path = fmt.Sprintf("/archive/%d", j/2)
		case j%25 == 7:
			req.Path = "/favicon.ico"
		case j%50 == 9:
			req.Method, req.Body = "POST", []byte("x=1")
		}
		status, _ := handle(s, req)
		counts[status]++
	}
	return fmt.Sprint(counts)
}
