package main

import "strings"

// A suite is the tests of one package.
type suite struct {
	pkg     string
	quick   bool   // in the quick subset
	isShort bool   // run with -test.short
	files   string // what the tests read besides the package's folder and its testdata: files and folders below GOROOT
	skips   []skip
}

// A skip is tests that are left out, with the reason.
type skip struct {
	why   string
	tests string // names, with blanks between; subtests as TEST/SUBTEST
}

// args are the test binary's arguments.
func (s *suite) args() []string {
	args := s.short()
	var names []string
	for _, k := range s.skips {
		for _, name := range strings.Fields(k.tests) {
			names = append(names, exactly(name))
		}
	}
	if len(names) > 0 {
		args = append(args, "-test.skip="+strings.Join(names, "|"))
	}
	return args
}

// leftOut is how many names of tests are left out.
func (s *suite) leftOut() (n int) {
	for _, k := range s.skips {
		n += len(strings.Fields(k.tests))
	}
	return n
}

func (s *suite) short() []string {
	if s.isShort {
		return []string{"-test.short"}
	}
	return nil
}

// fileName is the package's name without slashes.
func (s *suite) fileName() string { return strings.ReplaceAll(s.pkg, "/", "_") }

// Reasons.
const (
	noWriting    = "writes files, which can only be read"
	noDevices    = "needs /dev/null"
	noExecutable = "reads its own executable, which is not among its files"
	noProcesses  = "needs a subprocess"
	noNetwork    = "needs sockets"
	noMapping    = "needs memory that cannot be read or written: all of it can be"
	speed        = "asserts its own speed"
)

var suites = []suite{
	// These take long: they are first, so that no machine is the last one for long.
	{pkg: "compress/gzip", isShort: true, files: "src/compress/testdata src/testdata", skips: []skip{
		{noNetwork, "Example_compressingReader"},
	}},
	{pkg: "crypto/cipher", isShort: true, skips: []skip{
		{noProcesses, "TestGCMNoncesFIPSV126 TestGCMNoncesFIPSV1"},
	}},
	{pkg: "crypto/subtle", isShort: true, skips: []skip{
		{noMapping, "TestXORBytesBoundary"},
	}},
	{pkg: "encoding/gob", isShort: true},
	{pkg: "crypto/sha3", isShort: true},
	{pkg: "crypto/rsa", isShort: true},
	{pkg: "math/big", isShort: true},
	{pkg: "encoding/asn1"},
	{pkg: "time", isShort: true, files: "lib/time/zoneinfo.zip", skips: []skip{
		{speed, "TestLongAdjustTimers"}, // a million sends in 60 seconds; after that it waits for ever
	}},

	{pkg: "archive/tar", skips: []skip{
		{noWriting, "TestReader/neg-size.tar TestFileInfoHeaderSymlink TestWriter/writer-big-long.tar"},
	}},
	{pkg: "archive/zip", isShort: true, skips: []skip{
		{noWriting, "TestReader/go-no-datadesc-sig.zip.base64 TestOpenReaderInsecurePath"},
	}},
	{pkg: "bufio", skips: []skip{
		{noNetwork, "TestCopyUnixpacket"},
	}},
	{pkg: "bytes", isShort: true, skips: []skip{
		{noMapping, "TestEqualNearPageBoundary TestIndexNearPageBoundary " +
			"TestIndexByteNearPageBoundary TestCountNearPageBoundary"},
	}},
	{pkg: "cmp"},
	{pkg: "compress/bzip2", skips: []skip{
		{noWriting, "TestReader"},
	}},
	{pkg: "compress/flate", isShort: true, files: "src/compress/testdata src/testdata"},
	{pkg: "compress/lzw", files: "src/compress/testdata"},
	{pkg: "compress/zlib", files: "src/compress/testdata"},
	{pkg: "container/heap"},
	{pkg: "container/list", quick: true},
	{pkg: "container/ring"},
	{pkg: "context", skips: []skip{
		{noNetwork, "ExampleAfterFunc_connection"},
	}},
	{pkg: "crypto/aes"},
	{pkg: "crypto/des"},
	{pkg: "crypto/dsa", isShort: true},
	{pkg: "crypto/ecdh", skips: []skip{
		{noProcesses, "TestLinker"},
	}},
	{pkg: "crypto/ecdsa"},
	{pkg: "crypto/ed25519"},
	{pkg: "crypto/elliptic", isShort: true},
	{pkg: "crypto/hkdf"},
	{pkg: "crypto/hmac"},
	{pkg: "crypto/md5"},
	{pkg: "crypto/mlkem", isShort: true},
	{pkg: "crypto/pbkdf2"},
	{pkg: "crypto/rand", isShort: true},
	{pkg: "crypto/rc4"},
	{pkg: "crypto/sha1", skips: []skip{
		{noMapping, "TestOutOfBoundsRead"},
	}},
	{pkg: "crypto/sha256"},
	{pkg: "crypto/sha512"},
	{pkg: "database/sql"},
	{pkg: "debug/buildinfo"},
	{pkg: "debug/dwarf"},
	{pkg: "debug/elf", skips: []skip{
		{noExecutable, "TestNoSectionOverlaps"},
	}},
	{pkg: "debug/gosym", skips: []skip{
		{noExecutable, "TestLineFromAline TestLineAline TestSymVersion"},
	}},
	{pkg: "debug/macho"},
	{pkg: "debug/pe"},
	{pkg: "debug/plan9obj"},
	{pkg: "encoding/ascii85"},
	{pkg: "encoding/base32"},
	{pkg: "encoding/base64"},
	{pkg: "encoding/binary"},
	{pkg: "encoding/csv"},
	{pkg: "encoding/hex"},
	{pkg: "encoding/json", skips: []skip{
		{noNetwork, "TestHTTPDecoding"},
	}},
	{pkg: "encoding/pem"},
	{pkg: "encoding/xml", isShort: true},
	{pkg: "errors", quick: true},
	{pkg: "expvar"},
	{pkg: "flag", skips: []skip{
		{noProcesses, "TestExitCode"},
	}},
	{pkg: "fmt"},
	{pkg: "go/ast"},
	{pkg: "go/build/constraint"},
	{pkg: "go/constant"},
	{pkg: "go/doc"},
	{pkg: "go/doc/comment"},
	{pkg: "go/format"},
	{pkg: "go/parser", isShort: true, files: "src/go/printer/nodes.go"},
	{pkg: "go/printer"},
	{pkg: "go/scanner"},
	{pkg: "go/token"},
	{pkg: "go/version"},
	{pkg: "hash"},
	{pkg: "hash/adler32"},
	{pkg: "hash/crc32"},
	{pkg: "hash/crc64"},
	{pkg: "hash/fnv"},
	{pkg: "hash/maphash", isShort: true},
	{pkg: "html"},
	{pkg: "html/template", isShort: true, skips: []skip{
		{noDevices, "TestEmptyTemplateHTML"},
		{noWriting, "ExampleTemplate_glob ExampleTemplate_helpers " +
			"ExampleTemplate_parsefiles ExampleTemplate_share"},
	}},
	{pkg: "image", files: "src/image/testdata"},
	{pkg: "image/color"},
	{pkg: "image/draw", files: "src/image/testdata"},
	{pkg: "image/gif", isShort: true, files: "src/image/testdata"},
	{pkg: "image/jpeg", isShort: true, files: "src/image/testdata"},
	{pkg: "image/png", isShort: true, files: "src/image/testdata"},
	{pkg: "index/suffixarray", isShort: true},
	{pkg: "internal/diff"},
	{pkg: "internal/profile"},
	{pkg: "internal/xcoff"},
	{pkg: "internal/zstd", isShort: true, files: "src/testdata"},
	{pkg: "io", skips: []skip{
		{noWriting, "TestOffsetWriter_Seek TestOffsetWriter_WriteAt TestWriteAt_PositionPriorToBase " +
			"TestOffsetWriter_Write"},
	}},
	{pkg: "io/fs", skips: []skip{
		{noWriting, "TestReadDirPath TestReadFilePath TestWalkDir TestIssue51617"},
	}},
	{pkg: "iter"},
	{pkg: "log", skips: []skip{
		{noProcesses, "TestCallDepth"},
	}},
	{pkg: "log/slog", skips: []skip{
		{noProcesses, "TestCallDepthConnection"},
	}},
	{pkg: "maps"},
	{pkg: "math"},
	{pkg: "math/bits"},
	{pkg: "math/cmplx"},
	{pkg: "math/rand", isShort: true},
	{pkg: "math/rand/v2", isShort: true},
	{pkg: "mime"},
	{pkg: "mime/multipart", skips: []skip{
		{noWriting, "TestReadForm TestReadForm_ManyFiles_Combined TestReadForm_ManyFiles_Distinct " +
			"TestReadFormLimits/values=500/files=500/extraKeysPerFile=0 " +
			"TestReadFormLimits/values=501/files=500/extraKeysPerFile=0 " +
			"TestReadFormLimits/values=0/files=1000/extraKeysPerFile=0 " +
			"TestReadFormLimits/values=0/files=1001/extraKeysPerFile=0"},
	}},
	{pkg: "mime/quotedprintable"},
	{pkg: "net/http/cookiejar", skips: []skip{
		{noNetwork, "ExampleNew"},
	}},
	{pkg: "net/http/internal"},
	{pkg: "net/mail"},
	{pkg: "net/netip"},
	{pkg: "net/textproto"},
	{pkg: "net/url"},
	{pkg: "path"},
	{pkg: "path/filepath", files: "src/unicode", skips: []skip{
		{noWriting, "TestGlobSymlink TestWalk TestWalkDir TestWalkSkipDirOnFile TestWalkSkipAllOnFile " +
			"TestWalkFileError TestWalkSymlinkRoot TestEvalSymlinks TestEvalSymlinksIsNotExist " +
			"TestIssue13582 TestRelativeSymlinkToAbsolute TestAbs TestAbsEmptyString " +
			"TestWalkSymlink TestIssue29372 TestEvalSymlinksAboveRootChdir " +
			"TestIssue51617 TestEscaping TestEvalSymlinksTooManyLinks " +
			"TestEvalSymlinksAboveRoot ExampleWalk"},
	}},
	{pkg: "reflect", isShort: true, skips: []skip{
		{noMapping, "TestTypeFieldReadOnly"},
	}},
	{pkg: "regexp", isShort: true},
	{pkg: "regexp/syntax"},
	{pkg: "runtime/metrics"},
	{pkg: "slices"},
	{pkg: "sort", quick: true, isShort: true},
	{pkg: "strconv"},
	{pkg: "strings"},
	{pkg: "sync", isShort: true, skips: []skip{
		{noProcesses, "TestMutexMisuse TestIssue76126"},
	}},
	{pkg: "sync/atomic", isShort: true},
	{pkg: "testing/fstest", skips: []skip{
		{noWriting, "TestSymlink"},
	}},
	{pkg: "testing/iotest"},
	{pkg: "testing/quick"},
	{pkg: "testing/slogtest"},
	{pkg: "testing/synctest", skips: []skip{
		{noProcesses, "TestFatal TestError TestVerboseError TestSkip TestVerboseSkip TestHelper"},
	}},
	{pkg: "text/scanner"},
	{pkg: "text/tabwriter"},
	{pkg: "text/template", skips: []skip{
		{noWriting, "ExampleTemplate_glob ExampleTemplate_helpers ExampleTemplate_share"},
	}},
	{pkg: "text/template/parse"},
	{pkg: "unicode"},
	{pkg: "unicode/utf16"},
	{pkg: "unicode/utf8", quick: true},
	{pkg: "unique"},
	{pkg: "weak"},
}
