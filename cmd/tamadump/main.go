// Command tamadump takes what Tamaprobe dumped out of a capture of its serial console.
//
//	tamadump [-f] [-o DIR] [CAPTURE...]
//	tamadump -picture [-from TIME] [-for TIME] [-f] [-o DIR] TRACE.json...
//
// A capture is anything that holds the console's output: of `make run | tee capture`, or a
// terminal's log; without one it is the standard input. Every file in it is written to DIR.
// With -picture, a Chrome trace is drawn as an SVG timeline.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

const usage = `usage: tamadump [-f] [-o DIR] [CAPTURE...]
           writes the files that are in captures of the console, or in the
           standard input, to DIR
       tamadump -picture [-from TIME] [-for TIME] [-f] [-o DIR] TRACE.json...
           draws Chrome traces as SVG
`

// options are the command's flags.
type options struct {
	dir       string
	force     bool
	picture   bool
	from, dur time.Duration
	files     []string
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return exitUsage
	}
	s, err := newSaver(o.dir, o.force)
	if err != nil {
		fmt.Fprintf(stderr, "tamadump: %v\n", err)
		return exitFailed
	}
	defer s.Close()
	c := command{options: o, saver: s, out: stdout, err: stderr}
	switch {
	case o.picture:
		c.draw()
	case len(o.files) == 0:
		c.extract("standard input", stdin)
	default:
		c.extractFiles()
	}
	if c.failed {
		return exitFailed
	}
	return exitOK
}

// parseOptions says itself what is wrong.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("tamadump", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.dir, "o", ".", "write files to `DIR`, which is made if it is not there")
	flags.BoolVar(&o.force, "f", false, "overwrite files")
	flags.BoolVar(&o.picture, "picture", false, "draw Chrome traces")
	flags.DurationVar(&o.from, "from", 0, "draw from this `TIME` since boot on, as 4.61s")
	flags.DurationVar(&o.dur, "for", 0, "draw as much `TIME`, as 200us; 0: to the end")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.files = flags.Args()
	var err error
	switch {
	case o.picture && len(o.files) == 0:
		err = errors.New("-picture needs a trace")
	case !o.picture && (o.from != 0 || o.dur != 0):
		err = errors.New("-from and -for need -picture")
	case o.from < 0 || o.dur < 0:
		err = errors.New("-from and -for take no negative times")
	}
	if err != nil {
		fmt.Fprintf(stderr, "tamadump: %v\n%s", err, usage)
	}
	return o, err
}

// A command is one run.
type command struct {
	options
	saver    *saver
	out, err io.Writer
	failed   bool
}

// fail reports an error. The command goes on with what is left.
func (c *command) fail(format string, args ...any) {
	fmt.Fprintf(c.err, "tamadump: "+format+"\n", args...)
	c.failed = true
}
