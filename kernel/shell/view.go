package shell

import (
	"bytes"
	"io"
	"time"
)

// minInterval bounds how often views are drawn.
const minInterval = 10 * time.Millisecond

// Live shows what draw writes, and draws it again at intervals, until a key or ^C. On a
// terminal it is drawn in place, as much as fits; in plain text one below the other, with an
// empty line between. What it is at the end stays.
func (c *Context) Live(interval time.Duration, draw func(w io.Writer)) {
	s := c.shell
	plain := s.Plain()
	defer s.out.setFrame(nil)
	var view bytes.Buffer
	show := func() {
		view.Reset()
		draw(&view)
		if plain {
			s.out.write(append(view.Bytes(), '\n'))
		} else {
			s.out.setFrame(fitFrame(view.String(), s.screen()))
		}
	}
	c.repeat(interval, show, !plain)
	view.Reset()
	draw(&view)
	s.out.setFrame(nil)
	c.Write(view.Bytes())
}

// Stream prints what next writes, and calls it at intervals, until a key or ^C. It makes
// no pages.
func (c *Context) Stream(interval time.Duration, next func(w io.Writer)) {
	print := func() {
		var b bytes.Buffer
		next(&b)
		c.shell.out.write(b.Bytes())
	}
	c.repeat(interval, print, true)
	print()
}

// repeat calls f at intervals until a key or ^C; also at once if it is asked to. A key that
// answers what f shows ends it.
func (c *Context) repeat(interval time.Duration, f func(), atOnce bool) {
	k := c.shell.keys
	listening := k.listening()
	keys := k.listen()
	if !listening {
		defer k.release()
	}
	done := c.Done()
	defer c.seen()
	if atOnce {
		f()
	}
	ticks := time.NewTicker(max(interval, minInterval))
	defer ticks.Stop()
	for {
		// A key that is there goes before a tick.
		select {
		case <-done:
			return
		case <-keys:
			return
		default:
		}
		select {
		case <-done:
			return
		case <-keys:
			return
		case <-ticks.C:
			f()
		}
	}
}
