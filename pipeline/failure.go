package pipeline

import (
	"errors"
	"fmt"
)

// The exit codes of the command line, fixed by the specification.
const (
	ExitDone         = 0
	ExitBug          = 1
	ExitUsage        = 2
	ExitInvalidJob   = 3
	ExitBudget       = 4
	ExitPlugin       = 5
	ExitSource       = 6
	ExitLedger       = 7
	ExitNotPublished = 8
	ExitInterrupted  = 130
)

// Spent says what a command that failed did to the budget.
type Spent string

// What a failure spent.
const (
	SpentNone    Spent = "none"         // nothing was debited by this command
	SpentRelease Spent = "this release" // the debit of this run stands
	SpentUnknown Spent = "unknown"      // a commit failed, and the ledger alone knows
)

// Retry says whether the same command may succeed when it is run again.
type Retry string

// Whether to run the command again.
const (
	RetryYes  Retry = "yes"                   // with nothing changed; a script may do it
	RetryNo   Retry = "no"                    // not before the job, the table or the machine is changed
	RetryLook Retry = "after a person looked" // a program must not decide it
)

// Failure is an error with an exit code. After the first row has been read its
// Message is a constant of this package, with at most a name that stands in the job
// (P20).
type Failure struct {
	Exit    int
	Code    string // one of Codes
	Message string
	Spent   Spent // "" is SpentNone
	// Again is whether to retry where this failure knows better than its code; else "".
	Again Retry
}

// Error is the code and the message.
func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Cost says what the failure spent.
func (f *Failure) Cost() Spent {
	if f.Spent == "" {
		return SpentNone
	}
	return f.Spent
}

// Retry says whether the same command may succeed. After a debit the next run stops
// at RUN_UNFINISHED, so no program can retry by itself (P21), unless the releases are
// stored.
func (f *Failure) Retry() Retry {
	if f.Again != "" {
		return f.Again
	}
	r := CodeOf(f.Code).Retry
	if r == RetryYes && f.Cost() != SpentNone {
		return RetryLook
	}
	return r
}

func fail(exit int, code, format string, args ...any) *Failure {
	return &Failure{Exit: exit, Code: code, Message: fmt.Sprintf(format, args...)}
}

// resting marks a failure that leaves the releases in the ledger: the next run
// publishes them and spends nothing.
func resting(f *Failure) *Failure {
	f.Again = RetryYes
	return f
}

// afterDebit marks an error of a run whose debit stands.
func afterDebit(err error) error {
	var f *Failure
	if !errors.As(err, &f) {
		return err
	}
	marked := *f // some failures are shared by all runs
	marked.Spent = SpentRelease
	return &marked
}

// asFailure gives an unexpected error an exit code. Its text is dropped: only
// errors of known types may speak once rows have been read.
func asFailure(err error, exit int, code, message string) error {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Exit: exit, Code: code, Message: message}
}
