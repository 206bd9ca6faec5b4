package inst

import (
	"encoding/binary"
	"errors"
	"math"
)

// ErrReach is returned for an operand that is too far away to be addressed from
// the new place.
var ErrReach = errors.New("operand is out of the reach of a 32-bit distance")

// Relocate adapts code, a copy of the instruction that was at address from, to
// run at address to: the distance of a memory operand relative to the
// instruction pointer is corrected. Branches are not touched.
func (i *Inst) Relocate(code []byte, from, to uintptr) error {
	if !i.RIPRelative {
		return nil
	}
	disp := int64(i.Disp) + int64(from) - int64(to)
	if disp < math.MinInt32 || disp > math.MaxInt32 {
		return ErrReach
	}
	binary.LittleEndian.PutUint32(code[i.DispOff:], uint32(disp))
	return nil
}
