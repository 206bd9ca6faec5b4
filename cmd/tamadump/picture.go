package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Measures of the picture, in pixels.
const (
	width     = 1000
	left      = 180 // where time begins; tracks' names are left of it
	right     = width - 16
	top       = 62 // where tracks begin; title and axis are above
	rowHeight = 20
	minTrack  = 38 // two lines of text
	trackGap  = 10

	charWidth = 5.9 // of a letter, about
)

// Bounds of what is drawn.
const (
	maxTracks = 12
	maxRows   = 10 // of a track
	maxLegend = 16
)

// fills are the colours of events, in the order of their first occurrence.
var fills = []string{
	"#93c5fd", "#fdba74", "#86efac", "#c4b5fd", "#fca5a5",
	"#fde047", "#5eead4", "#f9a8d4", "#d6b896", "#cbd5e1",
}

// draw draws the traces that are named.
func (c *command) draw() {
	for _, name := range c.files {
		data, err := os.ReadFile(name)
		if err != nil {
			c.fail("%v", err)
			continue
		}
		t, err := parseTimeline(data)
		if err == nil {
			err = t.cut(c.from, c.dur)
		}
		if err != nil {
			c.fail("%s: %v", name, err)
			continue
		}
		c.save(strings.TrimSuffix(filepath.Base(name), ".json")+".svg", t.svg())
	}
}

// A picture is an SVG that is being drawn.
type picture struct {
	*timeline
	b       []byte
	colours map[string]string // of events, by name
	hits    map[string]int    // of events, by name
	names   []string          // of events, by first occurrence
}

// svg draws the timeline.
func (t *timeline) svg() []byte {
	omitted := t.busiest(maxTracks)
	p := &picture{timeline: t, colours: make(map[string]string), hits: make(map[string]int)}
	p.chooseColours()

	y := top
	for _, track := range t.tracks {
		p.track(track, y)
		y += track.height() + trackGap
	}
	p.axis(y)
	y = p.legend(y+8, omitted)

	var head []byte
	head = fmt.Appendf(head, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d"`, width, y, width, y)
	head = append(head, ` font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" font-size="11" fill="#1e293b">`+"\n"...)
	head = fmt.Appendf(head, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, y)
	return append(append(head, p.b...), "</svg>\n"...)
}

func (p *picture) printf(format string, args ...any) {
	p.b = fmt.Appendf(p.b, format+"\n", args...)
}

// chooseColours gives every event its colour.
func (p *picture) chooseColours() {
	first := make(map[string]float64)
	for _, track := range p.tracks {
		for _, e := range track.entries {
			if at, ok := first[e.name]; !ok || e.from < at {
				first[e.name] = e.from
			}
			p.hits[e.name]++
		}
	}
	for name := range first {
		p.names = append(p.names, name)
	}
	slices.SortFunc(p.names, func(a, b string) int {
		return cmp.Or(cmp.Compare(first[a], first[b]), cmp.Compare(a, b))
	})
	for i, name := range p.names {
		p.colours[name] = fills[i%len(fills)]
	}
}

// x is where a time is drawn.
func (p *picture) x(time float64) float64 {
	if p.to <= p.from {
		return left
	}
	share := (min(max(time, p.from), p.to) - p.from) / (p.to - p.from)
	return left + share*(right-left)
}

// height is how much a track takes.
func (t *track) height() int { return max(minTrack, min(t.rows, maxRows)*rowHeight) }

// track draws a track below y.
func (p *picture) track(t *track, y int) {
	p.printf(`<rect x="0" y="%d" width="%d" height="%d" fill="#f8fafc"/>`, y-trackGap/2+1, width, t.height()+trackGap-2)
	name := t.name[strings.LastIndexByte(t.name, '/')+1:]
	p.printf(`<text x="12" y="%d" font-weight="bold">%s</text>`, y+14, clip(name, left-24))
	p.printf(`<text x="12" y="%d" fill="#64748b">%s</text>`, y+29, t.detail())

	var rows [maxRows][]entry
	for _, e := range t.entries {
		if e.row < maxRows {
			rows[e.row] = append(rows[e.row], e)
		}
	}
	for row, entries := range rows {
		p.row(entries, y+row*rowHeight, false)
		p.row(entries, y+row*rowHeight, true) // above the slices beside them
	}
}

// detail says what a track is, besides its name.
func (t *track) detail() string {
	if t.goid == 0 {
		return "no goroutine"
	}
	return fmt.Sprintf("goroutine %d", t.goid)
}

// row draws the slices or the instants of a row. What is too narrow to be seen beside what
// was drawn last is left out.
func (p *picture) row(entries []entry, y int, instants bool) {
	drawn := -1.0 // up to here
	for i := range entries {
		e := &entries[i]
		if e.instant != instants || p.x(e.to()) < drawn+0.5 {
			continue
		}
		room := float64(right) // for an instant's name
		if i+1 < len(entries) {
			room = p.x(entries[i+1].from)
		}
		drawn = p.entry(e, y, room)
	}
}

// entry draws an entry, and returns where it ends.
func (p *picture) entry(e *entry, y int, room float64) float64 {
	from, to := p.x(e.from), p.x(e.to())
	p.printf(`<g><title>%s</title>`, escape(e.tooltip()))
	if e.instant {
		middle := float64(y) + rowHeight/2
		p.printf(`<path d="M%.1f %.1fl4 5l-4 5l-4 -5z" fill="%s" stroke="#475569" stroke-width="0.7"/>`, from, middle-5.5, p.colours[e.name])
		if text := clip(e.name, room-from-12); text != "" {
			p.printf(`<text x="%.1f" y="%.1f" fill="#475569">%s</text>`, from+7, middle+3.5, text)
		}
		p.printf(`</g>`)
		return from + 4
	}
	w := max(to-from, 1)
	p.printf(`<rect x="%.1f" y="%d" width="%.1f" height="%d" rx="%.1f" fill="%s" stroke="#ffffff" stroke-width="%.1f"/>`,
		from, y, w, rowHeight-2, min(2, w/4), p.colours[e.name], min(0.8, w/8))
	label := e.name
	if long := label + "  " + formatTime(e.dur); charWidth*float64(utf8.RuneCountInString(long)) < w-8 {
		label = long
	}
	if text := clip(label, w-8); text != "" {
		p.printf(`<text x="%.1f" y="%d">%s</text>`, from+4, y+13, text)
	}
	p.printf(`</g>`)
	return from + w
}

// tooltip is everything about an entry.
func (e *entry) tooltip() string {
	text := e.name + " at " + formatSince(e.from)
	if !e.instant {
		text += ", " + formatTime(e.dur)
	}
	keys := make([]string, 0, len(e.args))
	for key := range e.args {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		text += fmt.Sprintf("\n%s = %v", strings.TrimPrefix(key, "$"), e.args[key])
	}
	return text
}

// axis draws the title and the axis; bottom is where the tracks end.
func (p *picture) axis(bottom int) {
	p.printf(`<text x="12" y="24" font-size="15" font-weight="bold">Tamaprobe</text>`)
	p.printf(`<text x="%d" y="24" text-anchor="end" fill="#64748b">%s, from %s after boot on</text>`,
		right, escape(formatTime(p.to-p.from)), formatSince(p.from))
	step := tickStep((p.to - p.from) / 8)
	if step == 0 {
		return // all is at one time
	}
	for i := 0; float64(i)*step <= p.to-p.from; i++ {
		at := float64(i) * step
		x := p.x(p.from + at)
		p.printf(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#94a3b8" stroke-opacity="0.35"/>`, x, top-14, x, bottom-trackGap/2)
		anchor := "middle"
		if x > right-20 {
			anchor = "end"
		}
		p.printf(`<text x="%.1f" y="%d" text-anchor="%s" fill="#64748b">%s</text>`, x, top-20, anchor, escape(formatTime(at)))
	}
}

// tickStep is 1, 2 or 5 times a power of ten, and at least least.
func tickStep(least float64) float64 {
	if least <= 0 {
		return 0
	}
	step := 0.001 // a nanosecond
	for i := 0; step < least; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	return step
}

// legend draws what the colours mean below y, and returns where the picture ends.
func (p *picture) legend(y, omitted int) int {
	x := 12.0
	item := func(w float64) {
		if x+w > right && x > 12 {
			x, y = 12, y+18
		}
	}
	for _, name := range p.names[:min(len(p.names), maxLegend)] {
		text := fmt.Sprintf("%s × %d", name, p.hits[name])
		w := 18 + charWidth*float64(min(utf8.RuneCountInString(text), 40)) + 14
		item(w)
		p.printf(`<rect x="%.1f" y="%d" width="12" height="12" rx="2" fill="%s"/>`, x, y, p.colours[name])
		p.printf(`<text x="%.1f" y="%d">%s</text>`, x+17, y+10, clip(text, 40*charWidth))
		x += w
	}
	var more []string
	if n := len(p.names) - maxLegend; n > 0 {
		more = append(more, fmt.Sprintf("%d more events", n))
	}
	if omitted > 0 {
		more = append(more, fmt.Sprintf("%d more tracks, with fewer hits", omitted))
	}
	if slices.ContainsFunc(p.tracks, func(t *track) bool { return t.rows > maxRows }) {
		more = append(more, fmt.Sprintf("calls more than %d deep are not drawn", maxRows))
	}
	if len(more) > 0 {
		text := strings.Join(more, ", ")
		item(charWidth * float64(len(text)))
		p.printf(`<text x="%.1f" y="%d" fill="#64748b">%s</text>`, x, y+10, text)
	}
	return y + 24
}
