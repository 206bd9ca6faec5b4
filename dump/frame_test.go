package dump

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/term"
)

// frame returns a file in the framed form.
func frame(t testing.TB, name string, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	w := NewFrameWriter(&b, name)
	// In pieces, as a writer of JSON writes.
	for piece := range slices.Chunk(data, 1000) {
		if _, err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// read returns what a reader finds in a capture.
func read(t testing.TB, capture io.Reader) (files []*File, damages []string) {
	t.Helper()
	r := NewFrameReader(capture)
	for {
		f, err := r.Next()
		var damage *DamageError
		switch {
		case err == io.EOF:
			return files, damages
		case errors.As(err, &damage):
			damages = append(damages, err.Error())
		case err != nil:
			t.Fatal(err)
		default:
			files = append(files, f)
		}
	}
}

// noise returns bytes that do not compress.
func noise(n int) []byte {
	random := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	random.Read(b)
	return b
}

func TestFrameRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 10, pieceSize - 5, pieceSize, 1000, 100_000} {
		for _, data := range [][]byte{noise(n), bytes.Repeat([]byte("a"), n)} {
			text := frame(t, "trace.json", data)
			for line := range strings.Lines(text) {
				if len(line) > 81 {
					t.Errorf("%d bytes: a line of %d characters", n, len(line)-1)
				}
			}
			files, damages := read(t, strings.NewReader(text))
			if len(damages) != 0 || len(files) != 1 || files[0].Name != "trace.json" || !bytes.Equal(files[0].Data, data) {
				t.Errorf("%d bytes: %d files, %v", n, len(files), damages)
			}
		}
	}
	if text := frame(t, "trace.json", bytes.Repeat([]byte("a"), 100_000)); len(text) > 1000 {
		t.Errorf("100000 equal bytes take %d", len(text))
	}
}

// A longest name still fits a terminal.
func TestFrameLongName(t *testing.T) {
	name := strings.Repeat("n", maxName)
	text := frame(t, name, noise(10))
	for line := range strings.Lines(text) {
		if len(line) > 81 {
			t.Errorf("a line of %d characters: %s", len(line)-1, line)
		}
	}
	if files, _ := read(t, strings.NewReader(text)); len(files) != 1 || files[0].Name != name {
		t.Errorf("%+v", files)
	}
}

// A serialLine is what a terminal is on: somebody has typed a few letters, and then waits.
type serialLine struct {
	typed  io.Reader
	idle   chan bool // closed when all that was typed is read
	hangup chan bool
	output bytes.Buffer // guarded by the terminal's lock
	writes int
}

func (s *serialLine) Read(b []byte) (int, error) {
	n, err := s.typed.Read(b)
	if err == io.EOF {
		close(s.idle)
		<-s.hangup
	}
	return n, err
}

func (s *serialLine) Write(b []byte) (int, error) {
	s.writes++
	return s.output.Write(b)
}

// A file gets through a console that redraws its prompt around each write, while others print.
func TestFrameOnConsole(t *testing.T) {
	data := noise(50_000)
	line := &serialLine{typed: strings.NewReader("help dump"), idle: make(chan bool), hangup: make(chan bool)}
	console := term.NewTerminal(line, "> ")
	ended := make(chan bool)
	go func() {
		console.ReadLine()
		close(ended)
	}()
	<-line.idle

	before := line.writes
	var others sync.WaitGroup
	stop := make(chan bool)
	others.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				fmt.Fprintf(console, "p1: [001] goroutine %d 4.610573: main.fib+0x0\n", i)
			}
		}
	})
	w := NewFrameWriter(console, "trace.json")
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	close(stop)
	others.Wait()
	close(line.hangup)
	<-ended

	if line.writes == before || !bytes.Contains(line.output.Bytes(), []byte("> help dump")) {
		t.Fatal("the console shows no prompt")
	}
	files, damages := read(t, &line.output)
	if len(damages) != 0 || len(files) != 1 || !bytes.Equal(files[0].Data, data) {
		t.Errorf("%d files, %v", len(files), damages)
	}
}

// A file is written in some larger pieces, of whole lines.
func TestFrameWrites(t *testing.T) {
	var sizes []int
	w := NewFrameWriter(writerFunc(func(b []byte) (int, error) {
		if !bytes.HasPrefix(b, []byte("#t")) || !bytes.HasSuffix(b, []byte("\n")) {
			t.Errorf("a write of %.20q...%q", b, b[max(0, len(b)-20):])
		}
		sizes = append(sizes, len(b))
		return len(b), nil
	}), "trace.json")
	for range 1000 {
		if _, err := w.Write(noise(100)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(noise(53)[50:]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Write(noise(100_000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, size := range sizes[:len(sizes)-1] {
		if size < writeSize || size > writeSize+100 {
			t.Errorf("a write of %d bytes", size)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// edit returns the capture with one line, counted from 1, replaced by others.
func edit(capture string, n int, by ...string) string {
	lines := strings.SplitAfter(capture, "\n")
	return strings.Join(slices.Replace(lines, n-1, n, by...), "")
}

func TestFrameCaptures(t *testing.T) {
	data := noise(400)
	one := frame(t, "a.json", data) // BEGIN, 10 lines, END
	lines := strings.SplitAfter(one, "\n")
	if len(lines) != 13 {
		t.Fatalf("%d lines", len(lines))
	}
	two := one + frame(t, "b.pb.gz", data)
	unknown := "NEW thing=1"
	tests := []struct {
		name    string
		capture string
		want    []string // names of files, and errors
	}{
		{"nothing", "", nil},
		{"no frame", "Tamaprobe\n> help\n#\n#td\n#td \n#tamadump\n#tamadump \n#tamadump is the host command\n#td 1 abcd 00000000\n", nil},
		{"CRLF", strings.ReplaceAll(one, "\n", "\r\n"), []string{"a.json"}},
		{"CR CR LF", strings.ReplaceAll(one, "\n", "\r\r\n"), []string{"a.json"}},
		{"no newline at the end", strings.TrimSuffix(one, "\n"), []string{"a.json"}},
		{"lines between", strings.ReplaceAll(one, "\n", "\np1: [001] goroutine 1 4.610573: main.f+0x0 AX=0x0\n\n"), []string{"a.json"}},
		{"a prompt before, an escape sequence behind", "> " + strings.ReplaceAll(one, "\n", "\x1b[K\r\n\x1b[2D> dump\x1b[6D"), []string{"a.json"}},
		{"behind other text", strings.ReplaceAll("\n"+one, "\n", "\nxyz"), []string{"a.json"}},
		{"behind a very long line", strings.Repeat("#td x", 10_000) + one, []string{"a.json"}},
		{"bytes that are no text", "\xff\x00\xfe" + strings.ReplaceAll(one, "\n", "\n\x00\xff\n"), []string{"a.json"}},
		{"two", "x\n" + two + "y\n", []string{"a.json", "b.pb.gz"}},
		{"one twice", one + one, []string{"a.json", "a.json"}},

		{"ends inside", strings.Join(lines[:8], ""), []string{"line 8: a.json: the capture ends inside of the file, at its line 7"}},
		{"ends inside of a line", strings.Join(lines[:8], "") + lines[8][:30], []string{"line 9: a.json: its line 8 is damaged (its CRC is wrong)"}},
		{"ends inside of the last", one[:len(one)-3], []string{"line 12: a.json: the line that begins or ends the file is damaged (its CRC is wrong)"}},
		{"a line is missing", edit(one, 5), []string{"line 5: a.json: its line 4 is missing, here is line 5"}},
		{"the last line is missing", edit(one, 11), []string{"line 11: a.json: it has 10 lines, but 9 are here"}},
		{"a line is there twice", edit(one, 5, lines[4], lines[4]), []string{"line 6: a.json: its line 5 is missing, here is line 4"}},
		{"a line has other text in it", edit(one, 5, lines[4][:20]+"panic!"+lines[4][20:]), []string{"line 5: a.json: its line 4 is damaged (its CRC is wrong)"}},
		{"the beginning is missing", edit(one, 1), []string{"line 1: a file: the line that begins the file is missing"}},
		{"only the end is there", lines[11], []string{"line 1: a file: the line that begins the file is missing"}},
		{"the end is missing, another follows", edit(two, 12), []string{"line 12: a.json: another file begins before its end, behind its line 10", "b.pb.gz"}},
		{"damage, another follows", edit(two, 5), []string{"line 5: a.json: its line 4 is missing, here is line 5", "b.pb.gz"}},
		{"damage, the same again", edit(one, 5) + one, []string{"line 5: a.json: its line 4 is missing, here is line 5", "a.json"}},
		{"end and beginning missing", edit(edit(two, 12), 12), []string{"line 12: a.json: its line 11 is missing, here is line 1"}},

		{"an unknown line", edit(one, 5, marked(unknown)), []string{`line 5: a.json: "NEW thing=1" is not known; the kernel that wrote it is not this tamadump's`}},
		{"wrong size", edit(one, 12, marked("END lines=10 size=399 crc32=0")), []string{"line 12: a.json: it does not have the 399 bytes that it should have"}},
		{"huge size", edit(one, 12, marked("END lines=10 size=99999999999 crc32=0")), []string{"line 12: a.json: it is said to have 99999999999 bytes, more than the 1073741824 that are accepted"}},
		{"negative size", edit(one, 12, marked("END lines=10 size=-1 crc32=0")), []string{"line 12: a.json: it does not have the -1 bytes that it should have"}},
		{"wrong CRC of all", edit(one, 12, marked("END lines=10 size=400 crc32=0")), []string{"line 12: a.json: the CRC of the whole file is wrong"}},
		{"not compressed", marked("BEGIN name=a") + piece("1 /////w==") + marked("END lines=1 size=4 crc32=0"), []string{"line 3: a: it cannot be decompressed: flate: corrupt input before offset 1"}},
		{"not base64", marked("BEGIN name=a") + piece("1 ****"), []string{"line 2: a: its line 1 is not base64: illegal base64 data at input byte 0"}},
		{"no number", marked("BEGIN name=a") + piece("one AAAA"), []string{"line 2: a: its line 1 is damaged (its CRC is wrong)"}},
	}
	for _, name := range []string{"../a", "/etc/passwd", "a/b", `a\b`, "..", ".profile", "-rf", "C:a", strings.Repeat("x", maxName+1), "é"} {
		tests = append(tests, struct {
			name    string
			capture string
			want    []string
		}{"name " + name, edit(one, 1, marked("BEGIN name="+name)), []string{fmt.Sprintf("line 1: a file: %v", checkName(name))}})
	}
	for _, test := range tests {
		// Errors come before files that follow them: no test has a file before an error.
		files, got := read(t, strings.NewReader(test.capture))
		for _, f := range files {
			got = append(got, f.Name)
			if !bytes.Equal(f.Data, data) {
				t.Errorf("%s: %s is another", test.name, f.Name)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n\t%s\nwant\n\t%s", test.name, strings.Join(got, "\n\t"), strings.Join(test.want, "\n\t"))
		}
	}
}

// marked and piece return lines with a CRC that is right.
func marked(text string) string {
	return fmt.Sprintf("%s%s %08x\n", markFile, text, lineCRC([]byte(text)))
}
func piece(text string) string {
	return fmt.Sprintf("%s%s %08x\n", markPiece, text, lineCRC([]byte(text)))
}

// Every bit flip, every byte that is lost, and every byte too many is reported, or the file is
// what it was.
func TestFrameDamage(t *testing.T) {
	data := []byte("some text, some text, and some more text; " + string(noise(60)))
	capture := []byte("> dump\r\n" + strings.ReplaceAll(frame(t, "a.json", data), "\n", "\r\n") + "> ")
	check := func(what string, i int, damaged []byte) {
		t.Helper()
		files, damages := read(t, bytes.NewReader(damaged))
		for _, f := range files {
			if f.Name != "a.json" || !bytes.Equal(f.Data, data) {
				t.Fatalf("%s at %d: %s is wrong, and nothing says so (%v)", what, i, f.Name, damages)
			}
		}
		if len(files) == 0 && len(damages) == 0 {
			t.Fatalf("%s at %d: the file is lost, and nothing says so:\n%s", what, i, damaged)
		}
	}
	for i := range capture {
		for bit := range 8 {
			damaged := bytes.Clone(capture)
			damaged[i] ^= 1 << bit
			check("bit flip", i, damaged)
		}
		check("lost byte", i, slices.Delete(bytes.Clone(capture), i, i+1))
		for _, c := range []byte("\x00\n\r 0a=\xff") {
			check("byte too many", i, slices.Insert(bytes.Clone(capture), i, c))
		}
	}
}

func TestFrameWriterErrors(t *testing.T) {
	var b bytes.Buffer
	w := NewFrameWriter(&b, "../a")
	if _, err := w.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), "no path") {
		t.Errorf("a name with a path: %v", err)
	}
	if err := w.Close(); err == nil || b.Len() != 0 {
		t.Errorf("closed: %v, %d bytes written", err, b.Len())
	}

	w = NewFrameWriter(&b, "a")
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	n := b.Len()
	if _, err := w.Write([]byte("x")); err != errClosed || b.Len() != n {
		t.Errorf("write after close: %v", err)
	}

	for _, size := range []int{10, 10_000, 200_000} {
		w = NewFrameWriter(&failing{size / 2}, "a")
		_, err := w.Write(noise(size))
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, errFull) {
			t.Errorf("%d bytes to a line that takes half: %v", size, err)
		}
	}
}

// An error of the capture is returned, as it is.
func TestFrameReadError(t *testing.T) {
	r := NewFrameReader(io.MultiReader(strings.NewReader(frame(t, "a", nil)), errReader{}))
	if f, err := r.Next(); err != nil || f.Name != "a" {
		t.Errorf("%v, %v", f, err)
	}
	if _, err := r.Next(); err != errFull {
		t.Error(err)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errFull }

// No capture does anything but files with good names, and errors.
func FuzzFrameReader(f *testing.F) {
	capture := frame(f, "a.json", noise(100))
	f.Add([]byte(capture))
	f.Add([]byte(strings.ReplaceAll(capture, "\n", "\x1b[K\r\n> ")))
	f.Add([]byte(edit(capture, 2)))
	f.Add([]byte(marked("BEGIN name=../x") + marked("END lines=0 size=0 crc32=0")))
	f.Add([]byte(marked("BEGIN name=x") + marked("BEGIN name=x") + piece("1 AAAA")))
	f.Fuzz(func(t *testing.T, capture []byte) {
		files, damages := read(t, bytes.NewReader(capture))
		for _, file := range files {
			if err := checkName(file.Name); err != nil {
				t.Error(err)
			}
		}
		if n := bytes.Count(capture, []byte("\n")) + 1; len(files)+len(damages) > 2*n {
			t.Errorf("%d files and %d errors in %d lines", len(files), len(damages), n)
		}
	})
}
