#!/usr/bin/env bash
# gofmt, go vet and staticcheck over the whole project.
#
# vet and staticcheck cannot cope with a standard package that is only in an
# overlay, so they get a Go tree with the overlay applied: links to the stock one,
# but for the files that the overlay replaces.
set -eu

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOTOOLCHAIN=local CGO_ENABLED=0
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2

bad=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l)
if [ -n "$bad" ]; then
	echo "not formatted by gofmt:" "$bad" >&2
	exit 1
fi

overlay=build/_overlay
tree=$PWD/build/_goroot
go run ./boot/overlay -o $overlay
rm -rf "$tree"
cp -rs "$(go env GOROOT)" "$tree"
grep -o '"[^"]*/src/[^"]*": ""' $overlay/overlay.json | sed 's|^"||; s|".*||; s|.*/src/|src/|' |
	while read -r removed; do rm "$tree/$removed"; done
cp -r --remove-destination $overlay/src "$tree"

# Once as on bare metal, with all files; once as on the host, for the packages that
# run there.
GOROOT=$tree go vet -tags linkramstart,metal ./...
GOBIN=$PWD/build go install "$staticcheck"
GOROOT=$tree build/staticcheck -tags linkramstart,metal ./...
host=$(go list -e -f '{{if not .DepsErrors}}{{.ImportPath}}{{end}}' ./...)
# shellcheck disable=SC2086 # one word a package
go vet $host
# shellcheck disable=SC2086
build/staticcheck $host
