package aggregate

import (
	"strconv"
	"unicode/utf8"
)

// A Style says how results are printed. The zero Style is plain.
type Style struct {
	// Width is the number of columns of a line that bars are fitted to. 0: bars have 52.
	Width int
	// Color uses the colours of a terminal.
	Color bool
	// Key appends a key as it is printed. nil: as a quoted string.
	Key func(dst, key []byte) []byte
}

// Widths in columns: of bars if nothing else is said, of the shortest ones, and of what
// stands before them at least.
const (
	defaultBar = 52
	minBar     = 10
	labelWidth = 16
	countWidth = 8
)

// What a terminal takes as a change of colour.
const (
	colorBold   = "\x1b[1m"
	colorYellow = "\x1b[33m"
	colorCyan   = "\x1b[36m"
	colorOff    = "\x1b[0m"
)

// AppendCounts appends a table of counts.
func (s *Style) AppendCounts(dst []byte, c Counts) []byte {
	width := len("COUNT")
	for _, e := range c.Entries {
		width = max(width, countWidth, digits(e.Count))
	}
	dst = s.begin(dst, colorBold)
	dst = appendRight(dst, "COUNT", width)
	dst = append(dst, "  KEY"...)
	dst = s.end(dst)
	dst = append(dst, '\n')
	for _, e := range c.Entries {
		dst = appendRight(dst, strconv.FormatUint(e.Count, 10), width)
		if len(e.Key) > 0 {
			dst = append(dst, "  "...)
			dst = s.appendKey(dst, e.Key)
		}
		dst = append(dst, '\n')
	}
	return s.appendLost(dst, c.Lost)
}

// AppendHist appends a drawing of a histogram: its key, if it has one, a line for each
// bucket, and a line of figures.
func (s *Style) AppendHist(dst []byte, h *Histogram) []byte {
	if len(h.Key) > 0 {
		dst = s.begin(dst, colorBold)
		dst = append(dst, "@["...)
		dst = s.appendKey(dst, h.Key)
		dst = append(dst, "]:"...)
		dst = s.end(dst)
		dst = append(dst, '\n')
	}
	labels := make([]string, len(h.Buckets))
	label, count, most := labelWidth, countWidth, uint64(1)
	for i, b := range h.Buckets {
		labels[i] = string(h.scale.appendLabel(nil, b.number, h.Unit))
		label = max(label, utf8.RuneCountInString(labels[i]))
		count = max(count, digits(b.Count))
		most = max(most, b.Count)
	}
	bar := defaultBar
	if s.Width > 0 {
		bar = max(minBar, s.Width-label-count-len("  ||"))
	}
	for i, b := range h.Buckets {
		dst = append(dst, labels[i]...)
		dst = appendRepeated(dst, ' ', label-utf8.RuneCountInString(labels[i])+1)
		dst = appendRight(dst, strconv.FormatUint(b.Count, 10), count)
		dst = append(dst, " |"...)
		n := int(float64(b.Count) / float64(most) * float64(bar))
		if n > 0 {
			dst = s.begin(dst, colorCyan)
			dst = appendRepeated(dst, '@', n)
			dst = s.end(dst)
		}
		dst = appendRepeated(dst, ' ', bar-n)
		dst = append(dst, "|\n"...)
	}
	dst = append(dst, "count "...)
	dst = strconv.AppendUint(dst, h.Count, 10)
	for _, f := range []struct {
		name  string
		value int64
	}{{"avg", h.Mean()}, {"min", h.Min}, {"max", h.Max}} {
		dst = append(dst, ", "...)
		dst = append(dst, f.name...)
		dst = append(dst, ' ')
		dst = appendValue(dst, f.value, h.Unit)
	}
	return append(dst, '\n')
}

// AppendHists appends drawings of histograms, with an empty line between them.
func (s *Style) AppendHists(dst []byte, h Histograms) []byte {
	for i := range h.Entries {
		if i > 0 {
			dst = append(dst, '\n')
		}
		dst = s.AppendHist(dst, &h.Entries[i])
	}
	return s.appendLost(dst, h.Lost)
}

// AppendStacks appends stacks with their counts. symbol appends the name of a PC.
func (s *Style) AppendStacks(dst []byte, c StackCounts, symbol func(dst []byte, pc uintptr) []byte) []byte {
	for _, e := range c.Entries {
		dst = append(dst, "@[\n"...)
		for _, pc := range e.PCs {
			dst = append(dst, "    "...)
			dst = symbol(dst, pc)
			dst = append(dst, '\n')
		}
		dst = append(dst, "]: "...)
		dst = s.begin(dst, colorBold)
		dst = strconv.AppendUint(dst, e.Count, 10)
		dst = s.end(dst)
		dst = append(dst, '\n')
	}
	return s.appendLost(dst, c.Lost)
}

func (s *Style) appendKey(dst, key []byte) []byte {
	if s.Key == nil {
		return strconv.AppendQuote(dst, string(key))
	}
	return s.Key(dst, key)
}

// appendLost says how many hits are missing, if any are.
func (s *Style) appendLost(dst []byte, lost uint64) []byte {
	if lost == 0 {
		return dst
	}
	dst = s.begin(dst, colorYellow)
	dst = append(dst, "lost: "...)
	dst = strconv.AppendUint(dst, lost, 10)
	dst = append(dst, " hits, the table of keys is full"...)
	dst = s.end(dst)
	return append(dst, '\n')
}

func (s *Style) begin(dst []byte, color string) []byte {
	if s.Color {
		dst = append(dst, color...)
	}
	return dst
}

func (s *Style) end(dst []byte) []byte { return s.begin(dst, colorOff) }

func digits(n uint64) int { return len(strconv.FormatUint(n, 10)) }

// appendRight appends text, aligned to the right.
func appendRight(dst []byte, text string, width int) []byte {
	dst = appendRepeated(dst, ' ', width-len(text))
	return append(dst, text...)
}

func appendRepeated(dst []byte, b byte, n int) []byte {
	for range n {
		dst = append(dst, b)
	}
	return dst
}
