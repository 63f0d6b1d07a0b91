package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

func main() { os.Exit(realMain()) }

func realMain() int {
	if serving(os.Args[1:]) {
		serveBuiltins()
		return exitDone
	}
	stderr := os.Stderr
	if slices.Contains(os.Args[1:], "run") { // nothing else reads a private row
		stderr = apart()
	}
	tuneCollector()
	ctx, stop := interruptible(context.Background())
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

// stops are the signals that end a run in good order. All but the first two would print
// stacks and registers, which could hold what was just read (P20): a watchdog sends
// SIGABRT, a shell SIGQUIT. A fault of this program's own is not a signal here, but a
// panic.
var stops = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGILL, syscall.SIGTRAP,
	syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSYS}

// interruptible is cancelled by the signals in stops, and by SIGHUP unless the run was
// started with nohup; the cause says by which. A second signal ends the process at once.
//
// A closed pipe on standard output must not end a run that has spent its budget:
// SIGPIPE is caught, so that a write fails instead. It is not ignored, because
// that would be inherited by the plugins.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals, pipes := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Notify(signals, stops...)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
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
