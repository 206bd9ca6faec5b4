//go:build metal

package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	_ "tamaprobe/boot/board" // the machine
)

// atStart is read while packages are initialized.
var atStart, atStartErr = os.ReadFile("inner")

func TestStart(t *testing.T) {
	if string(atStart) != "inner" || atStartErr != nil {
		t.Errorf("%q, %v", atStart, atStartErr)
	}
	if wd, err := os.Getwd(); wd != start || err != nil {
		t.Errorf("working directory %s, %v", wd, err)
	}
}

func TestReadWhole(t *testing.T) {
	for name, want := range tree() {
		if strings.HasSuffix(name, "/") {
			continue
		}
		if got, err := os.ReadFile(name); !bytes.Equal(got, want) || err != nil {
			t.Errorf("%s: %d bytes, want %d, %v", name, len(got), len(want), err)
		}
	}
}

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestReadAt(t *testing.T) {
	f, want := open(t, "/tree/large"), large()
	size := len(want)
	buf := make([]byte, 5000)
	for _, off := range []int{0, 1, 511, 512, 1 << 20, size - 5000, size - 4999, size - 1, size, size + 1} {
		n, err := f.ReadAt(buf, int64(off))
		left := max(0, size-off)
		if n != min(left, 5000) || !bytes.Equal(buf[:n], want[min(off, size):][:n]) || (err != nil) != (n < 5000) || err != nil && err != io.EOF {
			t.Errorf("at %d: %d bytes, %v", off, n, err)
		}
	}
	if _, err := syscall.Pread(int(f.Fd()), buf, -1); err != syscall.EINVAL {
		t.Errorf("at -1: %v", err)
	}
}

func TestSeek(t *testing.T) {
	f := open(t, "/tree/hello")
	for _, c := range []struct {
		offset int64
		whence int
		want   int64
		text   string
	}{
		{7, io.SeekStart, 7, "wor"},
		{-2, io.SeekCurrent, 8, "orl"},
		{-3, io.SeekEnd, 10, "ld\n"},
		{0, io.SeekCurrent, 13, ""},
		{5, io.SeekEnd, 18, ""},
		{0, io.SeekStart, 0, "hel"},
	} {
		got, err := f.Seek(c.offset, c.whence)
		if got != c.want || err != nil {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
		buf := make([]byte, 3)
		if n, _ := io.ReadFull(f, buf); string(buf[:n]) != c.text {
			t.Errorf("%+v: %q", c, buf[:n])
		}
	}
	for _, whence := range []int{io.SeekStart, 7} {
		if _, err := f.Seek(-1, whence); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("-1, %d: %v", whence, err)
		}
	}
}

func TestStat(t *testing.T) {
	for _, c := range []struct {
		name, base string
		size       int64
		mode       fs.FileMode
	}{
		{"/tree/hello", "hello", 13, 0o444},
		{"/tree/empty", "empty", 0, 0o444},
		{"/tree/block", "block", 512, 0o444},
		{"/tree", "tree", 0, 0o555 | fs.ModeDir},
		{"/tree/hollow", "hollow", 0, 0o555 | fs.ModeDir},
		{"/tree/hollow/", "hollow", 0, 0o555 | fs.ModeDir},
		{"/", "/", 0, 0o555 | fs.ModeDir},
		{".", ".", 0, 0o555 | fs.ModeDir},
		{"../hello", "hello", 13, 0o444},
		{longName, strings.Repeat("n", 90), 4, 0o444},
	} {
		f := open(t, c.name)
		one, err1 := f.Stat()
		two, err2 := os.Stat(c.name)
		three, err3 := os.Lstat(c.name)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, i := range []fs.FileInfo{one, two, three} {
			if i.Name() != c.base || i.Size() != c.size || i.Mode() != c.mode || i.IsDir() != c.mode.IsDir() {
				t.Errorf("%s: %v", c.name, fs.FormatFileInfo(i))
			}
			if !c.mode.IsDir() && !i.ModTime().Equal(modTime) {
				t.Errorf("%s: %v", c.name, i.ModTime().In(time.UTC))
			}
		}
		if !os.SameFile(one, two) || !os.SameFile(two, three) {
			t.Errorf("%s: not the same file", c.name)
		}
	}
	one, _ := os.Stat("/tree/hello")
	two, _ := os.Stat("/tree/empty")
	if os.SameFile(one, two) {
		t.Error("two files are the same")
	}
}

func TestReadDir(t *testing.T) {
	entries, err := os.ReadDir("/tree")
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if dir := slices.Contains([]string{"dir", "hollow", "long"}, e.Name()); e.IsDir() != dir {
			t.Errorf("%s: %v", e.Name(), e)
		}
	}
	if want := []string{"block", "dir", "empty", "hello", "hollow", "large", "long"}; !slices.Equal(names, want) || err != nil {
		t.Errorf("%v, %v", names, err)
	}
	if entries, err := os.ReadDir("/tree/hollow"); len(entries) != 0 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
	if _, err := os.ReadDir("/tree/hello"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a file: %v", err)
	}
}

// A folder that takes more than one call is read in pieces, and again from the start.
func TestReadDirPages(t *testing.T) {
	var want []string
	for i := range many {
		want = append(want, fmt.Sprintf("%04d", i))
	}
	f := open(t, "/many")
	for range 2 {
		var got []string
		for {
			names, err := f.Readdirnames(7)
			got = append(got, names...)
			if err == io.EOF {
				break
			}
			if err != nil || len(names) == 0 {
				t.Fatalf("%v, %v", names, err)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%d names, not %d", len(got), many)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := syscall.ReadDirent(int(f.Fd()), make([]byte, 20)); n > 0 || err != syscall.EINVAL {
		t.Errorf("no room for a name: %d, %v", n, err)
	}
}

func TestWalkDir(t *testing.T) {
	want := map[string]bool{"/": true}
	for name := range tree() {
		for name = strings.TrimSuffix(name, "/"); name != "/"; name = path.Dir(name) {
			want[name] = true
		}
	}
	got := make(map[string]bool)
	err := filepath.WalkDir("/", func(name string, _ fs.DirEntry, err error) error {
		got[name] = true
		return err
	})
	if !maps.Equal(got, want) || err != nil {
		t.Errorf("%d names, want %d, %v", len(got), len(want), err)
	}
}

func TestFS(t *testing.T) {
	if err := fstest.TestFS(os.DirFS("/tree"), "hello", "empty", "hollow", "dir/sub/a.txt", "large", longName[len("/tree/"):]); err != nil {
		t.Error(err)
	}
	root, err := os.OpenRoot("/tree")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := fstest.TestFS(root.FS(), "hello", "dir/sub/a.txt"); err != nil {
		t.Error(err)
	}
}

func TestPaths(t *testing.T) {
	for _, c := range []struct{ dir, name, want string }{
		{start, "inner", "inner"},
		{start, "./sub//../sub/./a.txt", "a"},
		{start, "../../tree/dir/inner", "inner"},
		{"/", "tree/dir/inner", "inner"},
		{"/", "../../../tree/dir/inner", "inner"}, // above the root is the root
		{"sub", "b.txt", "b"},
		{"sub/..", "inner", "inner"},
	} {
		t.Chdir(start)
		if err := os.Chdir(c.dir); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		want := c.dir
		if !path.IsAbs(want) {
			want = path.Join(start, want)
		}
		if wd, err := syscall.Getwd(); wd != want || err != nil {
			t.Errorf("%v: now in %s, %v", c, wd, err)
		}
		if b, err := os.ReadFile(c.name); string(b) != c.want || err != nil {
			t.Errorf("%v: %q, %v", c, b, err)
		}
	}
	d := open(t, "/tree/dir/sub")
	if err := d.Chdir(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile("a.txt"); string(b) != "a" || err != nil {
		t.Errorf("after Fchdir: %q, %v", b, err)
	}
	if _, err := syscall.Getcwd(make([]byte, len("/tree/dir/sub"))); err != syscall.ERANGE {
		t.Errorf("Getcwd without room: %v", err)
	}
}

// The errors are those of Linux on a file system that is mounted read-only.
func TestErrors(t *testing.T) {
	const create = os.O_CREATE | os.O_WRONLY
	openAs := func(name string, flag int) func() error {
		return func() error {
			f, err := os.OpenFile(name, flag, 0o666)
			if err == nil {
				f.Close()
			}
			return err
		}
	}
	hello := open(t, "/tree/hello")
	dir := open(t, "/tree/dir")
	for i, c := range []struct {
		do   func() error
		want error
	}{
		{openAs("/tree/absent", 0), syscall.ENOENT},
		{openAs("", 0), syscall.ENOENT},
		{openAs("/absent/x", 0), syscall.ENOENT},
		{openAs("/tree/hello/x", 0), syscall.ENOTDIR},
		{openAs("/tree/hello/", 0), syscall.ENOTDIR},
		{openAs("/tree/hello/..", 0), syscall.ENOTDIR},
		{openAs("/tree/hello", syscall.O_DIRECTORY), syscall.ENOTDIR},
		{openAs("/tree/"+strings.Repeat("n", 256), 0), syscall.ENAMETOOLONG},
		{openAs("/tree"+strings.Repeat("/.", 2048), 0), syscall.ENAMETOOLONG},
		{openAs("/tree/hello", os.O_WRONLY), syscall.EROFS},
		{openAs("/tree/hello", os.O_RDWR), syscall.EROFS},
		{openAs("/tree/hello", os.O_TRUNC), syscall.EROFS},
		{openAs("/tree/hello", create), syscall.EROFS},
		{openAs("/tree/hello", os.O_CREATE), nil},
		{openAs("/tree/hello", create|os.O_EXCL), syscall.EEXIST},
		{openAs("/tree/new", create), syscall.EROFS},
		{openAs("/absent/new", create), syscall.ENOENT},
		{openAs("/tree/hello/new", create), syscall.ENOTDIR},
		{openAs("/tree/dir", os.O_RDWR), syscall.EISDIR},
		{func() error { return os.Mkdir("/tree/new", 0o777) }, syscall.EROFS},
		{func() error { return os.Mkdir("/tree/dir", 0o777) }, syscall.EEXIST},
		{func() error { return os.Mkdir("/absent/new", 0o777) }, syscall.ENOENT},
		{func() error { return os.Symlink("/tree/hello", "/tree/new") }, syscall.EROFS},
		{func() error { return os.Link("/tree/hello", "/tree/new") }, syscall.EROFS},
		{func() error { return syscall.Unlink("/tree/hello") }, syscall.EROFS},
		{func() error { return syscall.Unlink("/tree/absent") }, syscall.ENOENT},
		{func() error { return syscall.Rmdir("/tree/dir") }, syscall.EROFS},
		{func() error { return os.RemoveAll("/tree/absent") }, nil},
		{func() error { return os.Rename("/tree/hello", "/tree/new") }, syscall.EROFS},
		{func() error { return os.Rename("/tree/absent", "/tree/new") }, syscall.ENOENT},
		{func() error { return os.Chmod("/tree/hello", 0o777) }, syscall.EROFS},
		{func() error { return os.Chown("/tree/hello", 1, 1) }, syscall.EROFS},
		{func() error { return os.Chtimes("/tree/hello", time.Now(), time.Now()) }, syscall.EROFS},
		{func() error { return os.Truncate("/tree/hello", 0) }, syscall.EROFS},
		{func() error { return os.Chdir("/tree/hello") }, syscall.ENOTDIR},
		{func() error { return os.Chdir("/tree/absent") }, syscall.ENOENT},
		{func() error { return hello.Chdir() }, syscall.ENOTDIR},
		{func() error { _, err := os.Readlink("/tree/hello"); return err }, syscall.EINVAL},
		{func() error { _, err := os.Readlink("/tree/absent"); return err }, syscall.ENOENT},
		{func() error { _, err := os.Stat("/tree/absent"); return err }, syscall.ENOENT},
		{func() error { return syscall.Access("/tree/hello", 4) }, nil},
		{func() error { return syscall.Access("/tree/hello", 2) }, syscall.EROFS},
		{func() error { return syscall.Access("/tree/hello", 1) }, syscall.EACCES},
		{func() error { return syscall.Access("/tree/dir", 5) }, nil},
		{func() error { _, err := hello.Write([]byte("x")); return err }, syscall.EBADF},
		{func() error { _, err := hello.WriteAt([]byte("x"), 0); return err }, syscall.EBADF},
		{func() error { _, err := dir.Read(make([]byte, 1)); return err }, syscall.EISDIR},
	} {
		if err := c.do(); !errors.Is(err, c.want) {
			t.Errorf("%d: %v, want %v", i, err, c.want)
		}
	}
	if b, err := io.ReadAll(hello); string(b) != "hello, world\n" || err != nil {
		t.Errorf("after all that: %q, %v", b, err)
	}
}

func TestClosed(t *testing.T) {
	f := open(t, "/tree/hello")
	fd := int(f.Fd())
	f.Close()
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
	buf := make([]byte, 1)
	_, read := syscall.Read(fd, buf)
	_, pread := syscall.Pread(fd, buf, 0)
	_, seek := syscall.Seek(fd, 0, 0)
	_, dir := syscall.ReadDirent(fd, buf)
	for i, err := range []error{read, pread, seek, dir, syscall.Close(fd), syscall.Fchdir(fd), syscall.Fstat(fd, new(syscall.Stat_t))} {
		if err != syscall.EBADF {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// What dup returns has the same position.
func TestDup(t *testing.T) {
	f := open(t, "/tree/hello")
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	g := os.NewFile(uintptr(fd), "dup")
	io.ReadFull(f, make([]byte, 7))
	f.Close()
	if b, err := io.ReadAll(g); string(b) != "world\n" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// Descriptors are used again; there is an end to them.
func TestMany(t *testing.T) {
	for range 2 {
		var list []*os.File
		for {
			f, err := os.Open("/tree/hello")
			if errors.Is(err, syscall.EMFILE) {
				break
			}
			if err != nil || len(list) > 10000 {
				t.Fatalf("after %d: %v", len(list), err)
			}
			list = append(list, f)
		}
		if len(list) < 200 {
			t.Errorf("no more than %d files", len(list))
		}
		for _, f := range list {
			if b, err := io.ReadAll(f); string(b) != "hello, world\n" || err != nil {
				t.Errorf("%q, %v", b, err)
			}
			f.Close()
		}
	}
	r, w, err := os.Pipe() // pipes are what they were
	if err != nil {
		t.Fatal(err)
	}
	w.WriteString("pipe")
	w.Close()
	if b, err := io.ReadAll(r); string(b) != "pipe" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	r.Close()
}

// Goroutines on all processors read, each a file of its own and all the same one.
func TestParallel(t *testing.T) {
	want := large()
	shared := open(t, "/tree/large")
	var sum sync.Map
	var wg sync.WaitGroup
	for g := range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for range 20 {
				f, err := os.Open("/tree/large")
				if err != nil {
					t.Error(err)
					return
				}
				buf := make([]byte, r.IntN(100000))
				off := r.Int64N(int64(len(want) - len(buf)))
				if _, err := f.Seek(off, io.SeekStart); err != nil {
					t.Error(err)
				}
				if _, err := io.ReadFull(f, buf); err != nil || !bytes.Equal(buf, want[off:][:len(buf)]) {
					t.Errorf("%d bytes at %d: %v", len(buf), off, err)
				}
				f.Close()
				if _, err := shared.ReadAt(buf, off); err != nil || !bytes.Equal(buf, want[off:][:len(buf)]) {
					t.Errorf("all the same, %d bytes at %d: %v", len(buf), off, err)
				}
				// Together they read every byte once.
				n, err := shared.Read(buf)
				if err != nil && err != io.EOF {
					t.Error(err)
				}
				sum.Store(fmt.Sprint(g, r.Uint64()), n)
			}
		})
	}
	wg.Wait()
	total := 0
	sum.Range(func(_, n any) bool { total += n.(int); return true })
	if pos, err := shared.Seek(0, io.SeekCurrent); pos != int64(total) || err != nil {
		t.Errorf("%d bytes were read up to %d, %v", total, pos, err)
	}
}

// A look-up costs no more in a folder of thousands.
func BenchmarkOpen(b *testing.B) {
	for i := range b.N {
		f, err := os.Open(fmt.Sprintf("/many/%04d", i%many))
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}
