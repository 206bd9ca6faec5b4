package shell

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Command is what a line starts with.
type Command struct {
	Name    string
	Aliases []string
	// Match, if not nil, recognizes further first words, such as "p:name".
	Match func(first string) bool

	Group    string   // the heading in help
	Args     string   // what follows the name, as usage shows it
	Help     string   // one line
	Text     string   // more lines, for help NAME
	Examples []string // lines to type

	// Run executes a line, which starts with the name.
	Run func(c *Context, line string) error

	// Complete, if not nil, returns what the word at the cursor may become. words are those
	// before it, with the command's own. What does not start with word is left out.
	Complete func(words []string, word string) []string
	// Separators are characters behind which a word to be completed begins, besides blanks.
	Separators string
}

// A Topic is a text for help.
type Topic struct {
	Name string
	Help string // one line
	Text string
}

var (
	// ErrUsage makes the shell print a command's usage.
	ErrUsage = errors.New("usage")
	// ErrStopped is what writing returns when nobody wants more output. A command that
	// returns it has not failed.
	ErrStopped = errors.New("stopped")
)

func (c *Command) usage() string { return strings.TrimSpace(c.Name + " " + c.Args) }

func (c *Command) names() []string { return append([]string{c.Name}, c.Aliases...) }

// Add adds commands. It panics if a name is taken: that is a mistake of the program.
func (s *Shell) Add(commands ...*Command) {
	for _, c := range commands {
		if c.Run == nil {
			panic(fmt.Sprintf("shell: command %q does nothing", c.Name))
		}
		for _, name := range c.names() {
			if slices.Contains(s.commandNames(), name) || len(strings.Fields(name)) != 1 {
				panic(fmt.Sprintf("shell: command name %q is not a word, or is taken", name))
			}
		}
		s.commands = append(s.commands, c)
	}
}

// AddTopics adds texts for help.
func (s *Shell) AddTopics(topics ...Topic) { s.topics = append(s.topics, topics...) }

// commandNames returns the names of all commands, with aliases.
func (s *Shell) commandNames() []string {
	var names []string
	for _, c := range s.commands {
		names = append(names, c.names()...)
	}
	return names
}

// find returns the command that a first word means: the one of that very name, or the
// first one that recognizes it.
func (s *Shell) find(first string) (*Command, error) {
	for _, c := range s.commands {
		if slices.Contains(c.names(), first) {
			return c, nil
		}
	}
	for _, c := range s.commands {
		if c.Match != nil && c.Match(first) {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%s: no such command; %s", clip(first, 80), suggest(first, s.commandNames(), "help lists them"))
}
