package main

import "tamaprobe/kernel/shell"

// topics are the texts of help TOPIC.
var topics = []shell.Topic{
	{Name: "places", Help: "where an event can be", Text: `A PLACE is one of
  main.fib            a function's entry; names with blanks go into "..."
  main.fib+12         an instruction; dis shows where they begin
  0x111ede0           an address
  workload.go:38      a line of source
  sort.*              all functions that match: * any characters, ? one, [a-z] a set
p -inline PLACE probes the function's inlined copies as well. r takes functions only;
p SYMBOL%return is the same.
`},
	{Name: "args", Help: "what an event can record", Text: `An ARG is [NAME=]FETCH[:TYPE]. In Go's own terms, by debugging information:
  n  req.Method  *p  a[2]  len(body)  pkg.global  $ret0
(vars SYMBOL lists them.) As on Linux:
  %ax                 a register
  $arg1 $retval       the first integer argument or result register
  $stack $stack0      the stack pointer, a word of the stack
  @ADDR @SYM+OFF      memory
  +8(%ax) +0(+8($arg1))   memory at a register's value plus 8, and so on
  \42 \"text"         constants
  $comm $goid $caller $dur    the goroutine's function and id, the caller, a return's duration
TYPE is u8-u64, s8-s64, x8-x64, char, string, symbol, symstr, bW@O/S, or one of these as TYPE[N].
Examples:
  p encoding/json.Unmarshal len(data) data
  p main.fib n=$arg1:s64 caller=$caller:symbol
  r main.runSort $ret0 $dur
`},
	{Name: "filters", Help: "which hits an event takes", Text: `Behind the arguments, if EXPR lets pass what it says:
  p main.fib n if n > 20 && n != 23
  r main.handle status err $dur if dur > 100us || err ~ "*no such*"
There are == != < <= > >= &, ~ for patterns of text, && || ! and parentheses; of arguments by
name, of what could be one, and of common_pid (the goroutine's id), common_cpu, comm, dur.
An event that is there gets another condition, or with 0 none, as on Linux:
  echo 'n > 25' > events/kprobes/EVENT/filter
`},
	{Name: "sums", Help: "adding up in the kernel", Text: `count, hist, latency and stacks add hits up instead of recording them. They go on until
they are removed; run something with & meanwhile:
  count sort.*                       calls by function
  count main.fib n                   calls by argument
  hist runtime.mallocgc size         a histogram by powers of two
  hist -l 0,30,1 main.fib n          a linear one
  latency encoding/json.Unmarshal    how long calls take
  stacks runtime.mallocgc if size > 4096
  run json 1000 &
  view                               all of them, every second, until a key
  clear count_*                      start again
  - count_*                          remove them
`},
	{Name: "recording", Help: "where records go", Text: `Hits are recorded in a ring buffer for each processor. trace prints what is there; trace_pipe
prints and removes; tp_printk 1 does so while you type. What is lost is counted: stats.
A full buffer loses the oldest records, with overwrite 0 the new ones. tracing 0 stops all.
The console's own hits are not recorded while it prints or defines events.
`},
	{Name: "boot", Help: "events from the kernel command line", Text: `APPEND="'kprobe_event=p main.fib n;r main.fib'" make run
defines events before the first command; commas may stand for blanks. save prints the option.
tp_printk prints hits from the start.
`},
	{Name: "files", Help: "traces for Perfetto and pprof", Text: `  make run | tee capture      on the host, then
  dump                        here
  go run ./cmd/tamadump capture
writes trace.json, for https://ui.perfetto.dev, and profile.pb.gz, for go tool pprof.
`},
}

// topicText returns a topic's text.
func topicText(name string) string {
	for _, t := range topics {
		if t.Name == name {
			return t.Text
		}
	}
	return ""
}
