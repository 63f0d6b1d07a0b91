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

// interruptible is cancelled by SIGINT and SIGTERM, by SIGQUIT, whose stack dump
// could hold what was just read (P20), and by SIGHUP unless the run was started with
// nohup; the cause says by which. A second signal ends the process at once.
//
// A closed pipe on standard output must not end a run that has spent its budget:
// SIGPIPE is caught, so that a write fails instead. It is not ignored, because
// that would be inherited by the plugins.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals, pipes := make(chan os.Signal, 2), make(chan os.Signal, 1)
	stops := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		stops = append(stops, syscall.SIGHUP)
	}
	signal.Notify(signals, stops...)
	signal.Notify(pipes, syscall.SIGPIPE)
	stopped := make(chan struct{})
	go func() {
		for second := false; ; second = true {
			select {
			case s := <-signals:
				if second {
					os.Exit(interrupted{s}.exit())
				}
				cancel(interrupted{s})
			case <-stopped:
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); signal.Stop(pipes); cancel(context.Canceled); close(stopped) }
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
