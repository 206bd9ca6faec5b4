package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// maxTypeAhead bounds what may be typed, or pasted, while commands run.
	maxTypeAhead = 1 << 20
	// escapeTime is how soon the rest of a key's sequence follows the ESC that it starts
	// with. ESC by itself is a key only for commands.
	escapeTime = 50 * time.Millisecond
	// retryInterval is the pause after an error of reading.
	retryInterval = 50 * time.Millisecond
)

// errClosed is the error of reading from a shell that has ended.
var errClosed = errors.New("the shell has ended")

// A keyboard reads the line all the time, from a goroutine of its own: so ^C is seen
// while a command runs, and what is typed then is kept.
type keyboard struct {
	source io.Reader
	shell  *Shell

	decoding sync.Mutex
	decoder  decoder
	decoded  int // bytes

	mu        sync.Mutex
	changed   sync.Cond   // anything below
	ahead     []byte      // typed ahead: whole keys
	listener  chan string // takes keys, if not nil
	interrupt func()      // of the command that runs
	closed    bool
	losing    bool // ahead is full, and that was said
}

func newKeyboard(source io.Reader, s *Shell) *keyboard {
	k := &keyboard{source: source, shell: s}
	k.changed.L = &k.mu
	return k
}

func (k *keyboard) start() { go k.read() }

// read reads until the keyboard is closed. An error is reported once, however often it
// comes again.
func (k *keyboard) read() {
	var buf [256]byte
	var last string
	for {
		n, err := k.source.Read(buf[:])
		if k.isClosed() {
			return
		}
		for _, b := range buf[:n] {
			k.feed(b)
		}
		if n > 0 {
			last = ""
		}
		if err != nil {
			if err.Error() != last {
				last = err.Error()
				k.shell.complain("console: " + last + "; trying again")
			}
			time.Sleep(retryInterval)
		} else if n == 0 {
			time.Sleep(retryInterval)
		}
	}
}

// feed takes a byte.
func (k *keyboard) feed(b byte) {
	k.decoding.Lock()
	key, ok := k.decoder.feed(b)
	k.decoded++
	n := k.decoded
	k.decoding.Unlock()
	switch {
	case !ok && b == keyEscape[0] && k.listening():
		time.AfterFunc(escapeTime, func() { k.escape(n) })
	case !ok:
	case key.text == "":
		k.shell.reported(key.rows, key.cols)
	default:
		k.put(key)
	}
}

// escape makes the nth byte, ESC, a key if nothing followed.
func (k *keyboard) escape(n int) {
	k.decoding.Lock()
	var key key
	ok := n == k.decoded
	if ok {
		key, ok = k.decoder.take()
	}
	k.decoding.Unlock()
	if ok {
		k.put(key)
	}
}

func (k *keyboard) isClosed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.closed
}

// close makes everybody who waits for keys return.
func (k *keyboard) close() {
	k.mu.Lock()
	k.closed = true
	k.changed.Broadcast()
	k.mu.Unlock()
}

// put gives a key to whom it is for: ^C interrupts a command, and what was typed before
// is forgotten, as Unix terminals do. Other keys are for the command if it listens, and
// for the next prompt if it doesn't. What is pasted is never an answer to a command.
func (k *keyboard) put(key key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if key.text == keyInterrupt && k.interrupt != nil {
		k.ahead = k.ahead[:0]
		for len(k.listener) > 0 {
			<-k.listener
		}
		k.interrupt()
		return
	}
	if k.listener != nil && !key.pasted {
		select {
		case k.listener <- key.text:
			return
		default: // more than a command wants
		}
	}
	for len(k.ahead)+len(key.text) > maxTypeAhead && !k.closed {
		if k.interrupt != nil {
			// Waiting for room would make ^C wait as well.
			if !k.losing {
				k.losing = true
				go k.shell.complain(fmt.Sprintf("console: more than %d bytes typed ahead, the rest is lost", maxTypeAhead))
			}
			return
		}
		k.changed.Wait()
	}
	k.losing = false
	k.keep(key.text)
}

// keep adds a key to those typed ahead. ESC, and what is like it, means nothing
// to the prompt. k.mu is held.
func (k *keyboard) keep(text string) {
	if text != keyEscape {
		k.ahead = append(k.ahead, text...)
		k.changed.Broadcast()
	}
}

// begin says that a command runs, which ^C interrupts. A ^C that has been typed already
// does so too.
func (k *keyboard) begin(interrupt func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.interrupt = interrupt
	k.changed.Broadcast()
	if i := bytes.LastIndexByte(k.ahead, keyInterrupt[0]); i >= 0 {
		k.drop(i + 1)
		interrupt()
	}
}

// end says that it has ended.
func (k *keyboard) end() {
	k.release()
	k.mu.Lock()
	k.interrupt = nil
	k.changed.Broadcast()
	k.mu.Unlock()
}

// listen returns a channel for the keys from now on. Lines typed ahead stay for the prompt,
// but an empty one is a key: it can only be meant as that.
func (k *keyboard) listen() <-chan string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.listener == nil {
		k.listener = make(chan string, 64)
		if len(k.ahead) > 0 && k.ahead[0] == keyEnter[0] {
			k.drop(1)
			k.listener <- keyEnter
		}
	}
	return k.listener
}

// release ends listening. Keys that were not taken are typed ahead.
func (k *keyboard) release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.listener) > 0 {
		k.keep(<-k.listener)
	}
	k.listener = nil
	k.changed.Broadcast()
}

func (k *keyboard) listening() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.listener != nil
}

// unread puts a key in front of those that were typed ahead.
func (k *keyboard) unread(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ahead = append([]byte(text), k.ahead...)
}

// waiting reports whether anything was typed ahead.
func (k *keyboard) waiting() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ahead) > 0
}

// drop takes n bytes off what was typed ahead. It keeps the memory for what comes.
func (k *keyboard) drop(n int) {
	k.ahead = k.ahead[:copy(k.ahead, k.ahead[n:])]
	k.changed.Broadcast()
}

// keys waits for keys and copies them to b, up to the end of a line: what is behind that
// may be for a command. b must have room for any key.
func (k *keyboard) keys(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.ahead) == 0 && !k.closed {
		k.changed.Wait()
	}
	if k.closed {
		return 0, errClosed
	}
	n := 0
	for n < len(k.ahead) {
		m := keyLen(k.ahead[n:])
		if n+m > len(b) {
			break
		}
		n += m
		if last := k.ahead[n-1]; last == keyEnter[0] || last == keyInterrupt[0] {
			break
		}
	}
	copy(b, k.ahead[:n])
	k.drop(n)
	return n, nil
}
