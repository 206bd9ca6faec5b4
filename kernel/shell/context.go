package shell

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// A Context is one execution of a command. It ends, as a context.Context, when ^C is
// typed. What is written to it goes to the console: in pages, if that is a terminal.
type Context struct {
	context.Context
	shell  *Shell
	cancel context.CancelFunc
	words  []string

	caught atomic.Bool // ^C was typed
	aware  atomic.Bool // the command looks at Done
	ended  atomic.Bool

	mu    sync.Mutex // held while output waits for a key
	pager pager
}

var _ io.Writer = (*Context)(nil)

func (s *Shell) newContext(parent context.Context, line string) *Context {
	c := &Context{shell: s, words: strings.Fields(line)}
	c.Context, c.cancel = context.WithCancel(parent)
	return c
}

// interrupt is what ^C does.
func (c *Context) interrupt() {
	c.caught.Store(true)
	c.cancel()
}

func (c *Context) interrupted() bool { return c.caught.Load() }

// end ends the execution.
func (c *Context) end() {
	c.shell.keys.end()
	c.shell.out.setFrame(nil)
	c.ended.Store(true)
	c.cancel()
	if c.interrupted() {
		c.shell.out.background([]byte("^C\n"))
	}
}

// Done is closed when ^C is typed. After that, the output of a command that never asked
// for Done is dropped, so that ^C ends also the output of those that know nothing of it.
func (c *Context) Done() <-chan struct{} {
	c.aware.Store(true)
	return c.Context.Done()
}

// Args returns the words behind the command's.
func (c *Context) Args() []string { return c.words[1:] }

// Shell returns the shell that executes the command.
func (c *Context) Shell() *Shell { return c.shell }

// Plain reports whether output is plain text.
func (c *Context) Plain() bool { return c.shell.Plain() }

// Paint returns text in a style, if there are colours.
func (c *Context) Paint(style Style, text string) string { return c.shell.Paint(style, text) }

// Size returns how many rows and columns the terminal has.
func (c *Context) Size() (rows, cols int) {
	size := c.shell.screen()
	return size.rows, size.cols
}

// Printf prints to the console.
func (c *Context) Printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

// Write prints to the console. It waits where a page is full. When nobody wants more, it
// returns ErrStopped, and prints nothing.
func (c *Context) Write(p []byte) (int, error) {
	if c.ended.Load() {
		return c.shell.Write(p)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pager.quit || c.interrupted() && !c.aware.Load() {
		return 0, ErrStopped
	}
	return c.page(p)
}

// Keys returns the keys that are typed from now on, until the command ends: characters,
// or the escape sequences of other keys. ^C is none of them. Those that the command leaves
// are for the next prompt.
func (c *Context) Keys() <-chan string {
	return c.shell.keys.listen()
}
