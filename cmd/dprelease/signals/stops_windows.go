package signals

import (
	"os"
	"syscall"
)

// stops are the signals that end a run in good order: Windows has no others.
var stops = []os.Signal{os.Interrupt, syscall.SIGTERM}
