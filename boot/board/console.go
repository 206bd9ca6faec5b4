package board

import (
	"os"
	"os/signal"
	"syscall"
	_ "unsafe" // for go:linkname

	"github.com/usbarmory/tamago/soc/intel/uart"
)

// Interrupt vectors.
const (
	vectorUART = 0x24 // ISA interrupt 4
	vectorTick = 0xef
	vectorWake = 255 // TamaGo's IRQ_WAKEUP: its handler does nothing
)

// signalUART is the os/signal that stands for the UART's interrupt. TamaGo uses
// SIGTRAP for the interrupts that it serves.
const signalUART = 29

const (
	com1    = 0x3f8
	com1IRQ = 4
)

// A SerialConsole is the first serial port. Writing polls and can be done in
// any context; reading waits for interrupts.
type SerialConsole struct {
	uart uart.UART
	rx   chan os.Signal

	mute bool // drop output
	crlf bool // write a carriage return before every newline
}

var console = SerialConsole{uart: uart.UART{Index: 1, Base: com1}, crlf: true}

// Console returns the machine's serial console.
func Console() *SerialConsole { return &console }

// init sets 115200 baud, 8 bits, no parity, with FIFOs. (16550 data sheet)
func (c *SerialConsole) init() {
	const (
		dll, dlm = 0, 1 // divisor latch, when selected by lcr
		dlab     = 1 << 7
		eightN1  = 3
		fifos    = 7 // enable and clear both, interrupt at every byte
	)
	out8(com1+uart.LCR, dlab)
	out8(com1+dll, 1)
	out8(com1+dlm, 0)
	out8(com1+uart.LCR, eightN1)
	out8(com1+uart.FCR, fifos)
	c.uart.DTR, c.uart.RTS = true, true
	c.uart.Init()
}

//go:linkname printk runtime/goos.Printk
func printk(b byte) {
	if console.mute {
		return
	}
	if b == '\n' && console.crlf {
		console.uart.Tx('\r')
	}
	console.uart.Tx(b)
}

// Write writes p as it is. It does not fail.
func (c *SerialConsole) Write(p []byte) (n int, err error) {
	return c.uart.Write(p)
}

// Read waits for input and returns what is there. One goroutine at a time may
// read.
func (c *SerialConsole) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.rx == nil {
		c.rx = make(chan os.Signal, 1)
		signal.Notify(c.rx, syscall.Signal(signalUART))
		IOAPIC.EnableInterrupt(com1IRQ, vectorUART)
		out8(com1+uart.IER, 1<<uart.IER_ERBFI)
	}
	for {
		for n < len(p) {
			b, ok := c.uart.Rx(false)
			if !ok {
				break
			}
			p[n] = b
			n++
		}
		if n > 0 {
			return n, nil
		}
		<-c.rx
	}
}
