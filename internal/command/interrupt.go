package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Interruptible is cancelled by the first signal that received holds; the cause says
// which. A second signal ends the process at once, unless it comes so soon that it is the
// same one: a terminal signals this program and the one that started it, which passes the
// signal on. Nothing stops the signals: after the
// last word of the program one of them would still print its stacks.
//
// A closed pipe on standard output must not end a run that has spent its budget:
// SIGPIPE is caught, so that a write fails instead. It is not ignored, because
// that would be inherited by the plugins.
func Interruptible(parent context.Context, received <-chan os.Signal, same time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	stopped := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case s := <-received:
				switch {
				case first.IsZero():
					first = time.Now()
					cancel(Interrupted{s})
				case time.Since(first) >= same:
					os.Exit(Interrupted{s}.Exit())
				}
			case <-stopped:
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(pipes); cancel(context.Canceled); close(stopped) }
}

// Interrupted is the cause of a context that a signal cancelled.
type Interrupted struct{ Signal os.Signal }

// Error names the signal.
func (i Interrupted) Error() string { return "interrupted by " + i.Signal.String() }

// Exit is 128 and the number of the signal, as shells have it.
func (i Interrupted) Exit() int {
	if s, ok := i.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return ExitInterrupted
}
