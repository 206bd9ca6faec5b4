package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tamaprobe/dump"
)

// capture returns a console's output with a file in it.
func capture(t *testing.T, name, data string) string {
	t.Helper()
	var b strings.Builder
	w := dump.NewFrameWriter(&b, name)
	if _, err := io.WriteString(w, data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return "Type help for help.\r\n> dump\r\n" + strings.ReplaceAll(b.String(), "\n", "\r\n") + "> "
}

// tamadump runs the command.
func tamadump(stdin io.Reader, args ...string) (exit int, stdout, stderr string) {
	var out, err bytes.Buffer
	exit = run(args, stdin, &out, &err)
	return exit, out.String(), err.String()
}

// write makes a file.
func write(t *testing.T, path, data string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// contents returns what is in a folder, "NAME: DATA" for each file.
func contents(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Name()+": "+string(data))
	}
	return all
}

func TestExtract(t *testing.T) {
	trace, profile := capture(t, "trace.json", "TRACE"), capture(t, "profile.pb.gz", "PROFILE")
	evil := strings.Replace(trace, "name=trace.json", "name=../../evil", 1)
	tests := []struct {
		name           string
		before         string // in trace.json
		args           []string
		stdin          string
		files          []string // captures named as arguments
		exit           int
		stdout, stderr []string // parts
		want           []string // contents of the folder
	}{
		{
			name: "standard input", stdin: trace + profile,
			stdout: []string{"trace.json: 5 bytes; open it at https://ui.perfetto.dev\n", "profile.pb.gz: 7 bytes; go tool pprof -http=: ", "profile.pb.gz\n"},
			want:   []string{"profile.pb.gz: PROFILE", "trace.json: TRACE"},
		},
		{
			name: "files", files: []string{trace, profile},
			want: []string{"profile.pb.gz: PROFILE", "trace.json: TRACE"},
		},
		{
			name: "other names", stdin: capture(t, "notes", "N"),
			stdout: []string{"notes: 1 bytes\n"},
			want:   []string{"notes: N"},
		},
		{
			name: "dumped twice", stdin: trace + profile + trace + capture(t, "trace.json", "THIRD") + profile,
			want: []string{"profile-2.pb.gz: PROFILE", "profile.pb.gz: PROFILE", "trace-2.json: TRACE", "trace-3.json: THIRD", "trace.json: TRACE"},
		},
		{
			name: "there already", before: "OLD", stdin: trace + profile, exit: exitFailed,
			stderr: []string{"trace.json is there already; -f overwrites it"},
			want:   []string{"profile.pb.gz: PROFILE", "trace.json: OLD"},
		},
		{
			name: "overwritten", before: "OLD", args: []string{"-f"}, stdin: trace,
			want: []string{"trace.json: TRACE"},
		},
		{
			name: "no frame", stdin: "Type help for help.\n> ", exit: exitFailed,
			stderr: []string{"standard input: no dumped file in it: a file begins with a line #tamadump BEGIN"},
		},
		{
			name: "nothing", exit: exitFailed,
			stderr: []string{"no dumped file in it"},
		},
		{
			name: "truncated", stdin: trace[:strings.Index(trace, "#tamadump END")], exit: exitFailed,
			stderr: []string{"standard input: line 4: trace.json: the capture ends inside of the file, at its line 1"},
		},
		{
			name: "damaged, another is not", stdin: strings.Replace(trace, "#td 1 ", "#td 1 A", 1) + profile, exit: exitFailed,
			stderr: []string{"line 4: trace.json: its line 1 is damaged"},
			want:   []string{"profile.pb.gz: PROFILE"},
		},
		{
			name: "damaged name", stdin: evil, exit: exitFailed,
			stderr: []string{"line 3: a file: the line that begins or ends the file is damaged"},
		},
		{
			name: "two captures, one without a file", files: []string{"nothing", trace}, exit: exitFailed,
			stderr: []string{"capture0: no dumped file in it"},
			want:   []string{"trace.json: TRACE"},
		},
		{
			name: "a capture that is not there", args: []string{"/nonexistent/capture"}, exit: exitFailed,
			stderr: []string{"open /nonexistent/capture: no such file or directory"},
		},
		{name: "a flag that is none", args: []string{"-x"}, exit: exitUsage, stderr: []string{"-x", "usage: tamadump"}},
		{name: "-from alone", args: []string{"-from", "1s"}, exit: exitUsage, stderr: []string{"-from and -for need -picture", "usage: tamadump"}},
		{name: "-picture of nothing", args: []string{"-picture"}, exit: exitUsage, stderr: []string{"-picture needs a trace"}},
		{name: "negative time", args: []string{"-picture", "-for", "-1s", "x"}, exit: exitUsage, stderr: []string{"no negative times"}},
		{name: "help", args: []string{"-h"}, stderr: []string{"usage: tamadump"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			captures, dir := t.TempDir(), t.TempDir()
			if test.before != "" {
				write(t, filepath.Join(dir, "trace.json"), test.before)
			}
			args := append([]string{"-o", dir}, test.args...)
			for i, data := range test.files {
				args = append(args, write(t, filepath.Join(captures, "capture"+string(rune('0'+i))), data))
			}
			exit, stdout, stderr := tamadump(strings.NewReader(test.stdin), args...)
			if exit != test.exit || (exit != exitOK) != (stderr != "") && test.name != "help" {
				t.Errorf("exit %d, want %d; stderr %q", exit, test.exit, stderr)
			}
			for _, want := range test.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("no %q in stdout %q", want, stdout)
				}
			}
			for _, want := range test.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("no %q in stderr %q", want, stderr)
				}
			}
			if got := contents(t, dir); !slices.Equal(got, test.want) {
				t.Errorf("files %q, want %q", got, test.want)
			}
		})
	}
}

// A folder that is not there is made; one that cannot be is an error.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	trace := capture(t, "trace.json", "TRACE")
	if exit, _, stderr := tamadump(strings.NewReader(trace), "-o", filepath.Join(dir, "a/b")); exit != exitOK {
		t.Errorf("exit %d: %s", exit, stderr)
	}
	if got := contents(t, filepath.Join(dir, "a/b")); !slices.Equal(got, []string{"trace.json: TRACE"}) {
		t.Errorf("%q", got)
	}
	file := write(t, filepath.Join(dir, "file"), "")
	if exit, _, stderr := tamadump(strings.NewReader(trace), "-o", file); exit != exitFailed || !strings.Contains(stderr, "not a directory") {
		t.Errorf("exit %d: %s", exit, stderr)
	}
}

// Nothing is written through a link in the folder, nor is a folder replaced.
func TestSaveInPlace(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	write(t, outside, "OUTSIDE")
	if err := os.Symlink(outside, filepath.Join(dir, "trace.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "profile.pb.gz"), 0o777); err != nil {
		t.Fatal(err)
	}
	captures := capture(t, "trace.json", "TRACE") + capture(t, "profile.pb.gz", "PROFILE")
	if exit, _, stderr := tamadump(strings.NewReader(captures), "-o", dir); exit != exitFailed || strings.Count(stderr, "there already") != 2 {
		t.Errorf("exit %d: %s", exit, stderr)
	}
	if exit, _, stderr := tamadump(strings.NewReader(captures), "-f", "-o", dir); exit != exitFailed || !strings.Contains(stderr, "profile.pb.gz") {
		t.Errorf("exit %d: %s", exit, stderr)
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "OUTSIDE" {
		t.Errorf("outside: %q, %v", data, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "trace.json")); err != nil || string(data) != "TRACE" {
		t.Errorf("inside: %q, %v", data, err)
	}
	if parts, _ := filepath.Glob(filepath.Join(dir, ".*")); len(parts) != 0 {
		t.Errorf("left behind: %v", parts)
	}
}

// What was found before the capture could not be read any more is there.
func TestReadError(t *testing.T) {
	dir := t.TempDir()
	stdin := io.MultiReader(strings.NewReader(capture(t, "trace.json", "TRACE")), broken{})
	exit, _, stderr := tamadump(stdin, "-o", dir)
	if exit != exitFailed || !strings.Contains(stderr, "standard input: unplugged") {
		t.Errorf("exit %d: %s", exit, stderr)
	}
	if got := contents(t, dir); !slices.Equal(got, []string{"trace.json: TRACE"}) {
		t.Errorf("%q", got)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("unplugged") }
