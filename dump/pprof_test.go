package dump

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// symbolize knows functions of 0x100 bytes each; at main.mid+0x80 main.small is inlined.
func symbolize(pc uint64) []Frame {
	names := map[uint64]string{0x1000100: "main.leaf", 0x1000200: "main.mid", 0x1000300: "main.top", 0x1000400: "other.leaf"}
	entry := pc &^ 0xff
	name := names[entry]
	if name == "" {
		return nil
	}
	frame := Frame{Func: name, File: "/src/main.go", Line: int(pc & 0xff), Entry: entry}
	if name == "main.mid" && pc&0xff >= 0x80 {
		return []Frame{{Func: "main.small", File: "/src/small.go", Line: 3}, frame}
	}
	return []Frame{frame}
}

// stackString is a sample's stack with inlined calls, innermost first.
func stackString(s *profile.Sample) string {
	var names []string
	for _, l := range s.Location {
		if len(l.Line) == 0 {
			names = append(names, fmt.Sprintf("%#x", l.Address))
		}
		for _, line := range l.Line {
			names = append(names, fmt.Sprintf("%s:%d", line.Function.Name, line.Line))
		}
	}
	return strings.Join(names, " ")
}

func TestProfile(t *testing.T) {
	samples := []Sample{
		{Stack: []uint64{0x1000100, 0x1000211, 0x1000321}, Count: 3, Nanos: 1500, Labels: map[string]string{"event": "leaf", "goroutine": "main.main"}},
		// A call that is main.top's last instruction.
		{Stack: []uint64{0x1000285, 0x1000400}, Count: 1},
		{Stack: []uint64{0x1000100}, Count: 2, Nanos: 10},
		{Stack: []uint64{0x10, 0, 1<<64 - 1}, Count: 1},
		{Count: 1},
	}
	var b bytes.Buffer
	made := NewProfile(samples, symbolize)
	if err := made.CheckValid(); err != nil {
		t.Fatal(err)
	}
	if err := made.Write(&b); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"main.leaf:0 main.mid:16 main.top:32",
		"main.small:3 main.mid:133 main.top:255",
		"main.leaf:0",
		"0x10 0xffffffffffffffff 0xfffffffffffffffe",
		"",
	}
	for i, s := range p.Sample {
		if got := stackString(s); got != want[i] {
			t.Errorf("stack %d is %q, want %q", i, got, want[i])
		}
		if !reflect.DeepEqual(s.Value, []int64{samples[i].Count, samples[i].Nanos}) {
			t.Errorf("stack %d has %v", i, s.Value)
		}
	}
	if got := p.Sample[0].Label["goroutine"]; !slices.Equal(got, []string{"main.main"}) {
		t.Errorf("label %q", got)
	}
	for _, l := range p.Location {
		if m := l.Mapping; m == nil || l.Address < m.Start || l.Address > m.Limit {
			t.Errorf("%#x is not in its mapping %+v", l.Address, m)
		}
	}
	if len(p.Function) != 4 {
		t.Errorf("%d functions", len(p.Function))
	}
}

// The first value that pprof shows is the one that there is.
func TestProfileDefault(t *testing.T) {
	for nanos, want := range map[int64]string{0: "hits", 5: "duration"} {
		p := NewProfile([]Sample{{Stack: []uint64{0x1000100}, Count: 1, Nanos: nanos}}, symbolize)
		if p.DefaultSampleType != want {
			t.Errorf("%d ns: %s", nanos, p.DefaultSampleType)
		}
	}
	if err := NewProfile(nil, symbolize).CheckValid(); err != nil {
		t.Errorf("an empty profile: %v", err)
	}
}

// go tool pprof shows names, though it has no image.
func TestProfileTool(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "profile.pb.gz")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	samples := []Sample{
		{Stack: []uint64{0x1000100, 0x1000211, 0x1000321}, Count: 3, Nanos: 1500, Labels: map[string]string{"event": "leaf"}},
		{Stack: []uint64{0x1000285, 0x1000400}, Count: 1, Nanos: 500},
	}
	if err := NewProfile(samples, symbolize).Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"-top"}, []string{"File: tamaprobe", "1500ns 75.00%", "main.leaf", "main.mid", "main.small (inline)", "2000ns   100%  main.top"}},
		{[]string{"-top", "-sample_index=hits"}, []string{"Type: hits", "main.leaf", "75.00%"}},
		{[]string{"-tags"}, []string{"event", "leaf"}},
		{[]string{"-traces", "-lines"}, []string{"/src/main.go:16"}},
	}
	for _, test := range tests {
		out, err := exec.Command(goTool, append(append([]string{"tool", "pprof"}, test.args...), file)...).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", test.args, err, out)
		}
		for _, want := range test.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%v: no %q in\n%s", test.args, want, out)
			}
		}
	}
}
