// Package budget has the cases that the bench measures, with what each may cost at most, and reads
// what the bench prints. It knows nothing of how they are measured.
package budget

// A Run is one way to start the bench.
type Run string

const (
	One   Run = "one"   // one processor, QEMU's -icount: an instruction takes a nanosecond
	Two   Run = "two"   // the same with two processors
	Plain Run = "plain" // two processors, real time
)

// Icount are QEMU's options for runs that count instructions.
const Icount = "-icount shift=0"

// Units of results.
const (
	Insn  = "insn" // guest instructions
	Times = "x"    // of an unprobed call
)

// A Case is something that is measured.
type Case struct {
	Name string
	Run  Run
	What string // in words, for the table
	Unit string

	// Max is the most that it may cost, 0 if that is not bounded. It is a multiple of what the
	// case Of costs, if that is given.
	Max float64
	Of  string

	Linux float64 // what it costs on Linux 6.1 in the same emulator; 0: there is no such thing
}

// Group is some cases under a heading.
type Group struct {
	Heading string
	Cases   []Case
}

// Groups are all cases, in the order of the table.
var Groups = []Group{
	{"By breakpoint", []Case{
		{Name: "boost", Run: One, What: "pre handler", Unit: Insn, Max: 150, Linux: 301},
		{Name: "entry", Run: One, What: "pre handler, at a function's entry", Unit: Insn, Max: 175},
		{Name: "step", Run: One, What: "pre and post handler", Unit: Insn, Max: 300, Linux: 571},
		{Name: "emulate", Run: One, What: "on a jump", Unit: Insn, Max: 150, Linux: 282},
		{Name: "boost2", Run: One, What: "two probes at one place", Unit: Insn, Max: 165, Linux: 322},
		{Name: "missed", Run: One, What: "missed, in a handler", Unit: Insn, Max: 150, Linux: 281},
		{Name: "jprobe", Run: One, What: "jprobe", Unit: Insn, Max: 200},
		{Name: "ret", Run: One, What: "return probe, entry and return", Unit: Insn, Max: 280, Linux: 525},
		{Name: "boost_100", Run: One, What: "100 probes registered", Unit: Insn, Max: 1.05, Of: "boost"},
		{Name: "boost_1000", Run: One, What: "1,000 probes registered", Unit: Insn, Max: 1.05, Of: "boost"},
		{Name: "boost_10000", Run: One, What: "10,000 probes registered", Unit: Insn, Max: 1.05, Of: "boost", Linux: 1200},
		{Name: "boost_smp2", Run: Two, What: "another processor hits another probe", Unit: Insn, Max: 1.05, Of: "boost"},
	}},
	{"Optimized: by jump", []Case{
		{Name: "opt", Run: One, What: "pre handler", Unit: Insn, Max: 75, Linux: 100},
		{Name: "opt_entry", Run: One, What: "pre handler, at a function's entry", Unit: Insn, Max: 80},
		{Name: "opt2", Run: One, What: "two probes at one place", Unit: Insn, Max: 90, Linux: 119},
		{Name: "missed_opt", Run: One, What: "missed, in a handler", Unit: Insn, Max: 60, Linux: 70},
		{Name: "count", Run: One, What: "counting only", Unit: Insn, Max: 10},
		{Name: "ret_opt", Run: One, What: "return probe, entry and return", Unit: Insn, Max: 180, Linux: 330},
		{Name: "opt_10000", Run: One, What: "10,000 probes registered", Unit: Insn, Max: 1.05, Of: "opt"},
		{Name: "opt_smp2", Run: Two, What: "another processor hits another probe", Unit: Insn, Max: 1.05, Of: "opt"},
	}},
	{"Probe events, by jump", []Case{
		{Name: "event0", Run: One, What: "no arguments", Unit: Insn, Max: 1150},
		{Name: "event3", Run: One, What: "3 arguments in registers", Unit: Insn, Max: 1900},
		{Name: "event8", Run: One, What: "8 arguments in registers", Unit: Insn, Max: 2950},
		{Name: "event_memory", Run: One, What: "3 arguments in memory", Unit: Insn, Max: 3050},
		{Name: "event_go", Run: One, What: "3 Go variables, one a string", Unit: Insn, Max: 2500},
		{Name: "event_filtered", Run: One, What: "that a filter drops", Unit: Insn, Max: 1250},
		{Name: "event_ret", Run: One, What: "return event with the result, entry and return", Unit: Insn, Max: 2050},
		{Name: "event_count", Run: One, What: "`count`", Unit: Insn, Max: 1050},
		{Name: "event_count_key", Run: One, What: "`count`, by an argument", Unit: Insn, Max: 1600},
		{Name: "event_hist", Run: One, What: "`hist`", Unit: Insn, Max: 1550},
		{Name: "event_latency", Run: One, What: "`latency`, entry and return", Unit: Insn, Max: 1700},
		{Name: "event_stacks", Run: One, What: "`stacks`, of 9 frames", Unit: Insn, Max: 9300},
	}},
	{"Probe events, by breakpoint", []Case{
		{Name: "event0_int3", Run: One, What: "no arguments", Unit: Insn, Max: 1280},
		{Name: "event3_int3", Run: One, What: "3 arguments in registers", Unit: Insn, Max: 1970},
		{Name: "event8_int3", Run: One, What: "8 arguments in registers", Unit: Insn, Max: 3000},
	}},
	{"Registration, per probe", []Case{
		{Name: "register_1", Run: One, What: "register one", Unit: Insn, Max: 50_000},
		{Name: "unregister_1", Run: One, What: "unregister one", Unit: Insn, Max: 50_000},
		{Name: "register_1000", Run: One, What: "register a batch of 1,000", Unit: Insn, Max: 50_000, Linux: 5_000_000},
		{Name: "optimize_1000", Run: One, What: "optimize a batch of 1,000", Unit: Insn, Max: 50_000},
		{Name: "unregister_1000", Run: One, What: "unregister a batch of 1,000", Unit: Insn, Max: 50_000},
		{Name: "register_1_smp2", Run: Two, What: "register one, 2 processors", Unit: Insn, Max: 50_000},
		{Name: "register_1000_smp2", Run: Two, What: "register a batch of 1,000, 2 processors", Unit: Insn, Max: 50_000},
		{Name: "optimize_1000_smp2", Run: Two, What: "optimize a batch of 1,000, 2 processors", Unit: Insn, Max: 75_000},
	}},
	{"Time, as a multiple of an unprobed call's", []Case{
		{Name: "time_boost", Run: Plain, What: "by breakpoint", Unit: Times},
		{Name: "time_opt", Run: Plain, What: "optimized", Unit: Times},
		{Name: "time_count", Run: Plain, What: "optimized, counting only", Unit: Times},
		{Name: "time_ret_opt", Run: Plain, What: "optimized return probe", Unit: Times},
		{Name: "time_event3", Run: Plain, What: "probe event with 3 arguments, by jump", Unit: Times},
		{Name: "time_opt_smp2", Run: Plain, What: "optimized, another processor hits the same probe", Unit: Times},
	}},
}
