package kprobes

import (
	"fmt"
	"syscall"
)

// An Error is why a call of this package failed. It wraps the errno that kprobes
// give the reason:
//
//	EINVAL         wrong arguments, or an instruction that cannot be probed
//	EILSEQ         not at the start of an instruction
//	ENOENT         no such symbol
//	EADDRNOTAVAIL  the symbol is ambiguous
//	EBUSY          the probe is registered already
//	ENOMEM         no memory for code within reach
type Error struct {
	Op     string // "register", "unregister", ...
	Probe  string // symbol+offset, or address
	Reason string
	Errno  syscall.Errno
}

func (e *Error) Error() string { return fmt.Sprintf("%s %s: %s", e.Op, e.Probe, e.Reason) }

// Unwrap returns the errno.
func (e *Error) Unwrap() error { return e.Errno }

// failed makes the error of an operation on p.
func failed(op string, p *Kprobe, errno syscall.Errno, format string, args ...any) error {
	return &Error{op, p.where(), fmt.Sprintf(format, args...), errno}
}

// where names the probe as its user did.
func (p *Kprobe) where() string {
	switch {
	case p.Symbol != "" && p.Offset != 0:
		return fmt.Sprintf("%s+%#x", p.Symbol, p.Offset)
	case p.Symbol != "":
		return p.Symbol
	default:
		return fmt.Sprintf("%#x", p.Addr)
	}
}
