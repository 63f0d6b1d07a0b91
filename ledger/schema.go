package ledger

import (
	"context"
	"fmt"
	"strings"
)

// step holds the statements that turn the tables of one version into those of the next.
// BLOB stands for the database's own type for bytes. A step never touches a record of the
// chain; upgrade appends one.
type step []string

// schema are all steps, the first one from nothing. A program of this version
// reads ledgers of every earlier version, after bringing them up to date.
var schema = []step{{
	`CREATE TABLE dprelease_head (
		one BIGINT PRIMARY KEY CHECK (one = 1),
		ledger TEXT NOT NULL,
		content_key TEXT NOT NULL,
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
	`CREATE TABLE dprelease_accounts (
		id BIGINT PRIMARY KEY,
		dataset TEXT NOT NULL,
		unit TEXT NOT NULL,
		relation TEXT NOT NULL,
		filter TEXT NOT NULL,
		orders TEXT NOT NULL,
		limit_epsilon TEXT NOT NULL,
		limit_delta TEXT NOT NULL,
		spent TEXT NOT NULL,
		debits BIGINT NOT NULL,
		UNIQUE (dataset, unit, relation)
	)`,
	`CREATE TABLE dprelease_releases (
		id BIGINT PRIMARY KEY,
		account BIGINT NOT NULL,
		plan TEXT NOT NULL,
		content TEXT,
		state TEXT NOT NULL,
		holder TEXT NOT NULL,
		token BIGINT NOT NULL,
		lease_until BIGINT NOT NULL,
		archive_digest TEXT,
		archive BLOB,
		UNIQUE (plan, content)
	)`,
	`CREATE INDEX dprelease_releases_plan ON dprelease_releases (plan)`,
	`CREATE INDEX dprelease_releases_account ON dprelease_releases (account)`,
}, {
	// Kept samples: the rows are encrypted (vault.go).
	`CREATE TABLE dprelease_samples (
		id TEXT PRIMARY KEY,
		account BIGINT NOT NULL,
		debit BIGINT NOT NULL,
		name TEXT NOT NULL,
		event TEXT NOT NULL,
		design TEXT NOT NULL,
		uses BIGINT NOT NULL,
		spent_epsilon TEXT NOT NULL,
		spent_delta TEXT NOT NULL,
		charged_epsilon TEXT NOT NULL,
		charged_delta TEXT NOT NULL,
		content TEXT,
		digest TEXT,
		sealed BLOB
	)`,
	`CREATE INDEX dprelease_samples_account ON dprelease_samples (account)`,
}, {
	// The digests of the state: see tree. The secret gets another name so that a run of an
	// older program, which has the ledger open, writes no more.
	`ALTER TABLE dprelease_head RENAME COLUMN content_key TO secret`,
	`CREATE TABLE dprelease_tree (path TEXT PRIMARY KEY, node TEXT NOT NULL)`,
	`ALTER TABLE dprelease_accounts ADD COLUMN acts BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE dprelease_accounts ADD COLUMN last BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE dprelease_accounts ADD COLUMN two_persons BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE dprelease_accounts ADD COLUMN pending TEXT NOT NULL DEFAULT ''`,
	// Private looks (look.go).
	`CREATE INDEX dprelease_records_looks ON dprelease_records (seq) WHERE kind = 'look'`,
	// The columns that neighbours keep (keeps.go), '' where the first job decides it.
	`ALTER TABLE dprelease_accounts ADD COLUMN keeps TEXT NOT NULL DEFAULT ''`,
	// The digests by which earlier versions knew what a job asks for (former.go).
	`CREATE TABLE dprelease_former (release BIGINT PRIMARY KEY, digest TEXT NOT NULL)`,
	`CREATE INDEX dprelease_former_digest ON dprelease_former (digest)`,
	// How runs failed after their debit: private, and beside the chain (failure.go).
	`CREATE TABLE dprelease_failures (
		release BIGINT PRIMARY KEY,
		content TEXT NOT NULL,
		failure TEXT NOT NULL
	)`,
	// Which columns an account was charged for, under the ledger's key (same.go).
	`CREATE TABLE dprelease_columns (
		account BIGINT NOT NULL,
		tag TEXT NOT NULL,
		digest TEXT NOT NULL,
		PRIMARY KEY (tag, digest, account)
	)`,
	`CREATE TABLE dprelease_separate (
		one TEXT NOT NULL,
		other TEXT NOT NULL,
		PRIMARY KEY (one, other)
	)`,
	`CREATE INDEX dprelease_releases_content ON dprelease_releases (content)`,
	// Folders that a run makes for itself, to be removed if it is killed (failure.go).
	`CREATE TABLE dprelease_leftovers (
		release BIGINT PRIMARY KEY,
		account BIGINT NOT NULL,
		host TEXT NOT NULL,
		path TEXT NOT NULL
	)`,
	`CREATE INDEX dprelease_leftovers_account ON dprelease_leftovers (account)`,
}, {
	// Slices (tally.go), and limits in ρ. The secret gets another name again: a program that
	// does not know slices must write no more.
	`ALTER TABLE dprelease_head RENAME COLUMN secret TO ledger_secret`,
	// The rule that an account is there once has one column more.
	`CREATE TABLE dprelease_accounts_4 (
		id BIGINT PRIMARY KEY,
		dataset TEXT NOT NULL,
		unit TEXT NOT NULL,
		relation TEXT NOT NULL,
		slice TEXT NOT NULL DEFAULT '',
		filter TEXT NOT NULL,
		orders TEXT NOT NULL,
		limit_epsilon TEXT NOT NULL,
		limit_delta TEXT NOT NULL,
		limit_rho TEXT NOT NULL DEFAULT '',
		lifetime TEXT NOT NULL DEFAULT '',
		spent TEXT NOT NULL,
		debits BIGINT NOT NULL,
		acts BIGINT NOT NULL DEFAULT 0,
		last BIGINT NOT NULL DEFAULT 0,
		two_persons BIGINT NOT NULL DEFAULT 0,
		pending TEXT NOT NULL DEFAULT '',
		keeps TEXT NOT NULL DEFAULT '',
		slices BIGINT NOT NULL DEFAULT 0,
		largest TEXT NOT NULL DEFAULT '',
		UNIQUE (dataset, unit, relation, slice)
	)`,
	`INSERT INTO dprelease_accounts_4 (id, dataset, unit, relation, filter, orders, limit_epsilon, limit_delta, spent, debits, acts, last, two_persons, pending, keeps)
		SELECT id, dataset, unit, relation, filter, orders, limit_epsilon, limit_delta, spent, debits, acts, last, two_persons, pending, keeps FROM dprelease_accounts`,
	`DROP TABLE dprelease_accounts`,
	`ALTER TABLE dprelease_accounts_4 RENAME TO dprelease_accounts`,
	`CREATE TABLE dprelease_slices (
		account BIGINT NOT NULL,
		bucket TEXT NOT NULL,
		tallies TEXT NOT NULL,
		PRIMARY KEY (account, bucket)
	)`,
	`ALTER TABLE dprelease_releases ADD COLUMN slice TEXT NOT NULL DEFAULT ''`,
	`DROP INDEX dprelease_releases_account`,
	`CREATE INDEX dprelease_releases_slice ON dprelease_releases (account, slice)`,
	`ALTER TABLE dprelease_samples ADD COLUMN slice TEXT NOT NULL DEFAULT ''`,
}}

const versionTable = "dprelease_version"

// migrate brings the tables up to date, in the caller's transaction: a failure leaves the
// version that was there, which it returns.
func migrate(ctx context.Context, t *tx) (from int, err error) {
	if from, err = tableVersion(t); err != nil {
		return from, err
	}
	if from > len(schema) {
		return from, refuse(CodeVersion, "%s was written by a newer program (version %d of its tables, this program knows %d); use that program",
			t.l.address, from, len(schema))
	}
	if from < 0 {
		if err := t.exec("CREATE TABLE " + versionTable + " (one BIGINT PRIMARY KEY CHECK (one = 1), version BIGINT NOT NULL)"); err != nil {
			return from, err
		}
		if err := t.exec("INSERT INTO " + versionTable + " (one, version) VALUES (1, 0)"); err != nil {
			return from, err
		}
		from = 0
	}
	for version := from; version < len(schema); version++ {
		for _, s := range schema[version] {
			if err := t.exec(strings.ReplaceAll(s, "BLOB", t.l.dialect.blob)); err != nil {
				return from, err
			}
		}
		if err := t.exec(fmt.Sprintf("UPDATE "+versionTable+" SET version = %d", version+1)); err != nil {
			return from, err
		}
	}
	return from, nil
}

// tableVersion is the version of the tables that are there, -1 where there are none.
func tableVersion(t *tx) (int, error) {
	var n, version int
	if err := t.row(t.l.dialect.exists, versionTable).Scan(&n); err != nil {
		return 0, err
	}
	if n == 0 {
		return -1, nil
	}
	err := t.row("SELECT version FROM " + versionTable).Scan(&version)
	return version, err
}
