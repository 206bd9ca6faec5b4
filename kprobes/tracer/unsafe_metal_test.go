//go:build metal

package tracer

import "unsafe"

// addressOf is where a variable is.
func addressOf[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }
