// Package way names the ways in which the standard library's tests are run. The host
// program and the harness in the test binaries agree on it; it knows neither.
package way

// The ways, values of the environment variable Variable.
const (
	Bare = "bare" // no probes
	Jump = "jump" // an optimized kprobe and a kretprobe on every function of the image
	Int3 = "int3" // a breakpoint on every function of the package under test
)

// All are the ways in the order in which they are run.
var All = []string{Bare, Jump, Int3}

// Variable is the environment variable that chooses the way; Bare if it is not set.
const Variable = "TAMAPROBE_PROBES"

// What the harness prints: a line that starts with Prefix says what the probes counted, one
// that starts with Wrong what does not add up.
const (
	Prefix = "harness: "
	Wrong  = "harness: FAIL: "
)
