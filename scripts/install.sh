#!/usr/bin/env bash
# Installs Debian packages, as root or by sudo; without either, says what to
# install.
#
#   scripts/install.sh PACKAGE...
set -u

if [ "$(id -u)" = 0 ]; then
	sudo=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	sudo=sudo
else
	sudo=none
fi
if [ "$sudo" = none ] || ! command -v apt-get >/dev/null; then
	echo "please install: $*  (Debian: apt-get install $*)" >&2
	exit 1
fi
echo "installing $*" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $sudo apt-get update && $sudo env DEBIAN_FRONTEND=noninteractive \
	apt-get install -y --no-install-recommends "$@"; } >"$log" 2>&1; then
	cat "$log" >&2
	echo "please install: $*" >&2
	exit 1
fi
