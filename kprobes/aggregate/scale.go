package aggregate

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
)

// maxSteps is the largest number of steps of a linear histogram.
const maxSteps = 1000

// A scale divides the values into numbered buckets. Without steps it has one for zero,
// and on both sides of it one for each power of two: what is from it up to the next one,
// further from zero. With steps it has one for each step from low to high, one before
// them and one behind.
type scale struct {
	low, high, step int64
	steps           int
}

// log2 is the scale of powers of two.
var log2 = scale{}

// log2Zero is its bucket of zero; that of -1 is before it, that of 1 behind.
const log2Zero = 64

func newLinear(low, high, step int64) (scale, error) {
	if high <= low {
		return scale{}, fmt.Errorf("histogram from %d to %d: the second must be the larger one", low, high)
	}
	if step <= 0 {
		return scale{}, fmt.Errorf("histogram in steps of %d: a step must be 1 or more", step)
	}
	width := uint64(high) - uint64(low)
	steps := (width-1)/uint64(step) + 1
	if steps > maxSteps {
		return scale{}, fmt.Errorf("histogram from %d to %d in steps of %d: more than %d steps; "+
			"with steps of %d it would have few enough", low, high, step, maxSteps, (width-1)/maxSteps+1)
	}
	return scale{low, high, step, int(steps)}, nil
}

func (s *scale) buckets() int {
	if s.steps == 0 {
		return 64 + 1 + 63
	}
	return s.steps + 2
}

// bucket returns the bucket of a value. It runs in handler context.
func (s *scale) bucket(v int64) int {
	if s.steps == 0 {
		switch {
		case v > 0:
			return log2Zero + bits.Len64(uint64(v))
		case v < 0:
			return log2Zero - bits.Len64(-uint64(v))
		}
		return log2Zero
	}
	switch {
	case v < s.low:
		return 0
	case v >= s.high:
		return s.steps + 1
	}
	return 1 + int((uint64(v)-uint64(s.low))/uint64(s.step))
}

// bounds returns the least and the largest value of a bucket.
func (s *scale) bounds(bucket int) (low, high int64) {
	if s.steps == 0 {
		switch n := bucket - log2Zero; {
		case n > 0:
			low = 1 << (n - 1)
			return low, low + (low - 1)
		case n < 0:
			high = -1 << (-n - 1)
			if high == math.MinInt64 {
				return high, high
			}
			return high + (high + 1), high
		}
		return 0, 0
	}
	switch {
	case bucket == 0:
		return math.MinInt64, s.low - 1
	case bucket > s.steps:
		return s.high, math.MaxInt64
	}
	low = s.low + int64(bucket-1)*s.step
	if bucket == s.steps {
		return low, s.high - 1 // the last step may be a shorter one
	}
	return low, low + (s.step - 1)
}

// appendLabel appends a bucket's bounds as they are printed.
func (s *scale) appendLabel(dst []byte, bucket int, unit Unit) []byte {
	if s.steps == 0 {
		return appendPowers(dst, bucket-log2Zero, unit)
	}
	low, high := s.bounds(bucket)
	switch {
	case bucket == 0:
		dst = append(dst, "(..., "...)
		dst = strconv.AppendInt(dst, s.low, 10)
	case bucket > s.steps:
		dst = append(dst, '[')
		dst = strconv.AppendInt(dst, s.high, 10)
		dst = append(dst, ", ..."...)
	default:
		dst = append(dst, '[')
		dst = strconv.AppendInt(dst, low, 10)
		dst = append(dst, ", "...)
		dst = strconv.AppendInt(dst, high+1, 10)
	}
	return append(dst, ')')
}

// appendPowers appends the bounds of the nth bucket from that of zero. The one that is
// further from zero is excluded: [16, 32) and (-32, -16].
func appendPowers(dst []byte, n int, unit Unit) []byte {
	switch {
	case -1 <= n && n <= 1:
		dst = append(dst, '[')
		dst = appendValue(dst, int64(n), unit)
		return append(dst, ']')
	case n < 0:
		dst = append(dst, '(')
		dst = appendPower(dst, true, -n, unit)
		dst = append(dst, ", "...)
		dst = appendPower(dst, true, -n-1, unit)
		return append(dst, ']')
	}
	dst = append(dst, '[')
	dst = appendPower(dst, false, n-1, unit)
	dst = append(dst, ", "...)
	dst = appendPower(dst, false, n, unit)
	return append(dst, ')')
}

// appendPower appends a power of two: up to 512 as it is, then with K, M, G, T, P or E.
// In nanoseconds it is a time.
func appendPower(dst []byte, negative bool, exponent int, unit Unit) []byte {
	if unit == Nanoseconds {
		if negative {
			dst = append(dst, '-')
		}
		return appendTime(dst, math.Ldexp(1, exponent))
	}
	dst = appendAmount(dst, negative, 1<<(exponent%10), unit)
	if exponent >= 10 {
		dst = append(dst, "KMGTPE"[exponent/10-1])
	}
	return dst
}

// appendAmount appends a number, or that many nanoseconds.
func appendAmount(dst []byte, negative bool, n uint64, unit Unit) []byte {
	if negative {
		dst = append(dst, '-')
	}
	if unit == Nanoseconds {
		return appendTime(dst, float64(n))
	}
	return strconv.AppendUint(dst, n, 10)
}

// appendValue appends a value.
func appendValue(dst []byte, v int64, unit Unit) []byte {
	if v < 0 {
		return appendAmount(dst, true, -uint64(v), unit)
	}
	return appendAmount(dst, false, uint64(v), unit)
}

// appendTime appends a time to three digits, in the unit that leaves up to three before
// the point.
func appendTime(dst []byte, nanoseconds float64) []byte {
	for _, unit := range []string{"ns", "µs", "ms"} {
		if nanoseconds < 999.5 {
			return append(strconv.AppendFloat(dst, nanoseconds, 'g', 3, 64), unit...)
		}
		nanoseconds /= 1000
	}
	if nanoseconds < 999.5 {
		return append(strconv.AppendFloat(dst, nanoseconds, 'g', 3, 64), 's')
	}
	return append(strconv.AppendFloat(dst, nanoseconds, 'f', 0, 64), 's')
}
