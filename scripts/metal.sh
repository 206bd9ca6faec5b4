#!/usr/bin/env bash
# Runs the go command for bare metal: build, test, vet, run, ... with Tamaprobe's
# overlay and the image layout, and with scripts/qemu.sh to run what it built.
#
#   scripts/metal.sh test -run Step -v ./kprobes
#   scripts/metal.sh build -o IMAGE ./kernel
#
# See scripts/qemu.sh for the machine.
set -eu

if [ $# -lt 1 ]; then
	echo "usage: scripts/metal.sh COMMAND [ARGUMENT...]" >&2
	exit 2
fi
command=$1
shift

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
export GOTOOLCHAIN=local # another one would not match the overlay

# GOROOT may name another tree (stdtest); the overlay is made from the stock one.
env -u GOROOT go run -C "$root" ./boot/overlay -o "$build/_overlay"
env -u GOROOT go build -C "$root" -o "$build/pvhnote" ./boot/pvhnote

flags=(-buildvcs=false -overlay "$build/_overlay/overlay.json" -tags linkramstart,metal)
case $command in
build | install | run | test)
	# The image lies above 16 MiB (boot/board), entered where PVH enters it.
	flags+=(-ldflags "-T 0x1010000 -R 0x1000 -E pvhentry ${LDFLAGS:-}")
	;;
esac
case $command in
run | test) flags+=(-exec "$root/scripts/qemu.sh") ;;
esac
# go test would run vet on the overlay's new package, whose folder is not there.
[ "$command" = test ] && flags+=(-vet=off)
export CGO_ENABLED=0 GOOS=linux GOARCH=amd64
exec go "$command" "${flags[@]}" "$@"
