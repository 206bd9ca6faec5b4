package board

import "unsafe"

// powerManagement is what the board uses of the FADT (ACPI specification,
// 5.2.9).
type powerManagement struct {
	pmTimer    uint16 // port of the power management timer, 0: none
	pm1Control uint16 // port of the PM1a control register, 0: none
	dsdt       uintptr
}

// fadt finds the fixed ACPI description table from the root pointer.
func fadt(rsdp uintptr) (pm powerManagement) {
	const (
		offDSDT    = 40
		offPM1aCnt = 64
		offPMTmr   = 76
		offPMTmrLn = 91
	)
	t := table(rsdp, "FACP")
	if len(t) <= offPMTmrLn {
		return pm
	}
	pm.dsdt = uintptr(le32(t[offDSDT:]))
	pm.pm1Control = uint16(le32(t[offPM1aCnt:]))
	if t[offPMTmrLn] == 4 {
		pm.pmTimer = uint16(le32(t[offPMTmr:]))
	}
	return pm
}

// table returns the table with the given signature, nil if there is none.
func table(rsdp uintptr, signature string) []byte {
	if rsdp == 0 || string(memory(rsdp, 8)) != "RSD PTR " {
		return nil
	}
	root := description(uintptr(le32(memory(rsdp, 20)[16:]))) // RSDT
	if len(root) < headerSize {
		return nil
	}
	for entries := root[headerSize:]; len(entries) >= 4; entries = entries[4:] {
		if t := description(uintptr(le32(entries))); len(t) > headerSize && string(t[:4]) == signature {
			return t
		}
	}
	return nil
}

// headerSize is the size of every table's header.
const headerSize = 36

// description returns the table at addr.
func description(addr uintptr) []byte {
	if addr == 0 {
		return nil
	}
	return memory(addr, uintptr(le32(memory(addr, 8)[4:])))
}

func memory(addr, n uintptr) []byte {
	return unsafe.Slice(at[byte](uint64(addr)), n)
}

func le32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// sleepType returns the value that the DSDT's package \_S5 gives for SLP_TYPa:
// NameOp "_S5_" PackageOp PkgLength NumElements, then a byte constant (0Ah
// prefix) or 0.
func sleepType(dsdt []byte) (typ uint16, ok bool) {
	for i := headerSize; i+8 < len(dsdt); i++ {
		if string(dsdt[i:i+4]) != "_S5_" || dsdt[i+4] != 0x12 {
			continue
		}
		i += 5
		i += 1 + int(dsdt[i]>>6) + 1 // PkgLength, NumElements
		if i+1 < len(dsdt) && dsdt[i] == 0x0a {
			i++
		}
		return uint16(dsdt[i]), i < len(dsdt)
	}
	return 0, false
}
