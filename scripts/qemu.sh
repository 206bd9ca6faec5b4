#!/usr/bin/env bash
# Boots an image in QEMU: the one place that knows QEMU's options.
#
#   scripts/qemu.sh IMAGE [ARGUMENT...]
#
# The arguments follow APPEND on the kernel command line; they become os.Args. So
# it works as go test -exec scripts/qemu.sh. The exit status is the image's exit
# code (at most 127), or
#   125  the machine was reset, or QEMU failed
#
# From the environment:
#   QEMU      the emulator                       (qemu-system-x86_64)
#   MACHINE   q35, pc or microvm                 (q35)
#   CPU       QEMU's processor model             (max)
#   SMP       number of processors               (2)
#   MEM       memory                             (512M)
#   APPEND    start of the kernel command line
#   INITRD    a file to load as boot module
#   REBOOT    1: a reset boots again             (0: it ends QEMU)
#   QEMUFLAGS further options, e.g. "-s -S" or "-icount shift=0"
set -u

if [ $# -lt 1 ]; then
	echo "usage: scripts/qemu.sh IMAGE [ARGUMENT...]" >&2
	exit 125
fi
image=$1
shift

qemu=${QEMU:-qemu-system-x86_64}
if ! command -v "$qemu" >/dev/null; then
	echo "qemu.sh: $qemu not found; on Debian: apt-get install qemu-system-x86" >&2
	exit 125
fi

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d) || exit 125
trap 'rm -rf "$work"' EXIT

# A test binary comes from the linker as it is: without the note that QEMU enters
# an image by.
pvhnote=${PVHNOTE:-$root/build/pvhnote}
[ -x "$pvhnote" ] || pvhnote="go run -C $root ./boot/pvhnote"
$pvhnote "$(realpath "$image")" "$work/image" || exit 125

# The kernel command line: words with blanks are quoted. A test log cannot be
# written, files can only be read.
append=${APPEND:-}
for arg; do
	case $arg in
	-test.testlogfile=*) continue ;;
	-test.*) append="$append CRLF=0" ;;
	esac
	case $arg in
	*\'*) append="$append \"$arg\"" ;;
	*[[:space:]\"]* | "") append="$append '$arg'" ;;
	*) append="$append $arg" ;;
	esac
done

# A terminal gets QEMU's monitor as well (ctrl-a h). Other input must arrive as
# it is. A closed standard input would fail QEMU.
[ -e /proc/self/fd/0 ] || exec </dev/null
if [ -t 0 ]; then
	serial=(-serial mon:stdio)
else
	serial=(-monitor none -chardev stdio,id=com1,signal=off -serial chardev:com1)
fi

# Without a terminal the console writes plain text, unless APPEND says what it is to do.
[ -t 1 ] || [[ " $append" = *" CONSOLE="* ]] || append="$append CONSOLE=plain"

args=(
	-machine "${MACHINE:-q35}" -accel tcg -cpu "${CPU:-max}"
	-smp "${SMP:-2}" -m "${MEM:-512M}"
	-display none -vga none -net none "${serial[@]}"
	-device isa-debug-exit,iobase=0xf4,iosize=0x04
	-kernel "$work/image" -append "${append# }"
)
[ -n "${INITRD:-}" ] && args+=(-initrd "$INITRD")
[ "${REBOOT:-0}" = 1 ] || args+=(-no-reboot)
# shellcheck disable=SC2206 # several words on purpose
args+=(${QEMUFLAGS:-})

# QEMU must not outlive this script: go test kills it at a timeout. It may be too busy to listen.
stop() {
	kill "$pid" 2>/dev/null
	for _ in {1..20}; do
		kill -0 "$pid" 2>/dev/null || return
		sleep 0.1
	done
	kill -KILL "$pid" 2>/dev/null
}
"$qemu" "${args[@]}" <&0 &
pid=$!
trap stop INT TERM HUP QUIT
wait "$pid"
status=$?

# The device's status is odd: code<<1 | 1.
if [ $((status & 1)) = 1 ] && [ "$status" -lt 256 ]; then
	exit $((status >> 1))
fi
exit 125
