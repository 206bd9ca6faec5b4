package main

import "strings"

// A suite is the tests of one package.
type suite struct {
	pkg     string
	quick   bool // in the quick subset
	isShort bool // run with -test.short
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
	noFiles     = "needs a file system"
	noProcesses = "needs a subprocess"
	noNetwork   = "needs sockets"
	noMapping   = "needs memory that cannot be read or written: all of it can be"
	speed       = "asserts its own speed"
)

var suites = []suite{
	{pkg: "archive/tar", skips: []skip{
		{noFiles, "TestReader TestPartialRead TestUninitializedRead TestReadTruncation " +
			"TestReadHeaderOnly TestFileInfoHeader TestFileInfoHeaderDir " +
			"TestFileInfoHeaderSymlink TestWriter TestPax TestPaxSymlink TestPaxNonAscii " +
			"TestPaxXattrs TestPaxHeadersSorted TestUSTARLongName"},
	}},
	{pkg: "archive/zip", isShort: true, skips: []skip{
		{noFiles, "TestReader TestFS TestFSWalk TestOpenReaderInsecurePath TestUnderSize " +
			"TestIssue54801 TestWriterTime TestFSModTime FuzzReader ExampleReader"},
	}},
	{pkg: "bufio", skips: []skip{
		{noNetwork, "TestCopyUnixpacket"},
	}},
	{pkg: "bytes", isShort: true, skips: []skip{
		{noMapping, "TestEqualNearPageBoundary TestIndexNearPageBoundary " +
			"TestIndexByteNearPageBoundary TestCountNearPageBoundary"},
	}},
	{pkg: "cmp"},
	{pkg: "compress/flate", isShort: true, skips: []skip{
		{noFiles, "TestWriteBlock TestWriteBlockDynamic TestWriterPersistentWriteError"},
	}},
	{pkg: "compress/lzw", skips: []skip{
		{noFiles, "TestWriter"},
	}},
	{pkg: "compress/zlib", skips: []skip{
		{noFiles, "TestWriterBig TestWriterDict TestWriterReset"},
	}},
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
		{noFiles, "TestLinker"},
	}},
	{pkg: "crypto/ecdsa", skips: []skip{
		{noFiles, "TestVectors"},
	}},
	{pkg: "crypto/ed25519", skips: []skip{
		{noFiles, "TestGolden"},
	}},
	{pkg: "crypto/elliptic", isShort: true},
	{pkg: "crypto/hkdf"},
	{pkg: "crypto/hmac"},
	{pkg: "crypto/md5"},
	{pkg: "crypto/pbkdf2"},
	{pkg: "crypto/rand", isShort: true},
	{pkg: "crypto/rc4"},
	{pkg: "crypto/sha1", skips: []skip{
		{noMapping, "TestOutOfBoundsRead"},
	}},
	{pkg: "crypto/sha256"},
	{pkg: "crypto/sha512"},
	{pkg: "database/sql"},
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
	{pkg: "flag", skips: []skip{
		{noProcesses, "TestExitCode"},
	}},
	{pkg: "fmt"},
	{pkg: "go/ast"},
	{pkg: "go/build/constraint"},
	{pkg: "go/constant"},
	{pkg: "go/doc/comment", skips: []skip{
		{noFiles, "TestTestdata"},
	}},
	{pkg: "go/format", skips: []skip{
		{noFiles, "TestNode TestSource"},
	}},
	{pkg: "go/scanner"},
	{pkg: "go/token"},
	{pkg: "hash"},
	{pkg: "hash/adler32"},
	{pkg: "hash/crc32"},
	{pkg: "hash/crc64"},
	{pkg: "hash/fnv"},
	{pkg: "hash/maphash", isShort: true},
	{pkg: "html"},
	{pkg: "html/template", isShort: true, skips: []skip{
		{noFiles, "TestEmptyTemplateHTML TestParseFiles TestParseGlob TestParseFS " +
			"TestParseFilesWithData TestParseGlobWithData TestParseZipFS ExampleTemplate_glob " +
			"ExampleTemplate_helpers ExampleTemplate_parsefiles ExampleTemplate_share"},
	}},
	{pkg: "image", skips: []skip{
		{noFiles, "TestDecode"},
	}},
	{pkg: "image/color"},
	{pkg: "image/draw", skips: []skip{
		{noFiles, "TestPaletted"},
	}},
	{pkg: "image/gif", skips: []skip{
		{noFiles, "TestWriter TestSubImage TestEncodeAllGo1Dot4 TestEncodeAllGo1Dot5 " +
			"TestEncodeAllGo1Dot5GlobalColorModel TestEncodeWrappedImage FuzzDecode"},
	}},
	{pkg: "image/jpeg", skips: []skip{
		{noFiles, "TestDecodeProgressive TestDecodeEOF TestTruncatedSOSDataDoesntPanic " +
			"TestIssue56724 TestBadRestartMarker TestWriter FuzzDecode"},
	}},
	{pkg: "image/png", skips: []skip{
		{noFiles, "TestReader TestReaderError TestPalettedDecodeConfig TestInterlaced " +
			"TestPaletted8OutOfRangePixel TestWriter FuzzDecode"},
	}},
	{pkg: "index/suffixarray", isShort: true},
	{pkg: "io", skips: []skip{
		{noFiles, "TestOffsetWriter_Seek TestOffsetWriter_WriteAt TestWriteAt_PositionPriorToBase " +
			"TestOffsetWriter_Write"},
	}},
	{pkg: "io/fs", skips: []skip{
		{noFiles, "TestGlob TestReadDirPath TestReadFilePath TestWalkDir TestIssue51617"},
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
	{pkg: "mime", skips: []skip{
		{noFiles, "TestTypeByExtension TestTypeByExtensionUNIX"},
	}},
	{pkg: "mime/multipart", skips: []skip{
		{noFiles, "TestReadForm TestReadForm_ManyFiles_Combined TestReadForm_ManyFiles_Distinct " +
			"TestReadFormLimits TestNested"},
	}},
	{pkg: "mime/quotedprintable"},
	{pkg: "net/mail"},
	{pkg: "net/netip"},
	{pkg: "net/textproto"},
	{pkg: "net/url"},
	{pkg: "path"},
	{pkg: "path/filepath", skips: []skip{
		{noFiles, "TestGlob TestNonWindowsGlobEscape TestGlobSymlink TestWalk TestWalkDir " +
			"TestWalkSkipDirOnFile TestWalkSkipAllOnFile TestWalkFileError " +
			"TestWalkSymlinkRoot TestEvalSymlinks TestEvalSymlinksIsNotExist TestIssue13582 " +
			"TestRelativeSymlinkToAbsolute TestAbs TestAbsEmptyString TestBug3486 " +
			"TestWalkSymlink TestIssue29372 TestEvalSymlinksAboveRootChdir TestIssue51617 " +
			"TestEscaping TestEvalSymlinksTooManyLinks TestEvalSymlinksAboveRoot ExampleWalk"},
	}},
	{pkg: "reflect", isShort: true, skips: []skip{
		{noMapping, "TestTypeFieldReadOnly"},
	}},
	{pkg: "regexp", skips: []skip{
		{noFiles, "TestRE2Exhaustive TestRE2Search"},
	}},
	{pkg: "regexp/syntax"},
	{pkg: "slices"},
	{pkg: "sort", quick: true, isShort: true},
	{pkg: "strconv"},
	{pkg: "strings"},
	{pkg: "sync", isShort: true, skips: []skip{
		{noProcesses, "TestMutexMisuse TestIssue76126"},
		{noFiles, "ExampleOnceValues"},
	}},
	{pkg: "sync/atomic", isShort: true},
	{pkg: "testing/fstest", skips: []skip{
		{noFiles, "TestSymlink"},
	}},
	{pkg: "testing/iotest"},
	{pkg: "testing/quick"},
	{pkg: "text/scanner"},
	{pkg: "text/tabwriter"},
	{pkg: "text/template", skips: []skip{
		{noFiles, "TestParseFiles TestParseGlob TestParseFS TestParseFilesWithData " +
			"TestParseGlobWithData ExampleTemplate_glob ExampleTemplate_helpers " +
			"ExampleTemplate_share"},
	}},
	{pkg: "text/template/parse"},
	{pkg: "unicode"},
	{pkg: "unicode/utf16"},
	{pkg: "unicode/utf8", quick: true},
	{pkg: "unique"},
	{pkg: "weak"},

	// These take long.
	{pkg: "compress/gzip", isShort: true, skips: []skip{
		{noFiles, "TestIssue6550 FuzzReader"},
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
	{pkg: "crypto/rsa", isShort: true, skips: []skip{
		{noFiles, "TestPSSGolden"},
	}},
	{pkg: "math/big", isShort: true},
	{pkg: "encoding/asn1"},
	{pkg: "time", isShort: true, skips: []skip{
		{noFiles, "TestLoadLocationFromTZData TestLoadLocationFromTZDataSlim TestEnvTZUsage"},
		{speed, "TestLongAdjustTimers"}, // a million sends in 60 seconds; after that it waits for ever
	}},
}
