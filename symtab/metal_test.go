//go:build metal

package symtab

import _ "tamaprobe/boot/board"
