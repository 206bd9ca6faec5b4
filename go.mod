module tamaprobe

go 1.26.5

require (
	github.com/usbarmory/tamago v1.26.6
	golang.org/x/arch v0.32.0
	golang.org/x/term v0.47.0
)

require golang.org/x/sys v0.49.0 // indirect
