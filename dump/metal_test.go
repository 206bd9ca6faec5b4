//go:build metal

package dump

import _ "tamaprobe/boot/board"
