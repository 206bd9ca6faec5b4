package testdeps

import (
	"internal/runtime/exithook"

	"tamaprobe/stdtest/harness"
)

// startHarness probes the image, until the program exits. The generated main package has
// set ImportPath by now, and every package is initialized.
func startHarness() {
	exithook.Add(exithook.Hook{F: harness.Finish, RunOnFailure: true})
	harness.Start(ImportPath)
}
