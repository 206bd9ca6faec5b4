package event

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// Limits of Linux (kernel/trace/trace_probe.h, kernel/trace/trace.h, kernel/kprobes.c).
const (
	maxNameLength      = 63 // of a group or an event
	maxArgNameLength   = 32
	maxArgs            = 128
	maxArgLength       = 63
	maxArray           = 64
	maxActive          = 4096
	maxDereferences    = 14
	maxStackWord       = 2048
	maxLineLength      = 4095
	maxIntegerArgument = 9 // of Go's ABI: so many are passed in registers
	// maxGoArgLength holds for arguments that name Go symbols or variables, whose names
	// are longer than C's.
	maxGoArgLength = 255
)

// DefaultGroup is the group of events whose definition names none.
const DefaultGroup = "kprobes"

// reservedNames are the names of fields that every event has.
var reservedNames = []string{
	"common_type", "common_flags", "common_preempt_count", "common_pid", "common_tgid", "common_cpu",
	"__probe_ip", "__probe_ret_ip", "__probe_func",
}

// isIdentifier reports whether a name follows the rules of C identifiers.
func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if !('a' <= c && c <= 'z' || s[i] == '_' || i > 0 && isDigit(s[i])) {
			return false
		}
	}
	return s != ""
}

// eventName reads [GRP/][EVENT], which begins at a position of the line.
func (p *parser) eventName(d *Definition, name string, pos int) error {
	event := name
	i := strings.IndexByte(name, '/')
	if i < 0 {
		i = strings.IndexByte(name, '.')
	}
	if i >= 0 {
		switch group := name[:i]; {
		case group == "":
			return p.fail(pos, syscall.EINVAL, "Group name is not specified")
		case len(group) > maxNameLength:
			return p.fail(pos, syscall.E2BIG,
				"Group name is too long: it has %d characters, at most %d are allowed",
				len(group), maxNameLength)
		case !isIdentifier(group):
			return p.fail(pos, syscall.EINVAL, "Group name must follow the same rules as C identifiers")
		default:
			d.Group = group
		}
		event = name[i+1:]
		pos += i + 1
	}
	switch {
	case event == "" && i < 0:
		return p.fail(pos, syscall.EINVAL, "Event name is not specified")
	case len(event) > maxNameLength:
		return p.fail(pos, syscall.E2BIG, "Event name is too long: it has %d characters, at most %d are allowed",
			len(event), maxNameLength)
	case event != "" && !isIdentifier(event):
		return p.fail(pos, syscall.EINVAL, "Event name must follow the same rules as C identifiers")
	}
	d.Event = event
	return nil
}

// checkArgName checks a name that was given to an argument.
func (p *parser) checkArgName(name string, pos int) error {
	switch {
	case name == "":
		return p.fail(pos, syscall.EINVAL, "Argument name is not specified")
	case len(name) > maxArgNameLength:
		return p.fail(pos, syscall.E2BIG, "Argument name is too long: it has %d characters, at most %d are allowed",
			len(name), maxArgNameLength)
	case !isIdentifier(name):
		return p.fail(pos, syscall.EINVAL, "Argument name must follow the same rules as C identifiers")
	case slices.Contains(reservedNames, name):
		return p.fail(pos, syscall.EINVAL, "This argument name is already used: every event has %s", name)
	}
	return nil
}

// defaultArgName is the name of an argument that was given none: argN as in Linux; what Go
// adds to the language is named after what was written.
func defaultArgName(f *Fetch, index int) string {
	switch f.Op {
	case FetchVar:
		return f.Name
	case FetchResult:
		return fmt.Sprintf("ret%d", f.N)
	case FetchGoid:
		return "goid"
	case FetchCaller:
		return "caller"
	case FetchDur:
		return "dur"
	default:
		return fmt.Sprintf("arg%d", index+1)
	}
}

// EventName returns the event's name, or the one that is made for a definition without: as
// Linux makes it, p_SYMBOL_OFFSET or p_0xADDRESS, in which characters that are not
// allowed become underscores.
func (d *Definition) EventName() string {
	if d.Event != "" {
		return d.Event
	}
	name, tail := d.Place.Symbol, fmt.Sprintf("_%d", d.Place.Offset)
	switch {
	case d.Place.File != "":
		name, tail = d.Place.File, fmt.Sprintf("_%d", d.Place.Line)
	case d.Place.Symbol == "":
		name, tail = "", fmt.Sprintf("0x%x", d.Place.Addr)
	}
	b := []byte{byte(d.Kind), '_'}
	for i := range len(name) {
		c := name[i]
		if !isIdentifier(string(c)) && !isDigit(c) {
			c = '_'
		}
		if c != '_' || b[len(b)-1] != '_' {
			b = append(b, c)
		}
	}
	b = b[:min(len(b), maxNameLength-len(tail))]
	if tail[0] == '_' {
		for b[len(b)-1] == '_' {
			b = b[:len(b)-1]
		}
	}
	return string(b) + tail
}
