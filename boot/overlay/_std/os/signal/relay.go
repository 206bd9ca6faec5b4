package signal

// Defined by the runtime.
func signal_waiting() bool

// Relay queues a signal for Notify. It may be called in interrupt context.
// (TamaGo)
func Relay(sig int)

// Waiting reports whether the receiver of signals waits for one. (TamaGo)
func Waiting() bool { return signal_waiting() }
