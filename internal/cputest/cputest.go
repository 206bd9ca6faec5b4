// Package cputest executes single machine instructions, for tests on bare metal.
package cputest

// A State is the registers before or after Run.
type State struct {
	R     [16]uint64 // AX, CX, DX, BX, SP, BP, SI, DI, R8-R15
	Flags uint64
	Y     [16][4]uint64 // AVX registers
}

// Run loads the state, jumps to code, and saves the state when the code jumps to
// Done. SP must have room for an interrupt below, and is written to. The code must
// not be interrupted by the scheduler, so it cannot call Go. One Run at a time.
//
//go:noescape
func Run(s *State, code uintptr)

// Done is where code that Run runs has to jump to in the end.
func Done() uintptr

// Scratch is text to put code into.
func Scratch() uintptr

// ScratchSize is the size of Scratch.
const ScratchSize = 256

// Breakpoint executes INT3.
func Breakpoint()

// CopyWords copies n words of 8 bytes with one repeated string instruction.
func CopyWords(dst, src *uint64, n int)

// Undefined executes UD2, which takes 2 bytes, and returns AX.
func Undefined() int

// TailCall returns x+1, by a jump to TailTarget.
func TailCall(x int) int

// TailTarget returns x+1.
func TailTarget(x int) int
