//go:build metal

package ring

import _ "tamaprobe/boot/board"
