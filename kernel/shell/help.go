package shell

import (
	"cmp"
	"fmt"
	"strings"
)

// builtins returns the commands of the shell itself.
func (s *Shell) builtins() []*Command {
	const group = "Console"
	return []*Command{
		{
			Name: "help", Group: group, Args: "[COMMAND|TOPIC]", Help: "list the commands; explain one, or a topic",
			Run:      s.help,
			Complete: func([]string, string) []string { return s.helpNames() },
		},
		{
			Name: "history", Group: group, Help: "the lines that were typed",
			Run: func(c *Context, _ string) error {
				if len(c.Args()) != 0 {
					return ErrUsage
				}
				var b strings.Builder
				for i, line := range s.history.lines {
					fmt.Fprintf(&b, "%4d  %s\n", i+1, line)
				}
				c.Printf("%s", b.String())
				return nil
			},
		},
		{
			Name: "stty", Group: group, Args: "[rows N] [cols N] [plain|terminal]", Help: "show or set what the console is shown on",
			Run:      s.stty,
			Complete: func([]string, string) []string { return []string{"rows", "cols", "plain", "terminal"} },
		},
	}
}

// helpNames returns everything that help knows.
func (s *Shell) helpNames() []string {
	names := s.commandNames()
	for _, t := range s.topics {
		names = append(names, t.Name)
	}
	return names
}

// help lists the commands, or explains what it is asked about.
func (s *Shell) help(c *Context, _ string) error {
	switch args := c.Args(); len(args) {
	case 0:
		c.Printf("%s", s.overview())
		return nil
	case 1:
		text, err := s.explain(args[0])
		c.Printf("%s", text)
		return err
	}
	return ErrUsage
}

// overview lists the commands by group, and the topics.
func (s *Shell) overview() string {
	const column = 32
	var b strings.Builder
	entry := func(name, help string) {
		switch {
		case help == "":
			fmt.Fprintf(&b, "  %s\n", name)
		case len(name) >= column:
			fmt.Fprintf(&b, "  %s\n  %*s%s\n", name, column, "", help)
		default:
			fmt.Fprintf(&b, "  %-*s%s\n", column, name, help)
		}
	}
	heading := func(text string) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s.Paint(Bold, text) + "\n")
	}
	for _, group := range s.groups() {
		heading(cmp.Or(group, "Commands"))
		for _, cmd := range s.commands {
			if cmd.Group == group {
				entry(cmd.usage(), cmd.Help)
			}
		}
	}
	if len(s.topics) > 0 {
		heading("Topics: help TOPIC explains one")
		for _, t := range s.topics {
			entry(t.Name, t.Help)
		}
	}
	return b.String()
}

// groups returns the commands' groups in the order of their first commands, the shell's
// own one last.
func (s *Shell) groups() []string {
	own := s.commands[0].Group
	var groups []string
	seen := map[string]bool{own: true}
	for _, cmd := range s.commands {
		if !seen[cmd.Group] {
			seen[cmd.Group] = true
			groups = append(groups, cmd.Group)
		}
	}
	return append(groups, own)
}

// explain explains a command, a topic, or what is both.
func (s *Shell) explain(name string) (string, error) {
	var b strings.Builder
	cmd, err := s.find(name)
	if err == nil {
		fmt.Fprintf(&b, "usage: %s\n", cmd.usage())
		if len(cmd.Aliases) > 0 {
			fmt.Fprintf(&b, "also: %s\n", strings.Join(cmd.Aliases, ", "))
		}
		b.WriteString(paragraph(cmd.Help) + paragraph(cmd.Text))
		if len(cmd.Examples) > 0 {
			b.WriteString("examples:\n")
		}
		for _, line := range cmd.Examples {
			fmt.Fprintf(&b, "  %s\n", s.Paint(Cyan, line))
		}
	}
	for _, t := range s.topics {
		if t.Name == name {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(paragraph(t.Text))
		}
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("%s: no such command or topic; %s", clip(name, 80), suggest(name, s.helpNames(), "help lists them"))
	}
	return b.String(), nil
}

// paragraph returns text with an end of line, if it is not empty.
func paragraph(text string) string {
	if text = strings.Trim(text, "\n"); text == "" {
		return ""
	}
	return text + "\n"
}
