package signals

import (
	"os"
	"os/signal"
	"syscall"
)

// Received gets every signal from here to the end of the process.
var Received = received()

func received() <-chan os.Signal {
	c := make(chan os.Signal, 2)
	Notify(c)
	return c
}

// Notify hands the signals that end a run to c, and SIGHUP unless the program was
// started with nohup.
func Notify(c chan<- os.Signal) {
	signal.Notify(c, stops...)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
}
