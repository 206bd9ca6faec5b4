package shell

import "bytes"

// A pager counts the rows that a command has printed since a person last saw a full page.
type pager struct {
	rows, col int
	quit      bool // print no more
}

const more = "--more--"

// page prints p, and waits for a key where the screen is full and more follows. There are
// no pages in plain text, nor when lines wait to be executed: nobody is reading. c.mu is
// held.
func (c *Context) page(p []byte) (int, error) {
	s := c.shell
	if !s.serving || s.Plain() {
		return s.out.write(p)
	}
	size := s.screen()
	written := 0
	for written < len(p) {
		if c.pager.rows >= size.rows-1 && !c.interrupted() && !s.keys.waiting() {
			c.ask()
			if c.pager.quit {
				return written, ErrStopped
			}
			size = s.screen()
		}
		n := c.pager.fit(p[written:], size)
		if _, err := s.out.write(p[written : written+n]); err != nil {
			return written, err
		}
		written += n
	}
	return written, nil
}

// seen starts a new page: what was printed has been looked at.
func (c *Context) seen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pager.rows, c.pager.col = 0, 0
}

// fit returns how much of p fits on the page, at least one line, and counts it.
func (p *pager) fit(b []byte, size size) int {
	n := 0
	for n < len(b) {
		end := bytes.IndexByte(b[n:], '\n')
		line := b[n:]
		if end >= 0 {
			line = b[n : n+end]
		}
		p.col = width(string(line), p.col)
		n += len(line)
		if end < 0 {
			break
		}
		n++
		p.rows += 1 + max(p.col-1, 0)/size.cols
		p.col = 0
		if p.rows >= size.rows-1 {
			break
		}
	}
	return n
}

// ask waits for a key: the next page, the next line, or the end.
func (c *Context) ask() {
	s := c.shell
	listening := s.keys.listening()
	keys := s.keys.listen()
	s.out.setFrame([]byte(s.Paint(Reverse, more)))
	defer func() {
		s.out.setFrame(nil)
		if !listening {
			s.keys.release()
		}
	}()
	select {
	case <-c.Context.Done():
		c.pager.quit = true
	case key := <-keys:
		switch key {
		case " ":
			c.pager.rows = 0
		case keyEnter:
			c.pager.rows--
		case "q", keyEscape:
			c.pager.quit = true
		default:
			// Somebody goes on typing: the next command.
			s.keys.unread(key)
			c.pager.quit = true
		}
	}
	if c.pager.quit {
		c.cancel()
	}
}
