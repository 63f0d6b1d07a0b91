// Package ledger keeps privacy budgets durably: accounts, debits, and the bytes of
// releases. specs/ledger-v1.md has the format and its rules.
//
// A ledger is a database, SQLite for one machine or PostgreSQL for many. It holds one
// chain of hashed records, and tables that follow from the chain. Every record commits to
// the state of the tables after it, and every transaction holds what it reads to the
// newest record (see tree).
//
// A run of a job goes through three states. It is debited: the cost is durable before the
// first random bit is drawn. It is sealed: the bytes of the output are durable before
// anybody can see them. It is published. Whoever asks the same of the same data gets the
// same bytes.
//
// # What it may import
//
// Packages privacy, privacy/step and privacy/periods for prices and filters, privacy/rational for exact
// amounts, and the two database drivers: no package under internal, and no YAML.
//
// # What it promises
//
// The sum of all debits of an account keeps within its limit, under its filter and under
// every interleaving of processes and machines. Nothing is refunded. There is at most one
// output for one plan and one content. A run that was taken for dead cannot seal. After
// an error that leaves it open what the database holds, the handle does nothing more.
//
// A row that somebody edited, deleted or put in is refused before it is used. An audit
// finds every record that was changed, left out or put in, tables that do not follow from
// the chain, and releases on disk that are newer than the ledger, of another line of its
// history, or changed.
//
// The rows of a kept sample are stored encrypted. They become usable with the seal of the
// release that drew them, and are never part of the chain.
//
// # What it does not protect against
//
// Somebody who can write to the database can compute a new chain from the beginning:
// hashes are not signatures, and names are not identities. Only releases or an export that
// lie elsewhere show that. A whole ledger that was rolled back is found when a later
// release is seen, not before. Two ledgers for one data set know nothing of each other.
// The database must keep what it committed: disks that lie about flushing, and file
// systems without locks (some network shares), are outside. The keyed digest of the data
// and the stored outputs are private to the ledger's owner.
package ledger
