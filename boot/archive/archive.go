// Package archive makes what the kernel has as its files: an archive in ustar format, loaded as a
// boot module (QEMU -initrd). The runtime reads it (boot/overlay/_std/runtime/archive_bare.go).
package archive

import (
	"archive/tar"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Write writes files, which are named by their paths from the root. One whose name ends in a
// slash is a folder; other folders are there because something is in them. The same files make
// the same archive.
func Write(w io.Writer, files map[string][]byte) error {
	tw := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{
			Name: strings.TrimPrefix(name, "/"), Typeflag: tar.TypeReg, Mode: 0o444,
			Size: int64(len(files[name])), ModTime: modTime, Format: tar.FormatUSTAR,
		}
		if strings.HasSuffix(name, "/") {
			h.Typeflag, h.Mode = tar.TypeDir, 0o555
		}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := tw.Write(files[name]); err != nil {
			return err
		}
	}
	return tw.Close()
}

// modTime is when all files were changed.
var modTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
