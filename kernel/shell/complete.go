package shell

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A completion is what the end of a line may become.
type completion struct {
	candidates []string // the whole words, in order
	insert     string   // what all have in common behind what is there
}

// openEnds are the characters behind which a word goes on, so that no blank follows.
const openEnds = ":=/.+(@,"

// complete completes the last word of a line.
func (s *Shell) complete(line string) completion {
	start := strings.LastIndexByte(line, ' ') + 1
	words, word := strings.Fields(line[:start]), line[start:]
	var candidates []string
	if len(words) == 0 {
		candidates = s.commandNames()
	} else if cmd, err := s.find(words[0]); err == nil && cmd.Complete != nil {
		if cmd.Separators != "" {
			word = word[strings.LastIndexAny(word, cmd.Separators)+1:]
		}
		candidates = slices.Clone(cmd.Complete(words, word))
	}
	candidates = slices.DeleteFunc(candidates, func(c string) bool { return !strings.HasPrefix(c, word) })
	if len(candidates) == 0 {
		return completion{}
	}
	slices.Sort(candidates)
	candidates = slices.Compact(candidates)
	c := completion{candidates: candidates, insert: common(candidates)[len(word):]}
	if last := candidates[0]; len(candidates) == 1 && last != "" && strings.IndexByte(openEnds, last[len(last)-1]) < 0 {
		c.insert += " "
	}
	return c
}

// common returns what sorted words start with, as whole characters.
func common(words []string) string {
	first, last := words[0], words[len(words)-1]
	n := 0
	for n < len(first) && n < len(last) && first[n] == last[n] {
		n++
	}
	for n > 0 && n < len(first) && !utf8.RuneStart(first[n]) {
		n--
	}
	return first[:n]
}

// candidates returns words in columns, or only their number if the screen is too small.
func (s *Shell) candidates(words []string) string {
	const gap = 2
	z := s.screen()
	widest := 0
	for _, w := range words {
		widest = max(widest, utf8.RuneCountInString(w))
	}
	columns := max(1, (z.cols-1+gap)/(widest+gap))
	rows := (len(words) + columns - 1) / columns
	if rows > max(z.rows-3, 1) {
		return fmt.Sprintf("%d candidates, type more\n", len(words))
	}
	var b strings.Builder
	for row := range rows {
		for i := row; i < len(words); i += rows {
			b.WriteString(words[i])
			if i+rows < len(words) {
				b.WriteString(strings.Repeat(" ", widest+gap-utf8.RuneCountInString(words[i])))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
