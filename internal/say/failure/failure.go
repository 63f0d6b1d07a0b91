package failure

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/dprelease/dprelease/ledger"
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
	ExitRetry        = 75 // EX_TEMPFAIL
	ExitInterrupted  = 130
)

// Spent is the effect on the budget of a command that failed.
type Spent string

// The values of Spent say what a failure spent.
const (
	SpentNone    Spent = "none"     // nothing was debited by this command
	SpentRun     Spent = "this run" // the debit of this run, with all its releases, stands
	SpentUnknown Spent = "unknown"  // a commit failed, and the ledger alone knows
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

// Cost returns what the failure spent.
func (f *Failure) Cost() Spent {
	if f.Spent == "" {
		return SpentNone
	}
	return f.Spent
}

// Retry returns whether the same command may succeed. After a debit the next run stops
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

// Ends returns the exit code of a command that failed: ExitRetry where a scheduler may run it again, unless a signal stopped it.
func Ends(exit int, retry Retry) int {
	if retry == RetryYes && exit < ExitInterrupted-2 { // 128 and a signal
		return ExitRetry
	}
	return exit
}

// New makes a failure.
func New(exit int, code, format string, args ...any) *Failure {
	return &Failure{Exit: exit, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Resting marks a failure that leaves the releases in the ledger: the next run
// publishes them and spends nothing.
func Resting(f *Failure) *Failure {
	f.Again = RetryYes
	return f
}

// AfterDebit marks an error of a run whose debit stands.
func AfterDebit(err error) error {
	var f *Failure
	if !errors.As(err, &f) {
		return err
	}
	marked := *f // some failures are shared by all runs
	marked.Spent = SpentRun
	return &marked
}

// As gives an unexpected error an exit code. Its text is dropped: only
// errors of known types may speak once rows have been read.
func As(err error, exit int, code, message string) error {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Exit: exit, Code: code, Message: message}
}

// SpentOnly ends what is said of a failure after the debit.
const SpentOnly = "; nothing was published, and the budget is spent"

// Reason is an error of the file system without the path.
func Reason(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// Message returns the message of an error of the ledger.
func Message(err error) string {
	var known *ledger.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return "cannot be used"
}

// OfLedger gives an error of the ledger its exit code; nil stays nil.
func OfLedger(ctx context.Context, err error) error {
	var known *ledger.Error
	var f *Failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return f
	case ctx.Err() != nil && (!errors.As(err, &known) || known.Code == ledger.CodeUnreachable):
		// A call that was cut off looks like a broken connection; a commit that was cut
		// off is LEDGER_UNKNOWN, and says so.
		return New(ExitInterrupted, "INTERRUPTED", "the run was interrupted; nothing was drawn and nothing debited")
	case errors.As(err, &known):
		f := New(CodeOf(known.Code).Exit, known.Code, "%s", known.Message)
		if known.Code == ledger.CodeUnknown {
			f.Spent = SpentUnknown
		}
		return f
	}
	return New(ExitLedger, ledger.CodeUnreachable, "the ledger cannot be used")
}
