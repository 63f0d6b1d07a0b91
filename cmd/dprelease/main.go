package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/dprelease/dprelease/internal/launch"
)

func main() { os.Exit(realMain()) }

func realMain() int {
	if serving(os.Args[1:]) {
		serve()
		return exitDone
	}
	defer launch.Drop()
	tuneCollector()
	ctx, stop := interruptible(context.Background())
	defer stop()
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	e := &environment{
		in: os.Stdin, out: os.Stdout, errw: os.Stderr,
		getenv: os.LookupEnv, self: self, jobs: pipelineJobs{},
	}
	return e.execute(ctx, os.Args[1:])
}

// interruptible is cancelled by SIGINT and SIGTERM; the cause says by which. A
// second signal ends the process at once.
//
// A closed pipe on standard output must not end a run that has spent its budget:
// SIGPIPE is caught, so that a write fails instead. It is not ignored, because
// that would be inherited by the plugins.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals, pipes := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	signal.Notify(pipes, syscall.SIGPIPE)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(interrupted{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); signal.Stop(pipes); cancel(context.Canceled) }
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
