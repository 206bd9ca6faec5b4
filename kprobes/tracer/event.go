package tracer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"tamaprobe/arch/amd64"
	"tamaprobe/kprobes"
	"tamaprobe/kprobes/event"
	"tamaprobe/kprobes/govars"
	"tamaprobe/symtab"
)

// An Event is a definition with its probes. Its methods are goroutine context.
type Event struct {
	// Definition is what was defined, with the names that were made for it.
	Definition *event.Definition
	// Notes are what whoever defined it should know, a line each.
	Notes []string

	tracer      *Tracer
	points      []*point
	aggregation aggregation // nil: hits are recorded
	command     string      // of an aggregation: its verb, with options
	made        bool        // the name was made, and may be changed
	mirror      *kprobes.Jprobe
	newMirror   func(record func(a, b uint64)) any
	disabled    bool // guarded by Tracer.mu
}

// A point is one place of an event.
type point struct {
	event   *Event
	id      uint32 // in records
	addr    uintptr
	program *event.Program
	fields  []event.Field
	tallies []tally

	atEntry     bool
	wantsCaller bool
	floats      bool // what is fetched may be in SSE registers

	kprobe    *kprobes.Kprobe
	kretprobe *kprobes.Kretprobe
}

// maxActive is how many calls return probes follow at the same time if the definition does not
// say: goroutines are many.
const maxActive = 256

// entryRoom is how many bytes of strings and slices a return event keeps from the entry.
const entryRoom = 256

// maxPoints bounds the functions that a pattern may match.
const maxPoints = 10_000

func (e *Event) isReturn() bool { return e.Definition.Kind == event.KindReturn }

// Name returns the event's group and name.
func (e *Event) Name() string { return e.Definition.Group + "/" + e.Definition.Event }

// Define executes a line of the event language: it places an event's probes, and returns the event;
// for a removal it returns none. A line that is refused changes nothing; the error is an
// *event.Error if a part of the line is to blame.
func (t *Tracer) Define(line string) (*Event, error) {
	d, err := event.Parse(line, &target{Tracer: t})
	switch {
	case err != nil:
		return nil, t.logged(err)
	case d == nil:
		return nil, nil // a comment
	case d.Kind == event.KindRemove:
		_, err := t.Remove(d.Group, d.Event)
		return nil, t.logged(at(d, 1, err))
	}
	e := &Event{Definition: d, tracer: t, made: d.Event == ""}
	return e, t.logged(t.add(e))
}

// DefineMirror places a jprobe: the mirror function, which new makes, is called with the arguments
// of the function that the definition names, and passes two of them to record, which the definition has as %ax
// and %bx. A definition that is refused changes nothing.
func (t *Tracer) DefineMirror(line string, new func(record func(a, b uint64)) any) (*Event, error) {
	d, err := event.Parse(line, &target{Tracer: t})
	if err != nil {
		return nil, err
	}
	e := &Event{Definition: d, tracer: t, made: d.Event == "", newMirror: new}
	return e, t.add(e)
}

// at makes an error one about a column of a definition, if it is none already.
func at(d *event.Definition, column int, err error) error {
	var own *event.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	errno := syscall.EINVAL
	errors.As(err, &errno)
	return &event.Error{Line: d.Line, Column: column, Message: err.Error(), Errno: errno}
}

// add places an event's probes.
func (t *Tracer) add(e *Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := e.Definition
	if err := t.name(e); err != nil {
		return err
	}
	if err := t.install(e, 0); err != nil {
		return at(d, d.Place.Column, err)
	}
	t.events = append(t.events, e)
	return nil
}

// install finds an event's places and registers its probes, with flags. mu is held.
func (t *Tracer) install(e *Event, flags kprobes.Flags) error {
	if err := e.place(); err != nil {
		return err
	}
	for _, p := range e.points {
		t.next++
		p.id = t.next
		t.points[p.id] = p
		p.kprobe.Flags |= flags
	}
	return e.register()
}

// name gives an event a name that no other one has. mu is held.
func (t *Tracer) name(e *Event) error {
	d := e.Definition
	name := d.EventName()
	taken := func(name string) bool {
		return slices.ContainsFunc(t.events, func(e *Event) bool {
			return e.Definition.Group == d.Group && e.Definition.Event == name
		})
	}
	if !e.made && taken(name) {
		return &event.Error{Line: d.Line, Column: 1, Errno: syscall.EEXIST,
			Message: fmt.Sprintf("Event %s/%s exists already: -:%s/%s removes it", d.Group, name, d.Group, name)}
	}
	free := name
	for i := 1; taken(free); i++ {
		suffix := fmt.Sprintf("_%d", i)
		free = name[:min(len(name), 63-len(suffix))] + suffix
	}
	d.Event = free
	return nil
}

// place finds the event's places and compiles what is fetched there.
func (e *Event) place() error {
	d, t := e.Definition, e.tracer
	switch place := &d.Place; {
	case place.Glob:
		return e.placeGlob(place.Symbol)
	case place.File != "":
		if t.image == nil {
			return t.noVars
		}
		pcs, err := t.image.Lines(place.File, place.Line)
		if err != nil {
			return err
		}
		for _, pc := range pcs {
			if err := e.point(d, uintptr(pc), nil); err != nil {
				return err
			}
		}
		if len(pcs) > 1 {
			e.note("%s:%d is code at %d places: all are probed", place.File, place.Line, len(pcs))
		}
		return nil
	case place.Symbol == "":
		if _, ok := symtab.Find(uintptr(place.Addr)); !ok {
			return refuse(syscall.EINVAL, "%#x cannot be probed: the address is not in the text", place.Addr)
		}
		return e.point(d, uintptr(place.Addr), nil)
	}
	fns := symtab.Lookup(d.Place.Symbol)
	if len(fns) == 0 {
		return e.placeOnlyInlined(d.Place.Symbol)
	}
	if len(fns) > 1 {
		return fmt.Errorf("%s is the name of %d functions: name one by its address: %s", d.Place.Symbol, len(fns), entries(fns))
	}
	if err := e.point(d, fns[0].Entry()+uintptr(d.Place.Offset), nil); err != nil {
		return err
	}
	if d.Place.Offset == 0 {
		return e.placeInlined(d.Place.Symbol)
	}
	return nil
}

func entries(fns []symtab.Func) string {
	var list []string
	for _, fn := range fns {
		list = append(list, fmt.Sprintf("%#x", fn.Entry()))
	}
	return strings.Join(list, ", ")
}

// placeGlob finds the functions that match a pattern.
func (e *Event) placeGlob(pattern string) error {
	for fn := range symtab.All() {
		if !event.MatchName(pattern, fn.Name()) || fn.IsWrapper() {
			continue
		}
		if len(e.points) == maxPoints {
			return fmt.Errorf("the pattern matches more than %d functions", maxPoints)
		}
		d := *e.Definition
		d.Place = event.Place{Symbol: fn.Name(), Column: e.Definition.Place.Column}
		if err := e.point(&d, fn.Entry(), nil); err != nil {
			return err
		}
	}
	if len(e.points) == 0 {
		return fmt.Errorf("no function matches %s: funcs PATTERN lists those that do", pattern)
	}
	return nil
}

// placeInlined notes a function's inlined copies, and finds their places if the definition asks for
// that.
func (e *Event) placeInlined(name string) error {
	d, t := e.Definition, e.tracer
	if t.image == nil {
		if d.Inlined {
			return t.noVars
		}
		return nil
	}
	copies, err := t.image.InlinedCopies(name)
	switch {
	case err != nil:
		return err
	case len(copies) == 0:
		if d.Inlined {
			e.note("%s is inlined nowhere", name)
		}
		return nil
	case e.isReturn():
		if d.Inlined {
			return errors.New("an inlined copy does not return: without -inline only calls of the function are probed")
		}
		e.note("%s is inlined at %s, whose returns are not seen", name, places(len(copies)))
		return nil
	case !d.Inlined:
		e.note("%s is inlined at %s that this does not probe: p -inline %s probes them as well", name, places(len(copies)), name)
		return nil
	}
	e.note("%s is inlined at %s, which are probed as well", name, places(len(copies)))
	e.placeCopies(copies)
	return nil
}

// placeCopies finds the places of inlined copies, as far as what is fetched is there.
func (e *Event) placeCopies(copies []govars.Copy) {
	for i := range copies {
		if err := e.point(e.Definition, uintptr(copies[i].PC), &copies[i]); err != nil {
			e.note("not probed: the copy in %s (%s:%d): %s", copies[i].Caller, copies[i].File, copies[i].Line, reason(err))
		}
	}
}

// placeOnlyInlined finds the places of a function of which nothing is left but inlined copies.
func (e *Event) placeOnlyInlined(name string) error {
	d := e.Definition
	copies, err := e.tracer.image.InlinedCopies(name)
	switch {
	case err != nil:
		return err
	case e.isReturn():
		return fmt.Errorf("%s is inlined wherever it is called, at %s: such copies do not return; probe what calls it", name, places(len(copies)))
	case d.Place.Offset != 0:
		return fmt.Errorf("%s is inlined wherever it is called, at %s: it has no code of its own, so no offsets", name, places(len(copies)))
	case !d.Inlined:
		return fmt.Errorf("%s is inlined wherever it is called, at %s: -inline %s probes those", name, places(len(copies)), name)
	}
	e.placeCopies(copies)
	if len(e.points) == 0 {
		return fmt.Errorf("of %d inlined copies none has what is asked for; %s", len(copies), e.Notes[0])
	}
	return nil
}

func places(n int) string {
	if n == 1 {
		return "1 place"
	}
	return fmt.Sprintf("%d places", n)
}

func (e *Event) note(format string, args ...any) {
	e.Notes = append(e.Notes, fmt.Sprintf(format, args...))
}

// point adds a place.
func (e *Event) point(d *event.Definition, addr uintptr, inlined *govars.Copy) error {
	t := &target{Tracer: e.tracer, pc: uint64(addr), ret: e.isReturn(), copy: inlined}
	program, err := event.Compile(d, t)
	if err != nil {
		return err
	}
	p := &point{event: e, addr: addr, program: program, fields: program.Fields(), floats: t.floats,
		tallies: make([]tally, amd64.CPULimit())}
	fn, ok := symtab.Find(addr)
	p.atEntry = ok && fn.Entry() == addr && inlined == nil
	for i := range d.Args {
		for f := &d.Args[i].Fetch; f != nil; f = f.Of {
			p.wantsCaller = p.wantsCaller || f.Op == event.FetchCaller
		}
	}
	if !e.isReturn() {
		p.kprobe = &kprobes.Kprobe{Addr: addr, PreHandler: p.hit}
	} else {
		p.kretprobe = &kprobes.Kretprobe{Kprobe: kprobes.Kprobe{Addr: addr}, Handler: p.returned, MaxActive: d.MaxActive}
		if d.MaxActive == 0 {
			p.kretprobe.MaxActive = maxActive
		}
		if e.measures() || program.HasEntry() {
			p.kretprobe.EntryHandler, p.kretprobe.DataSize = p.entered, timeSize
		}
		if program.HasEntry() {
			p.kretprobe.DataSize += lengthSize + program.Size() + entryRoom
		}
		p.kprobe = &p.kretprobe.Kprobe
	}
	if e.aggregation != nil {
		if err := e.check(p); err != nil {
			return err
		}
	}
	e.points = append(e.points, p)
	return nil
}

// measures reports whether the event needs the time that calls take.
func (e *Event) measures() bool {
	if e.aggregation != nil {
		return e.aggregation.measures()
	}
	return true // trace lines and dumps show it
}

// register registers the event's probes: of a pattern or with inlined copies those that can be.
func (e *Event) register() error {
	all := e.points
	e.points = nil
	refused := 0
	var first error
	for i, err := range e.registerEach(all) {
		if err == nil {
			e.points = append(e.points, all[i])
			continue
		}
		delete(e.tracer.points, all[i].id) // it was never hit
		err = all[i].named(err)
		if refused++; refused == 1 {
			first = err
		}
		if refused <= 3 {
			e.note("%v", err)
		}
	}
	switch {
	case len(e.points) == 0 && refused == 1:
		return first
	case len(e.points) == 0:
		return fmt.Errorf("none of %d places can be probed: %s", refused, strings.Join(e.Notes, "; "))
	case refused > 3:
		e.note("nor can %d more be probed", refused-3)
	}
	return nil
}

// registerEach registers the probes of those points that can be probed, and returns an error for each of
// the others.
func (e *Event) registerEach(points []*point) []error {
	switch {
	case e.newMirror != nil:
		p := points[0]
		j, err := kprobes.RegisterJprobe(e.Definition.Place.Symbol, e.newMirror(p.mirrored))
		if err == nil {
			e.mirror, p.kprobe = j, &j.Kprobe
		}
		return []error{err}
	case e.isReturn():
		rps := make([]*kprobes.Kretprobe, len(points))
		for i, p := range points {
			rps[i] = p.kretprobe
		}
		return kprobes.RegisterEachKretprobe(rps)
	}
	return kprobes.RegisterEach(e.kprobes(points))
}

func (e *Event) kprobes(points []*point) []*kprobes.Kprobe {
	ps := make([]*kprobes.Kprobe, len(points))
	for i, p := range points {
		ps[i] = p.kprobe
	}
	return ps
}

// unregister takes the event's probes away.
func (e *Event) unregister() error {
	switch {
	case e.mirror != nil:
		return kprobes.UnregisterJprobe(e.mirror)
	case e.isReturn():
		rps := make([]*kprobes.Kretprobe, len(e.points))
		for i, p := range e.points {
			rps[i] = p.kretprobe
		}
		return kprobes.UnregisterKretprobes(rps)
	}
	return kprobes.UnregisterAll(e.kprobes(e.points))
}

// Find returns the events that a name means: NAME, GROUP/NAME, GROUP/, or a pattern of these.
func (t *Tracer) Find(name string) ([]*Event, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(name)
}

func (t *Tracer) find(name string) (found []*Event, err error) {
	group, short, both := strings.Cut(name, "/")
	if !both {
		group, short = "", name
	}
	for _, e := range t.events {
		ok := event.Glob(short, e.Definition.Event)
		inGroup := event.Glob(group, e.Definition.Group)
		if (ok || both && short == "") && (inGroup || group == "") {
			found = append(found, e)
		}
	}
	if len(found) == 0 {
		return nil, refuse(syscall.ENOENT, "%s: no such event; events lists them", name)
	}
	return found, nil
}

// Events returns all events, in the order in which they were defined.
func (t *Tracer) Events() []*Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.events)
}

// Remove removes the events of a group, "" for any, with a name, "" for all. What they recorded
// stays in the buffer.
func (t *Tracer) Remove(group, name string) ([]*Event, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var gone []*Event
	for _, e := range t.events {
		if (group == "" || e.Definition.Group == group) && (name == "" || e.Definition.Event == name) {
			gone = append(gone, e)
		}
	}
	if len(gone) == 0 {
		if name == "" {
			return nil, refuse(syscall.ENOENT, "there is no event in group %s; events lists them", group)
		}
		return nil, refuse(syscall.ENOENT, "event %s doesn't exist; events lists those there are", strings.TrimPrefix(group+"/"+name, "/"))
	}
	return gone, t.remove(gone)
}

// RemoveEvents removes events.
func (t *Tracer) RemoveEvents(es []*Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remove(es)
}

func (t *Tracer) remove(es []*Event) error {
	var errs []error
	for _, e := range es {
		errs = append(errs, e.unregister())
		t.events = slices.DeleteFunc(t.events, func(other *Event) bool { return other == e })
	}
	return errors.Join(errs...)
}

// SetDisabled disables an event, or enables it again.
func (e *Event) SetDisabled(disabled bool) error {
	e.tracer.mu.Lock()
	defer e.tracer.mu.Unlock()
	return e.setDisabled(disabled)
}

// setDisabled is SetDisabled; Tracer.mu is held.
func (e *Event) setDisabled(disabled bool) error {
	change := kprobes.Enable
	if disabled {
		change = kprobes.Disable
	}
	var errs []error
	for _, p := range e.points {
		errs = append(errs, change(p.kprobe))
	}
	e.disabled = disabled
	return errors.Join(errs...)
}

// Kprobes returns the event's probes.
func (e *Event) Kprobes() []*kprobes.Kprobe { return e.kprobes(e.points) }
