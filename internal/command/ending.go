package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// The exit codes that the command line itself uses; docs/exit-codes.md has all.
const (
	ExitDone        = failure.ExitDone
	ExitBug         = failure.ExitBug
	ExitUsage       = failure.ExitUsage
	ExitInvalidJob  = failure.ExitInvalidJob
	ExitInterrupted = failure.ExitInterrupted
)

// Failed is the error of a command that has printed its own error, or has none
// to print.
type Failed struct{ Exit int }

// Error names the exit code.
func (f Failed) Error() string { return fmt.Sprintf("exit %d", f.Exit) }

// Exited returns the error of a command that knows its exit code, nil where it is done.
func Exited(exit int) error {
	if exit == ExitDone {
		return nil
	}
	return Failed{exit}
}

// Mark begins each line that --json prints while a job is at work: the event, and the run and the job to which it belongs.
type Mark struct {
	Event string `json:"event"`
	Run   string `json:"run,omitempty"`
	Job   string `json:"job,omitempty"`
}

// Mark returns the beginning of an event's line. A job that cannot be read has no name.
func (e *Environment) Mark(event string) Mark { return Mark{event, e.RunID, e.JobName} }

// Ending is the last line of a command that did not succeed.
type Ending struct {
	Mark
	Exit    int           `json:"exit"`
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Spent   failure.Spent `json:"spent"`
	Retry   failure.Retry `json:"retry"`
	At      string        `json:"time"`
	// Unconfined are the plugins of third parties that ran without a sandbox.
	Unconfined []string `json:"unconfined,omitempty"`
}

// Unspent is a failure before any debit.
func Unspent(exit int, code, message string) Ending {
	retry := failure.CodeOf(code).Retry
	return Ending{Mark: Mark{Event: "failed"}, Exit: failure.Ends(exit, retry), Code: code, Spent: failure.SpentNone, Retry: retry,
		Message: message, At: time.Now().UTC().Format(time.RFC3339)}
}

// Last returns the line that a terminal shows below the message of a failure.
func (f Ending) Last() string {
	line := fmt.Sprintf("failed: code %s, exit %d; spent: %s; retry: %s; %s", f.Code, f.Exit, f.Spent, f.Retry, f.At)
	if len(f.Unconfined) > 0 {
		line += "; not confined: " + OneLine(strings.Join(f.Unconfined, ", "))
	}
	return line
}

// Explain turns an error into an exit code, a fixed code word and a text, and
// into the problems of the job where that is what it holds. Only errors of known
// kinds may speak: any other could hold a cell value (P20).
func Explain(ctx context.Context, err error) (Ending, job.Problems) {
	var known *failure.Failure
	var by Interrupted
	stopped := errors.As(context.Cause(ctx), &by)
	if errors.As(err, &known) {
		f := Unspent(known.Exit, known.Code, known.Message)
		f.Spent, f.Retry = known.Cost(), known.Retry()
		if f.Exit = failure.Ends(known.Exit, f.Retry); stopped && known.Exit == ExitInterrupted {
			f.Exit = by.Exit()
		}
		return f, nil
	}
	problems := ProblemsOf(err)
	switch {
	case stopped:
		// A check that was cut off may look like a problem of the job.
		return Unspent(by.Exit(), "INTERRUPTED", "interrupted; nothing was drawn and nothing was spent"), nil
	case len(problems) > 0:
		return Unspent(ExitInvalidJob, "INVALID_JOB", "the job is not valid; nothing was drawn and nothing was spent"), problems
	case errors.Is(err, context.Canceled):
		return Unspent(ExitInterrupted, "INTERRUPTED", "interrupted; nothing was drawn and nothing was spent"), nil
	}
	// Nobody knows where this came from, so nobody knows what it spent.
	f := Unspent(ExitBug, "INTERNAL", fmt.Sprintf("a bug: an unexpected error of type %T; please report it", err))
	f.Spent = failure.SpentUnknown
	return f, nil
}

// ProblemsOf are the problems of a job that an error holds.
func ProblemsOf(err error) job.Problems {
	var many job.Problems
	var one job.Problem
	switch {
	case errors.As(err, &many):
		return many
	case errors.As(err, &one):
		return job.Problems{one}
	}
	return nil
}

// guard runs f and turns a panic into one line without the panic's value, which
// could hold a cell (P20): its type, and the function that it came from.
func guard(errw io.Writer, f func() int) (exit int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(errw, "dprelease: a bug: panic of type %T in %s; please report it\n", r, origin())
			f := Unspent(ExitBug, "PANIC", "")
			f.Spent = failure.SpentUnknown
			fmt.Fprintln(errw, f.Last())
			exit = ExitBug
		}
	}()
	return f()
}

// origin names the function that panicked: the first one below the runtime.
func origin() string {
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(1, pc)])
	below := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			below = true
		case below && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s (%s:%d)", path.Base(f.Function), path.Base(f.File), f.Line)
		}
		if !more {
			return "an unknown function"
		}
	}
}
