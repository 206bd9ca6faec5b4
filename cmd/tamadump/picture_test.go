package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamaprobe/dump"
)

// trace returns a Chrome trace of events.
func trace(t *testing.T, events []dump.Event) string {
	t.Helper()
	var b bytes.Buffer
	if err := dump.WriteChrome(&b, events); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// drawn draws a trace, and checks that the picture is XML.
func drawn(t *testing.T, data string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "a.json"), data)
	exit, _, stderr := tamadump(nil, append(append([]string{"-picture", "-o", dir}, args...), file)...)
	if exit != exitOK {
		t.Fatalf("exit %d: %s", exit, stderr)
	}
	svg, err := os.ReadFile(filepath.Join(dir, "a.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		_, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%.3000s", err, svg)
		}
	}
	if strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "Inf") {
		t.Fatalf("a number is none:\n%.3000s", svg)
	}
	return string(svg)
}

func TestPicture(t *testing.T) {
	svg := drawn(t, trace(t, []dump.Event{
		{Time: 1_000_100_000, Duration: 100_000, Goid: 7, Goroutine: "example.org/pkg.(*T).worker", Name: "handle"},
		{Time: 1_000_050_000, Duration: 25_000, Goid: 7, Name: "parse", Place: "main.parse+0x0", Args: []dump.Arg{{Name: "s", Value: "<&>"}}},
		{Time: 1_000_090_000, Goid: 9, Goroutine: "main.main", Name: "tick"},
		{Time: 1_000_010_000, CPU: 1, Name: "sched"},
	}))
	for _, want := range []string{
		`width="1000"`,
		">pkg.(*T).worker<", ">goroutine 7<", ">main.main<", ">CPU 1<", ">no goroutine<",
		"100 µs, from 1.000000 s after boot on",
		">0<", ">20 µs<", ">100 µs<", // the axis
		">handle  100 µs<", ">parse  25 µs<", ">tick<", ">sched<", // entries
		`<rect x="180.0" y="62" width="804.0" height="18"`, // handle, all of the width
		`<rect x="381.0" y="82" width="201.0" height="18"`, // parse, a quarter, one row lower
		"s = &lt;&amp;&gt;", "place = main.parse+0x0", "parse at 1.000025 s, 25 µs",
		">handle × 1<", ">parse × 1<",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in\n%s", want, svg)
		}
	}
	if strings.Index(svg, "CPU 1") < strings.Index(svg, "main.main") {
		t.Error("CPUs are not below goroutines")
	}
}

func TestPictureOfWindow(t *testing.T) {
	data := trace(t, []dump.Event{
		{Time: 1000_000, Duration: 900_000, Goid: 1, Name: "long"},
		{Time: 150_000, Goid: 1, Name: "early"},
		{Time: 550_000, Goid: 1, Name: "middle"},
		{Time: 900_000, Goid: 2, Name: "late"},
	})
	svg := drawn(t, data, "-from", "500us", "-for", "100us")
	for _, want := range []string{"100 µs, from 0.000500 s", "long  900 µs", ">middle<", `<rect x="180.0" y="62" width="804.0"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in\n%s", want, svg)
		}
	}
	for _, not := range []string{"early", "late", "goroutine 2"} {
		if strings.Contains(svg, not) {
			t.Errorf("%q is outside", not)
		}
	}
	if svg := drawn(t, data, "-for", "100us"); !strings.Contains(svg, "early") || strings.Contains(svg, ">middle<") {
		t.Error("the first 100 µs are others")
	}
	if svg := drawn(t, data, "-from", "800us"); !strings.Contains(svg, ">late<") || !strings.Contains(svg, "200 µs, from 0.000800 s") {
		t.Error("the last 200 µs are others")
	}
}

// However much there is in a trace, the picture stays one.
func TestPictureBounds(t *testing.T) {
	var events []dump.Event
	for i := range 30_000 {
		events = append(events, dump.Event{Time: int64(i) * 10, Duration: 5, Goid: uint64(1 + i%20), Name: fmt.Sprint("e", i%30)})
	}
	for i := range int64(50) {
		events = append(events, dump.Event{Time: 500_000 + i, Duration: 2 * (i + 1), Goid: 1, Name: "deep"})
	}
	svg := drawn(t, trace(t, events))
	if n := strings.Count(svg, "<g>"); n > 20_000 || n < 1000 {
		t.Errorf("%d entries", n)
	}
	for _, want := range []string{"8 more tracks, with fewer hits", "15 more events", "calls more than 10 deep are not drawn"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q", want)
		}
	}
}

// Traces with odd contents are drawn.
func TestPictureOdd(t *testing.T) {
	name := "\x00\x1b\xff<&\"'>]]>" + strings.Repeat("long", 100)
	for _, data := range []string{
		trace(t, []dump.Event{{Goid: 1}}),
		trace(t, []dump.Event{{Time: 5, Duration: 1, Goid: 1}}),
		trace(t, []dump.Event{{Time: 5, Duration: 9, Goid: 1, Goroutine: name, Name: name, Args: []dump.Arg{{Name: name, Value: name}}}}),
		trace(t, []dump.Event{{Time: -1 << 50, Goid: 1}, {Time: 1 << 50, CPU: -3}}),
		`{"traceEvents":[{"ph":"X","ts":1,"dur":-5},{"ph":"X","ts":1,"args":{"a":{"b":[1,null]}}},{"ph":"Q"}],"x":1}`,
	} {
		drawn(t, data)
	}
}

func TestPictureErrors(t *testing.T) {
	one := trace(t, []dump.Event{{Time: 1_500_000_000, Goid: 1, Name: "a"}})
	tests := []struct {
		data, want string
		args       []string
	}{
		{data: "", want: "a.json: not a Chrome trace: unexpected end of JSON input"},
		{data: "#tamadump BEGIN", want: "not a Chrome trace: invalid character"},
		{data: "{}", want: "no events in the trace"},
		{data: trace(t, nil), want: "no events in the trace"},
		{data: `{"traceEvents":[{"name":"a","ph":"X","ts":1e300}]}`, want: "a is at 1e+300 µs for 0 µs, which is no time since boot"},
		{data: one, args: []string{"-from", "2s"}, want: "no events in that time: the trace is from 1.500000 s to 1.500000 s after boot"},
	}
	for _, test := range tests {
		dir := t.TempDir()
		file := write(t, filepath.Join(dir, "a.json"), test.data)
		exit, _, stderr := tamadump(nil, append(append([]string{"-picture", "-o", dir}, test.args...), file)...)
		if exit != exitFailed || !strings.Contains(stderr, test.want) {
			t.Errorf("%.40q: exit %d, %q; want %q", test.data, exit, stderr, test.want)
		}
		if _, err := os.Stat(filepath.Join(dir, "a.svg")); err == nil {
			t.Errorf("%.40q: there is a picture", test.data)
		}
	}
}

func TestFormatTime(t *testing.T) {
	for us, want := range map[float64]string{
		0: "0", 0.001: "1 ns", 0.25: "250 ns", 1: "1 µs", 12.345678: "12.35 µs", 999.99999: "1000 µs", 1500: "1.5 ms", 2.5e6: "2.5 s", 86_400e6: "86400 s",
	} {
		if got := formatTime(us); got != want {
			t.Errorf("%g: %q, want %q", us, got, want)
		}
	}
}

func TestTickStep(t *testing.T) {
	for least, want := range map[float64]float64{0: 0, 0.0001: 0.001, 0.0015: 0.002, 3: 5, 7: 10, 30: 50, 120: 200} {
		if got := tickStep(least); got < want*0.999 || got > want*1.001 {
			t.Errorf("%g: %g, want %g", least, got, want)
		}
	}
}
