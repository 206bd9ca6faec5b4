//go:build metal

package aggregate

import _ "tamaprobe/boot/board"
