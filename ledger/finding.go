package ledger

// Finding is one thing that is wrong with a ledger or with what it released.
type Finding struct {
	Code  string `json:"code"`
	Where string `json:"where"`
	What  string `json:"what"`
}

// The codes of findings.
const (
	FoundChain      = "chain"       // a record was changed, left out or put in
	FoundBody       = "record"      // a record says what cannot have happened
	FoundTables     = "tables"      // the tables do not follow from the chain
	FoundOverspent  = "overspent"   // a debit that the limit did not allow
	FoundRolledBack = "rolled-back" // a release is newer than the ledger
	FoundForked     = "forked"      // a release belongs to another line of history: a copy was used
	FoundAltered    = "altered"     // files differ from those that were sealed
	FoundUndebited  = "undebited"   // a release without a debit
	FoundStored     = "stored"      // stored bytes differ from those that were sealed
)
