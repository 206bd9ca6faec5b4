package tracer

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"tamaprobe/kprobes"
	"tamaprobe/kprobes/event"
)

// A refusal is a sentence for people, and an errno for programs.
type refusal struct {
	message string
	errno   syscall.Errno
}

func refuse(errno syscall.Errno, format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...), errno}
}

func (r *refusal) Error() string { return r.message }

// Unwrap returns the errno.
func (r *refusal) Unwrap() error { return r.errno }

// reason is what an error says, without what whoever reads it knows from elsewhere: the column in
// the line, or the address as a number.
func reason(err error) string {
	var located *event.Error
	if errors.As(err, &located) {
		return located.Message
	}
	return err.Error()
}

// named makes an error of the engine about an address one about the symbol there.
func (p *point) named(err error) error {
	var e *kprobes.Error
	if !errors.As(err, &e) {
		return err
	}
	if strings.Contains(e.Reason, " cannot be probed: ") {
		return refuse(e.Errno, "%s", e.Reason)
	}
	return refuse(e.Errno, "%s cannot be probed: %s", Place(p.addr), e.Reason)
}
