package dump

import "github.com/google/pprof/profile"

// A Frame is a function at an address.
type Frame struct {
	Func, File string
	Line       int
	Entry      uint64 // tells functions of one name apart
}

// NewProfile makes a profile of samples. symbolize names the functions at the address of an
// instruction: one, or before it, innermost first, those that were inlined there; none if
// the address is not known. The profile needs no image to be read.
//
// A sample's values are hits and duration.
func NewProfile(samples []Sample, symbolize func(pc uint64) []Frame) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "hits", Unit: "count"},
			{Type: "duration", Unit: "nanoseconds"},
		},
		DefaultSampleType: "hits",
	}
	b := profileBuilder{
		Profile:   p,
		symbolize: symbolize,
		locations: make(map[uint64]*profile.Location),
		functions: make(map[functionKey]*profile.Function),
	}
	for _, s := range samples {
		if s.Nanos != 0 {
			p.DefaultSampleType = "duration"
		}
		b.add(s)
	}
	return p
}

// A profileBuilder adds samples to a profile.
type profileBuilder struct {
	*profile.Profile
	symbolize func(pc uint64) []Frame
	mapping   *profile.Mapping
	locations map[uint64]*profile.Location
	functions map[functionKey]*profile.Function
}

// A functionKey says which function a Frame is in.
type functionKey struct {
	name, file string
	entry      uint64
}

func (b *profileBuilder) add(s Sample) {
	sample := &profile.Sample{Value: []int64{s.Count, s.Nanos}}
	for i, pc := range s.Stack {
		// A return address may be the next line's, or the next function's. The
		// instruction that called ends in front of it.
		if i > 0 {
			pc--
		}
		sample.Location = append(sample.Location, b.location(pc))
	}
	if len(s.Labels) > 0 {
		sample.Label = make(map[string][]string, len(s.Labels))
		for name, value := range s.Labels {
			sample.Label[name] = []string{value}
		}
	}
	b.Sample = append(b.Sample, sample)
}

func (b *profileBuilder) location(pc uint64) *profile.Location {
	if l := b.locations[pc]; l != nil {
		return l
	}
	l := &profile.Location{ID: uint64(len(b.Location) + 1), Mapping: b.image(pc), Address: pc}
	for _, f := range b.symbolize(pc) {
		l.Line = append(l.Line, profile.Line{Function: b.function(f), Line: int64(f.Line)})
	}
	b.locations[pc] = l
	b.Location = append(b.Location, l)
	return l
}

func (b *profileBuilder) function(f Frame) *profile.Function {
	key := functionKey{f.Func, f.File, f.Entry}
	if fn := b.functions[key]; fn != nil {
		return fn
	}
	fn := &profile.Function{
		ID:         uint64(len(b.Function) + 1),
		Name:       f.Func,
		SystemName: f.Func,
		Filename:   f.File,
	}
	b.functions[key] = fn
	b.Function = append(b.Function, fn)
	return fn
}

// image returns the one mapping, grown to the page of pc. All of its addresses are named
// here, or pprof would look for the file.
func (b *profileBuilder) image(pc uint64) *profile.Mapping {
	const page = 4096
	start, last := pc&^(page-1), pc|(page-1)
	limit := max(last, last+1) // last, if that is the last of all
	if b.mapping == nil {
		b.mapping = &profile.Mapping{
			ID:              1,
			Start:           start,
			Limit:           limit,
			File:            "tamaprobe",
			HasFunctions:    true,
			HasFilenames:    true,
			HasLineNumbers:  true,
			HasInlineFrames: true,
		}
		b.Mapping = append(b.Mapping, b.mapping)
	}
	b.mapping.Start = min(b.mapping.Start, start)
	b.mapping.Limit = max(b.mapping.Limit, limit)
	return b.mapping
}
