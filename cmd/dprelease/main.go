package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/dprelease/dprelease/cmd/dprelease/signals"
)

func main() { os.Exit(realMain()) }

func realMain() int {
	if serving(os.Args[1:]) {
		signal.Reset() // the host ends a mechanism, and hears nothing from it
		serveBuiltins()
		return exitDone
	}
	stderr := os.Stderr
	if slices.Contains(os.Args[1:], "run") { // nothing else reads a private row
		stderr = apart()
	}
	tuneCollector()
	ctx, stop := interruptible(context.Background(), signals.Received)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	e := &environment{
		in: os.Stdin, out: os.Stdout, errw: stderr,
		getenv: os.LookupEnv, self: self, jobs: pipelineJobs{},
	}
	return e.execute(ctx, os.Args[1:])
}

// interruptible is cancelled by the first signal that received holds; the cause says
// which. A second signal ends the process at once. Nothing stops the signals: after the
// last word of the program one of them would still print its stacks.
//
// A closed pipe on standard output must not end a run that has spent its budget:
// SIGPIPE is caught, so that a write fails instead. It is not ignored, because
// that would be inherited by the plugins.
func interruptible(parent context.Context, received <-chan os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	stopped := make(chan struct{})
	go func() {
		for second := false; ; second = true {
			select {
			case s := <-received:
				if second {
					os.Exit(interrupted{s}.exit())
				}
				cancel(interrupted{s})
			case <-stopped:
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(pipes); cancel(context.Canceled); close(stopped) }
}

// interrupted is the cause of a context that a signal cancelled.
type interrupted struct{ signal os.Signal }

func (i interrupted) Error() string { return "interrupted by " + i.signal.String() }

// exit is 128 and the number of the signal, as shells have it.
func (i interrupted) exit() int {
	if s, ok := i.signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exitInterrupted
}
