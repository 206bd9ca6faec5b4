module tamaprobe

go 1.26.5

require (
	github.com/go-delve/delve v1.26.3
	github.com/google/pprof v0.0.0-20250630185457-6e76a2b096b5
	github.com/usbarmory/tamago v1.26.6
	golang.org/x/arch v0.32.0
	golang.org/x/term v0.47.0
)

require golang.org/x/sys v0.49.0 // indirect
