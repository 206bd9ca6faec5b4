package main

import (
	"encoding/binary"

	"tamaprobe/arch/amd64"
	"tamaprobe/boot/board"
	"tamaprobe/goruntime"
	"tamaprobe/kprobes"
)

// maxActive is how many calls the console's return probes follow at the same time.
const maxActive = 256

// probeReturn places a return probe.
func (c *console) probeReturn(args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	return c.place(func(e *printed) error {
		e.returns = &kprobes.Kretprobe{
			EntryHandler: e.enter,
			Handler:      e.leave,
			DataSize:     8,
			MaxActive:    maxActive,
		}
		e.Kprobe = &e.returns.Kprobe
		if err := parsePlace(args[0], e.Kprobe); err != nil {
			return err
		}
		return kprobes.RegisterKretprobe(e.returns)
	})
}

// enter is the entry handler: it notes the time. What printing itself calls is not
// followed, or printing would go on for ever.
func (e *printed) enter(ri *kprobes.KretprobeInstance, r *amd64.Regs) bool {
	if goruntime.Goid(r.G) == e.printer.goid {
		e.own.Add(1)
		return true
	}
	binary.LittleEndian.PutUint64(ri.Data, uint64(board.Nanotime()))
	return false
}

// leave is the return handler: it records the return to be printed.
func (e *printed) leave(ri *kprobes.KretprobeInstance, r *amd64.Regs) {
	now := board.Nanotime()
	e.put(int(r.CPU), record{
		event:    e.number,
		goid:     goruntime.Goid(r.G),
		time:     now,
		caller:   uintptr(r.PC),
		duration: now - int64(binary.LittleEndian.Uint64(ri.Data)),
		args:     [amd64.NumArgs]uint64{r.AX, r.BX, r.CX, r.DI, r.SI, r.R8, r.R9, r.R10, r.R11},
	})
}
