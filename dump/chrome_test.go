package dump

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// goldenEvents are a call with another one and a hit inside, on two CPUs, and a hit in the
// scheduler.
var goldenEvents = []Event{
	{Time: 5_000, CPU: 1, Name: "sched", Place: "runtime.schedule+0x0"},
	{Time: 2_001_500, CPU: 0, Goid: 7, Goroutine: "main.worker", Name: "line", Place: "main.parse+0x10", Args: []Arg{{"s", `"a b"`}, {"n", "3"}}},
	{Time: 2_002_000, Duration: 1_000, CPU: 0, Goid: 7, Goroutine: "main.worker", Name: "parse", Place: "main.parse+0x0"},
	{Time: 2_003_000, Duration: 2_000, CPU: 1, Goid: 7, Goroutine: "main.worker", Name: "handle", Place: "main.handle+0x0"},
}

const goldenTrace = `{"displayTimeUnit":"ns","traceEvents":[
{"name":"process_name","ph":"M","pid":2,"tid":0,"args":{"name":"tamaprobe, no goroutine"}}
,{"name":"thread_name","ph":"M","pid":2,"tid":2,"args":{"name":"CPU 1"}}
,{"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"tamaprobe"}}
,{"name":"thread_name","ph":"M","pid":1,"tid":7,"args":{"name":"main.worker"}}
,{"name":"sched","ph":"i","s":"t","pid":2,"tid":2,"ts":5.000,"args":{"$place":"runtime.schedule+0x0","$cpu":"1"}}
,{"name":"handle","ph":"X","pid":1,"tid":7,"ts":2001.000,"dur":2.000,"args":{"$place":"main.handle+0x0","$cpu":"1"}}
,{"name":"parse","ph":"X","pid":1,"tid":7,"ts":2001.000,"dur":1.000,"args":{"$place":"main.parse+0x0","$cpu":"0"}}
,{"name":"line","ph":"i","s":"t","pid":1,"tid":7,"ts":2001.500,"args":{"s":"\"a b\"","n":"3","$place":"main.parse+0x10","$cpu":"0"}}
]}
`

func TestChromeGolden(t *testing.T) {
	var b bytes.Buffer
	if err := WriteChrome(&b, goldenEvents); err != nil {
		t.Fatal(err)
	}
	if b.String() != goldenTrace {
		t.Errorf("got\n%s\nwant\n%s", b.String(), goldenTrace)
	}
}

// Whatever is in the strings and numbers, the trace is JSON, and holds them.
func TestChromeIsJSON(t *testing.T) {
	var every []byte
	for i := range 256 {
		every = append(every, byte(i))
	}
	hostile := []string{
		"", `"`, `\`, `"}]}`, "\x00", "\x1b[31m", "\u2028\u2029", "\xff\xfe", "\xed\xa0\x80", "\xf4\x90\x80\x80",
		"</script>", "日本\xe6", strings.Repeat("x", 100_000), string(every),
	}
	for _, s := range hostile {
		for _, n := range []int64{0, 1, -1, 999, math.MaxInt64, math.MinInt64} {
			events := []Event{
				{Time: n, Duration: n, CPU: int(n), Goid: uint64(n), Goroutine: s, Name: s, Place: s, Args: []Arg{{s, s}, {s, ""}}},
				{Name: s, Args: []Arg{{"a", s}}},
			}
			var b bytes.Buffer
			if err := WriteChrome(&b, events); err != nil {
				t.Fatalf("%.40q: %v", s, err)
			}
			var got struct {
				TraceEvents []struct {
					Name, Ph string
					Args     map[string]string
				}
			}
			if err := json.Unmarshal(b.Bytes(), &got); err != nil {
				t.Fatalf("%.40q, %d: %v in\n%.2000s", s, n, err, b.Bytes())
			}
			hits := 0
			for _, e := range got.TraceEvents {
				if e.Ph == "M" {
					continue
				}
				hits++
				if want := string([]rune(s)); e.Name != want {
					t.Errorf("name is %q, not %q", e.Name, want)
				}
			}
			if hits != len(events) {
				t.Errorf("%.40q, %d: %d hits", s, n, hits)
			}
		}
	}
}

func TestChromeTimes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0.000", 1: "0.001", 999: "0.999", 1000: "1.000", 1234567: "1234.567", -1: "-0.001", -1500: "-1.500",
		math.MaxInt64: "9223372036854775.807", math.MinInt64: "-9223372036854775.808",
	} {
		if got, err := json.Marshal(micros(n)); err != nil || string(got) != want {
			t.Errorf("%d: %s, %v; want %s", n, got, err, want)
		}
	}
}

// failing is a writer that takes some bytes only.
type failing struct{ left int }

var errFull = errors.New("the line is full")

func (w *failing) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// An error of the writer comes back, wherever it happens.
func TestChromeWriteError(t *testing.T) {
	var events []Event
	for i := range 1000 {
		events = append(events, Event{Time: int64(i), Goid: uint64(i % 10), Name: fmt.Sprint(i)})
	}
	for _, n := range []int{0, 5000, 50_000} {
		if err := WriteChrome(&failing{n}, events); !errors.Is(err, errFull) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}
