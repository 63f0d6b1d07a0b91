package ledger

import "fmt"

// The fixed codes of an [Error].
const (
	CodeAddress     = "LEDGER_ADDRESS"     // the address is not one
	CodeMissing     = "LEDGER_MISSING"     // there is no ledger at the address
	CodeUnreadable  = "LEDGER_UNREADABLE"  // its file or folder cannot be examined or made
	CodeUnreachable = "LEDGER_UNREACHABLE" // its server does not answer, or its connection or disk failed
	CodeTLS         = "LEDGER_TLS"         // the connection would not be encrypted, or ends at somebody else
	CodeUnsafe      = "LEDGER_UNSAFE"      // the database does not make commits durable
	CodeVersion     = "LEDGER_VERSION"     // its tables have a version that this program does not know
	CodeLocked      = "LEDGER_LOCKED"      // another process kept it locked for too long
	CodeReadOnly    = "LEDGER_READ_ONLY"   // it cannot be written
	CodeFull        = "LEDGER_FULL"        // the disk is full
	CodeMoved       = "LEDGER_MOVED"       // its file was moved or replaced while it was open
	CodeBroken      = "LEDGER_BROKEN"      // an earlier error made this handle useless
	CodeUnknown     = "LEDGER_UNKNOWN"     // a commit failed, its outcome is not known
	CodeClock       = "LEDGER_CLOCK"       // the clock went backwards
	CodeTampered    = "LEDGER_TAMPERED"    // its tables and its chain disagree
	CodeRolledBack  = "LEDGER_ROLLED_BACK"
	CodeRefused     = "LEDGER_REFUSED" // somebody refused it for good
	CodeExhausted   = "BUDGET_EXCEEDED"
	CodeFilter      = "BUDGET_FILTER"    // the account's filter cannot charge this job
	CodeAccount     = "BUDGET_ACCOUNT"   // the account is not there, is there already, or its slices are of another kind
	CodeSample      = "LEDGER_SAMPLE"    // a kept sample is not there, or not for this job
	CodeBill        = "BUDGET_BILL"      // the job costs more than its bill says, or its run did something else (P38)
	CodePinned      = "LEDGER_PINNED"    // a state that outlives a run was paid for with other rules (P36)
	CodeKept        = "BUDGET_KEPT"      // the job keeps a column that its account does not (P27)
	CodeSame        = "BUDGET_SAME_DATA" // another account, or another slice, was charged for the same data
	CodeLimit       = "BUDGET_LIMIT"     // a limit that may not be set in this way
	CodeUnfinished  = "RUN_UNFINISHED"   // an earlier run was cut off after its debit
	CodeLease       = "RUN_FENCED"       // this run has lost its lease
	CodeReleased    = "RUN_RELEASED"     // the same releases of the same data are there already
	CodeRevised     = "RUN_REVISED"      // a slice that was released has another table now
	CodeSeries      = "SERIES_ORDER"     // an earlier step of a series was not measured
	CodeChanged     = "SOURCE_CHANGED"   // the data changed during the run
	CodeTooLarge    = "OUTPUT_TOO_LARGE"
)

// Error is a refusal of the ledger. Only names, amounts and addresses vary in its text.
// Addresses come without their passwords, and no part of the text depends on a row (P20).
type Error struct {
	Code    string
	Message string

	poison bool
}

// Error is the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

func refuse(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func poison(code, format string, args ...any) *Error {
	e := refuse(code, format, args...)
	e.poison = true
	return e
}
