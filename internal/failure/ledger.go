package failure

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/ledger"
)

// Message is what an error of the ledger says.
func Message(err error) string {
	var known *ledger.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return "cannot be used"
}

// OfLedger gives an error of the ledger its exit code.
func OfLedger(ctx context.Context, err error) error {
	var known *ledger.Error
	var f *Failure
	switch {
	case errors.As(err, &f):
		return f
	case ctx.Err() != nil && (!errors.As(err, &known) || known.Code == ledger.CodeUnreadable):
		// A call that was cut off looks like a broken connection; a commit that was cut
		// off is LEDGER_UNKNOWN, and says so.
		return New(ExitInterrupted, "INTERRUPTED", "the run was interrupted; nothing was drawn and nothing debited")
	case errors.As(err, &known):
		exit := ExitLedger
		switch known.Code {
		case ledger.CodeExhausted, ledger.CodeFilter, ledger.CodeKept, ledger.CodeSame:
			exit = ExitBudget
		case ledger.CodeChanged:
			exit = ExitSource
		}
		f := New(exit, known.Code, "%s", known.Message)
		if known.Code == ledger.CodeUnknown {
			f.Spent = SpentUnknown
		}
		return f
	}
	return New(ExitLedger, ledger.CodeUnreadable, "the ledger cannot be used")
}
