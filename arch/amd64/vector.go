package amd64

import "strconv"

// A Vector is the number of an exception or interrupt (SDM vol. 3A, table 6-1).
type Vector uint8

const (
	VectorDivideError         Vector = 0
	VectorDebug               Vector = 1
	VectorNMI                 Vector = 2
	VectorBreakpoint          Vector = 3
	VectorOverflow            Vector = 4
	VectorBoundRange          Vector = 5
	VectorInvalidOpcode       Vector = 6
	VectorDeviceNotAvailable  Vector = 7
	VectorDoubleFault         Vector = 8
	VectorInvalidTSS          Vector = 10
	VectorSegmentNotPresent   Vector = 11
	VectorStackFault          Vector = 12
	VectorGeneralProtection   Vector = 13
	VectorPageFault           Vector = 14
	VectorX87                 Vector = 16
	VectorAlignmentCheck      Vector = 17
	VectorMachineCheck        Vector = 18
	VectorSIMD                Vector = 19
	VectorVirtualization      Vector = 20
	VectorControlProtection   Vector = 21
	VectorHypervisorInjection Vector = 28
	VectorVMMCommunication    Vector = 29
	VectorSecurity            Vector = 30

	// NumExceptions is the number of vectors that the processor reserves for
	// itself.
	NumExceptions = 32

	// vectorSync is the inter-processor interrupt of SyncCores.
	vectorSync = 0xf0
)

var vectorNames = [NumExceptions]string{
	VectorDivideError:         "divide error",
	VectorDebug:               "debug exception",
	VectorNMI:                 "non-maskable interrupt",
	VectorBreakpoint:          "breakpoint",
	VectorOverflow:            "overflow",
	VectorBoundRange:          "bound range exceeded",
	VectorInvalidOpcode:       "invalid opcode",
	VectorDeviceNotAvailable:  "device not available",
	VectorDoubleFault:         "double fault",
	VectorInvalidTSS:          "invalid TSS",
	VectorSegmentNotPresent:   "segment not present",
	VectorStackFault:          "stack segment fault",
	VectorGeneralProtection:   "general protection",
	VectorPageFault:           "page fault",
	VectorX87:                 "x87 floating-point error",
	VectorAlignmentCheck:      "alignment check",
	VectorMachineCheck:        "machine check",
	VectorSIMD:                "SIMD floating-point exception",
	VectorVirtualization:      "virtualization exception",
	VectorControlProtection:   "control protection exception",
	VectorHypervisorInjection: "hypervisor injection exception",
	VectorVMMCommunication:    "VMM communication exception",
	VectorSecurity:            "security exception",
}

// String returns the vector's name. It does not allocate for exceptions that
// have one.
func (v Vector) String() string {
	if v < NumExceptions && vectorNames[v] != "" {
		return vectorNames[v]
	}
	return "vector " + strconv.Itoa(int(v))
}
