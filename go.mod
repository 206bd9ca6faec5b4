module tamaprobe

go 1.26.5

require (
	github.com/usbarmory/tamago v1.26.6
	golang.org/x/arch v0.32.0
)
