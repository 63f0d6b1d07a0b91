//go:build unix

package signals

import (
	"os"
	"syscall"
)

// stops are the signals that end a run in good order. All but SIGINT and SIGTERM would
// print stacks and registers, which could hold what was just read (P20): a watchdog
// sends SIGABRT, a shell SIGQUIT. They come in the order in which the runtime is asked
// for them: it takes one after the other, and SIGQUIT is the one that people send. A
// fault of this program's own is not a signal here, but a panic.
var stops = []os.Signal{syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS, syscall.SIGILL, syscall.SIGBUS,
	syscall.SIGFPE, syscall.SIGSEGV, os.Interrupt, syscall.SIGTERM}
