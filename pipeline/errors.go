package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// Problem is one fault of a job, with its place in the file.
type Problem struct {
	File         string
	Line, Column int
	Path         string // of the key; "" stands for the text as a whole
	Message      string
	Hint         string // what to do about it; may be empty

	text string
}

// Error prints file:line:column: path: message (hint).
func (p Problem) Error() string { return p.text }

// Problems are the faults of a job, in the order of its text.
type Problems []Problem

// Error prints a line for each.
func (p Problems) Error() string {
	text := ""
	for i, one := range p {
		if i > 0 {
			text += "\n"
		}
		text += one.text
	}
	return text
}

// Spent is the effect on the budget of a call that failed.
type Spent string

// A failure spent nothing, or the debit of this run, which stands, or nobody knows and the
// ledger alone can tell.
const (
	SpentNone    Spent = Spent(failure.SpentNone)
	SpentRun     Spent = Spent(failure.SpentRun)
	SpentUnknown Spent = Spent(failure.SpentUnknown)
)

// Retry reports whether the same call may succeed when it is made again.
type Retry string

// Whether to try again: a program may do it; not before something is changed; or a
// person has to look first.
const (
	RetryYes  Retry = Retry(failure.RetryYes)
	RetryNo   Retry = Retry(failure.RetryNo)
	RetryLook Retry = Retry(failure.RetryLook)
)

// Failure is an error that is not about the text of the job. After the first row has been read its Message is a constant
// (P20). It is context.Canceled, or context.DeadlineExceeded, where the context stopped the call.
type Failure struct {
	Exit    int    // the exit code of the command line
	Code    string // one word of those in docs/exit-codes.md
	Message string // a sentence for a person
	Spent   Spent
	Retry   Retry

	cause error
}

// Error returns the code and the message.
func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Unwrap returns the error of the context that stopped the call; nil where none did.
func (f *Failure) Unwrap() error { return f.cause }

// told turns an error of the verbs into one that other programs know.
func told(ctx context.Context, err error) error {
	var f *failure.Failure
	var many job.Problems
	var one job.Problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		out := &Failure{Exit: failure.Ends(f.Exit, f.Retry()), Code: f.Code, Message: f.Message, Spent: Spent(f.Cost()), Retry: Retry(f.Retry())}
		if f.Code == "INTERRUPTED" || f.Code == "PLUGIN_CANCELED" {
			out.cause = ctx.Err()
		}
		return out
	case ctx.Err() != nil: // a check that was cut off may look like a problem of the job
		return &Failure{Exit: failure.ExitInterrupted, Code: "INTERRUPTED", Message: "stopped; nothing was drawn and nothing was spent",
			Spent: SpentNone, Retry: RetryYes, cause: ctx.Err()}
	case errors.As(err, &many):
	case errors.As(err, &one):
		many = job.Problems{one}
	default: // whose text nobody knows, and so nobody may print (P20)
		return &Failure{Exit: failure.ExitBug, Code: "INTERNAL",
			Message: fmt.Sprintf("a bug: an unexpected error of type %T; please report it", err),
			Spent:   SpentUnknown, Retry: RetryLook}
	}
	out := make(Problems, len(many))
	for i, p := range many {
		out[i] = Problem{File: p.File, Line: p.Line, Column: p.Column, Path: p.Path, Message: p.Message, Hint: p.Hint, text: p.Error()}
	}
	return out
}
