package ledger

import (
	"database/sql"
	"errors"
)

// Version is the version of the tables, which every ledger states. A program refuses a
// ledger of any other version.
const Version = 1

// schema makes the tables, in words that each database's dialect spells.
var schema = []string{
	`CREATE TABLE ` + versionTable + ` (one BIGINT PRIMARY KEY CHECK (one = 1), version BIGINT NOT NULL)`,
	`CREATE TABLE dprelease_head (
		one BIGINT PRIMARY KEY CHECK (one = 1),
		ledger TEXT NOT NULL,
		secret TEXT NOT NULL,
		seq BIGINT NOT NULL,
		hash TEXT NOT NULL,
		at BIGINT NOT NULL,
		refused TEXT NOT NULL
	)`,
	`CREATE TABLE dprelease_records (
		seq BIGINT PRIMARY KEY,
		kind TEXT NOT NULL,
		body TEXT NOT NULL,
		prev TEXT NOT NULL,
		hash TEXT NOT NULL
	)`,
	// Private looks (look.go).
	`CREATE INDEX dprelease_records_looks ON dprelease_records (seq) WHERE kind = 'look'`,
	// The digests of the state (tree.go).
	`CREATE TABLE dprelease_tree (path TEXT PRIMARY KEY, node TEXT NOT NULL) WITHOUT ROWID`,
	// state is the row of which the tree of digests keeps the digest, as JSON. The other columns find it.
	`CREATE TABLE dprelease_accounts (
		id BIGINT PRIMARY KEY,
		dataset TEXT NOT NULL,
		unit TEXT NOT NULL,
		relation TEXT NOT NULL,
		slice TEXT NOT NULL,
		last BIGINT NOT NULL,
		state TEXT NOT NULL,
		UNIQUE (dataset, unit, relation, slice)
	)`,
	`CREATE TABLE dprelease_slices (
		account BIGINT NOT NULL,
		bucket TEXT NOT NULL,
		tallies TEXT NOT NULL,
		PRIMARY KEY (account, bucket)
	) WITHOUT ROWID`,
	`CREATE TABLE dprelease_releases (
		id BIGINT PRIMARY KEY,
		account BIGINT NOT NULL,
		slice TEXT NOT NULL,
		plan TEXT NOT NULL,
		content TEXT,
		state TEXT NOT NULL,
		holder TEXT NOT NULL,
		token BIGINT NOT NULL,
		lease_until BIGINT NOT NULL,
		archive_digest TEXT,
		UNIQUE (plan, content)
	)`,
	// The bytes of releases, apart: a database writes a row as a whole where a release changes.
	`CREATE TABLE dprelease_archives (release BIGINT PRIMARY KEY, archive BLOB NOT NULL)`,
	`CREATE INDEX dprelease_releases_slice ON dprelease_releases (account, slice)`,
	// The nodes of accounts (node.go). What is sealed is encrypted (vault.go).
	`CREATE TABLE dprelease_nodes (
		id TEXT PRIMARY KEY,
		kind TEXT NOT NULL,
		account BIGINT NOT NULL,
		debit BIGINT NOT NULL,
		state TEXT NOT NULL,
		sealed BLOB
	)`,
	`CREATE INDEX dprelease_nodes_account ON dprelease_nodes (account)`,
	// Keys that can be destroyed (keys.go).
	`CREATE TABLE dprelease_keys (node TEXT PRIMARY KEY, own TEXT NOT NULL) WITHOUT ROWID`,
	// Which columns accounts were charged for, under the ledger's key (same.go).
	`CREATE TABLE dprelease_columns (name TEXT PRIMARY KEY, release BIGINT NOT NULL, charged TEXT NOT NULL) WITHOUT ROWID`,
	`CREATE TABLE dprelease_separate (
		one TEXT NOT NULL,
		other TEXT NOT NULL,
		PRIMARY KEY (one, other)
	) WITHOUT ROWID`,
	// How runs failed after their debit: private, and beside the chain (failure.go).
	`CREATE TABLE dprelease_failures (
		release BIGINT PRIMARY KEY,
		content TEXT NOT NULL,
		failure TEXT NOT NULL
	)`,
	// Folders that a run makes for itself, to be removed if it is killed (failure.go).
	`CREATE TABLE dprelease_leftovers (
		release BIGINT PRIMARY KEY,
		account BIGINT NOT NULL,
		host TEXT NOT NULL,
		path TEXT NOT NULL
	)`,
	`CREATE INDEX dprelease_leftovers_account ON dprelease_leftovers (account)`,
}

const versionTable = "dprelease_version"

// noTables is the version of a database without a ledger.
const noTables = -1

// makeTables makes the tables in the caller's transaction.
func (t *tx) makeTables() error {
	for _, s := range schema {
		if err := t.exec(t.l.dialect.spelling.Replace(s)); err != nil {
			return err
		}
	}
	return t.exec("INSERT INTO "+versionTable+" (one, version) VALUES (1, ?)", Version)
}

// version returns the version of the tables that are there, or noTables.
func (t *tx) version() (int, error) {
	var n, version int
	if err := t.row(t.l.dialect.exists, versionTable).Scan(&n); err != nil {
		return 0, err
	}
	if n == 0 {
		return noTables, nil
	}
	err := t.row("SELECT version FROM " + versionTable).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, refuse(CodeTampered, "%s does not state the version of its tables", t.l.address)
	}
	return version, err
}
