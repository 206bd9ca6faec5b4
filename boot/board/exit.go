package board

import "github.com/usbarmory/tamago/amd64"

// exit is goos.Exit: it ends the machine with an exit code.
func exit(code int32) {
	exitQEMU(code)
	if code == 0 {
		poweroff()
	}
	print("board: exit ", code, ", halted\n")
	for {
		amd64.Fault()
	}
}

// exitQEMU makes QEMU exit with status code<<1 | 1 if the device isa-debug-exit
// is there; scripts/qemu.sh turns that into code. QEMU is known by its
// configuration device's signature (QEMU, docs/specs/fw_cfg).
func exitQEMU(code int32) {
	const (
		debugExit      = 0xf4
		fwcfgSelector  = 0x510
		fwcfgData      = 0x511
		fwcfgSignature = 0
		maxCode        = 127 // of 8 bits, one is taken
	)
	out16(fwcfgSelector, fwcfgSignature)
	for _, c := range []byte("QEMU") {
		if in8(fwcfgData) != c {
			return
		}
	}
	if code < 0 || code > maxCode {
		code = maxCode
	}
	out8(debugExit, uint8(code))
}

// poweroff enters ACPI sleep state S5 (ACPI specification, 4.8.3.2.1). It
// returns if the machine does not have it.
func poweroff() {
	const sleepEnable = 1 << 13
	pm := fadt(info.RSDP)
	if pm.pm1Control == 0 {
		return
	}
	if typ, ok := sleepType(description(pm.dsdt)); ok {
		out16(pm.pm1Control, typ<<10|sleepEnable)
	}
}

// Reboot resets the machine: by the keyboard controller, by the reset control
// register, by a triple fault.
func Reboot() {
	const (
		keyboard     = 0x64
		resetControl = 0xcf9
	)
	out8(keyboard, 0xfe)
	out8(resetControl, 0x6)
	amd64.Fault()
}
