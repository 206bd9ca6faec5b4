// Package amd64 is what Tamaprobe knows of the processor: exception entry and
// exit, the registers of interrupted code, text patching, and how to execute an
// instruction that is not where it was.
//
// It knows nothing of probes and of who handles an exception: it calls the one
// handler that package trap gives it.
//
// # Contexts
//
// Every exception and interrupt arrives with interrupts disabled on whatever
// stack the interrupted code had: a goroutine's, with as little as StackSystem
// (512) bytes left, a g0's, or the trap stack. The entry code uses at most 88 of
// them, then moves to the processor's trap stack, the stack of its M's gsignal,
// makes gsignal the current g, and calls Go. Double faults, non-maskable
// interrupts and machine checks cannot trust the stack: they have stacks of
// their own (IST).
//
// Functions of this package say in which context they may be called.
package amd64
