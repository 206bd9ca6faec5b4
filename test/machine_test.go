// Package test has the tests that look at the machine from outside: they boot
// images in QEMU and talk to them through the serial port.
package test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for something that should happen at once. The
// host may be busy.
const patience = time.Minute

// image builds the test image once.
var image = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tamaprobe")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "image")
	out, err := exec.Command("../scripts/metal.sh", "build", "-o", name, "./image").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return name, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if name, err := image(); err == nil {
		os.RemoveAll(filepath.Dir(name))
	}
	os.Exit(code)
}

// boot runs the test image and returns what it printed and its exit code.
func boot(t *testing.T, env []string, args ...string) (output string, code int) {
	t.Helper()
	name, err := image()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "../scripts/qemu.sh", append([]string{name}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, out)
	}
	return plain(out), cmd.ProcessState.ExitCode()
}

var escapes = regexp.MustCompile(`\x1b(?:\[[?0-9;]*[A-Za-z]|[78])`)

// plain removes what is meant for a terminal.
func plain(b []byte) string {
	return escapes.ReplaceAllString(strings.ReplaceAll(string(b), "\r", ""), "")
}

// A session is a conversation with the console of a running machine.
type session struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	done chan error

	mu  sync.Mutex
	out bytes.Buffer
}

// start starts a command, whose standard input and output are the serial port.
func start(t *testing.T, env []string, name string, args ...string) *session {
	t.Helper()
	s := &session{t: t, cmd: exec.CommandContext(t.Context(), name, args...), done: make(chan error, 1)}
	s.cmd.Env = append(os.Environ(), env...)
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	s.cmd.WaitDelay = 5 * time.Second
	s.cmd.Stdout, s.cmd.Stderr = s, s
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.cmd.Wait() }()
	return s
}

// Write collects output.
func (s *session) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

// take returns the output so far if it matches, and forgets it up to the end of the
// match.
func (s *session) take(re *regexp.Regexp) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := plain(s.out.Bytes())
	m := re.FindStringIndex(text)
	if m == nil {
		return text, false
	}
	s.out.Reset()
	s.out.WriteString(text[m[1]:])
	return text[:m[1]], true
}

// expect waits until the output matches a regular expression, and returns it up to
// the end of the match.
func (s *session) expect(pattern string) string {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	deadline := time.Now().Add(patience)
	for {
		text, ok := s.take(re)
		if ok {
			return text
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("no %q in:\n%s", pattern, tail(text))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// raw returns what has been printed and not taken, with what is meant for a terminal.
func (s *session) raw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// seen waits until the output matches, and takes none of it.
func (s *session) seen(pattern string) {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(patience); !re.MatchString(plain([]byte(s.raw()))); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("no %q in:\n%s", pattern, tail(s.raw()))
		}
	}
}

// send types text.
func (s *session) send(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, text); err != nil {
		s.t.Fatal(err)
	}
}

// do gives a command to the console, which writes plain text: without an echo. It returns what is
// printed up to the next prompt.
func (s *session) do(line string) string {
	s.t.Helper()
	s.send(line + "\r")
	out := s.expect(`\A\n(?:(?s).*\n)?> \z`)
	return strings.TrimSuffix(out[1:], "> ")
}

// wait waits for the command's end and returns its exit code.
func (s *session) wait() int {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		s.t.Fatal("does not end")
	}
	return s.cmd.ProcessState.ExitCode()
}

// qmp sends a command to QEMU's control socket.
func qmp(t *testing.T, socket, command string) {
	t.Helper()
	var conn net.Conn
	var err error
	for range 100 {
		if conn, err = net.Dial("unix", socket); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, `{"execute": "qmp_capabilities"}`+command)
	// Greeting, and an answer to each command; there may be events in between.
	r := bufio.NewReader(conn)
	for answers := 0; answers < 2; {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, `"error"`) {
			t.Fatal(line)
		}
		if strings.Contains(line, `"return"`) {
			answers++
		}
	}
}
