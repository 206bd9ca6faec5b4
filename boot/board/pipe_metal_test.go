//go:build metal

package board_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// What is written is read, however much it is, whoever waits for whom.
func TestPipe(t *testing.T) {
	for _, c := range []struct{ size, write, read int }{
		{0, 1, 1},
		{1, 1, 1},
		{1000, 1, 1000},
		{1000, 1000, 1},
		{65536, 65536, 512},
		{65537, 65537, 65537},
		{1 << 20, 1 << 20, 10007},
		{1 << 20, 10007, 1 << 20},
	} {
		t.Run(fmt.Sprintf("%d by %d and %d", c.size, c.write, c.read), func(t *testing.T) {
			t.Parallel()
			r, w := pipe(t)
			want := make([]byte, c.size)
			rand.Read(want)
			go func() {
				for b := want; len(b) > 0; {
					n, err := w.Write(b[:min(c.write, len(b))])
					if err != nil {
						t.Error(err)
						break
					}
					b = b[n:]
				}
				w.Close()
			}()
			var got []byte
			for buf := make([]byte, c.read); ; {
				n, err := r.Read(buf)
				got = append(got, buf[:n]...)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes were read, not the %d that were written", len(got), len(want))
			}
		})
	}
}

func TestPipeEnds(t *testing.T) {
	r, w := pipe(t)
	if _, err := r.Write([]byte("x")); err == nil {
		t.Error("the reading end could be written")
	}
	if _, err := w.Read(make([]byte, 1)); err == nil {
		t.Error("the writing end could be read")
	}
	w.WriteString("last")
	w.Close()
	if b, err := io.ReadAll(r); string(b) != "last" || err != nil {
		t.Errorf("%q, %v after the writing end was closed", b, err)
	}
	r.Close()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed: %v", err)
	}

	r, w = pipe(t)
	r.Close()
	if _, err := w.WriteString("x"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("nobody reads: %v", err)
	}

	// A goroutine that waits hears of it when its own end is closed.
	r, _ = pipe(t)
	time.AfterFunc(10*time.Millisecond, func() { r.Close() })
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed meanwhile: %v", err)
	}
}

func TestPipeDeadline(t *testing.T) {
	r, w := pipe(t)
	r.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading: %v", err)
	}
	block := make([]byte, 1<<20)
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		w.SetWriteDeadline(time.Now().Add(wait))
		n, err := w.Write(block)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("writing: %v", err)
		}
		if n == 0 && wait < time.Minute {
			continue // it was over before the writing began: the host is busy
		}
		if n != 1<<16 {
			t.Errorf("%d bytes were written", n)
		}
		break
	}
}

// Descriptors and memory are used again; there is an end to them.
func TestPipeMany(t *testing.T) {
	for range 1000 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		w.WriteString("not read")
		r.Close()
		w.Close()
	}
	var open []*os.File
	defer func() {
		for _, f := range open {
			f.Close()
		}
	}()
	for range 1000 {
		r, w, err := os.Pipe()
		if errors.Is(err, syscall.EMFILE) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, r, w)
	}
	t.Error("1000 pipes at once")
}

// Many goroutines pass a word around.
func TestPipeRing(t *testing.T) {
	const n, rounds = 10, 100
	var wg sync.WaitGroup
	first, w := pipe(t)
	w.Write([]byte{0})
	r := first
	for range n - 1 {
		next, nextW := pipe(t)
		pass(t, &wg, r, nextW, rounds)
		r = next
	}
	pass(t, &wg, r, w, rounds)
	wg.Wait()
	b := make([]byte, 1)
	if _, err := first.Read(b); err != nil || b[0] != n*rounds%256 {
		t.Errorf("%d, %v", b[0], err)
	}
}

func pass(t *testing.T, wg *sync.WaitGroup, r, w *os.File, rounds int) {
	wg.Go(func() {
		b := make([]byte, 1)
		for range rounds {
			if _, err := r.Read(b); err != nil {
				t.Error(err)
				return
			}
			b[0]++
			w.Write(b)
		}
	})
}
