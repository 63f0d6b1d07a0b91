// Package ledgercheck is an offline checker of histories: it is shown what a
// recovered ledger says and everything that anybody can see, and says what cannot
// have come about in the right way. It knows nothing of how a ledger works.
//
// It imports the standard library alone, and is used by tests: of the ledger, and
// of whole runs of jobs that are killed.
//
// It promises to find: spends below the debits of what was ever visible, two
// different outputs of one plan on one content or on one debit, an output without a
// debit, a spend that went down, a limit that was exceeded, and slices whose largest
// one or sum is not what is said. It cannot see what was visible and is gone.
package ledgercheck
