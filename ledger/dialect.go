package ledger

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/dprelease/dprelease/ledger/postgres"
)

// dialect is all in which the two databases differ.
type dialect struct {
	driver     string
	beginWrite string            // begins a transaction that may write, alone or up to lockHead
	beginRead  string            // begins a transaction that sees one state
	forUpdate  string            // after the selection of the head: one writer at a time
	spelling   *strings.Replacer // of the schema
	numbered   bool              // placeholders are $1, $2
	exists     string            // counts the tables of a given name
	secret     string            // an expression that makes 32 random bytes in hex, "" where they are given
	settings   []string          // waitHere stands for the wait for a lock, in milliseconds
	checks     []check           // what must hold for a commit to be durable
	keep       string            // what may hold a key that was destroyed
}

type check struct {
	query string
	want  []string
	why   string
}

const oldestPostgres = 140000

const waitHere = "{wait}"

var sqliteDialect = dialect{
	driver:     "sqlite",
	beginWrite: "BEGIN IMMEDIATE",
	beginRead:  "BEGIN",
	spelling:   strings.NewReplacer("BIGINT PRIMARY KEY", "INTEGER PRIMARY KEY"), // the row's own number, without an index
	exists:     "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?",
	settings: []string{
		"PRAGMA busy_timeout = " + waitHere,
		"PRAGMA foreign_keys = ON",
		"PRAGMA synchronous = FULL",
		"PRAGMA secure_delete = ON", // what was destroyed is overwritten: see ClosePanel
	},
	checks: []check{{"PRAGMA synchronous", []string{"2", "3"}, "synchronous is off"}},
	keep:   "backups and copies of the ledger, and snapshots of the file system, still hold the key: delete those that are older than this",
}

var postgresDialect = dialect{
	driver:     postgres.Name,
	beginWrite: "BEGIN ISOLATION LEVEL READ COMMITTED",
	beginRead:  "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
	forUpdate:  " FOR UPDATE",
	spelling:   strings.NewReplacer("BLOB", "BYTEA", " WITHOUT ROWID", ""),
	numbered:   true,
	exists:     "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = ?",
	// 366 bits from the server's own strong randomness, made 256.
	secret: "encode(sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')), 'hex')",
	settings: []string{
		"SET lock_timeout = " + waitHere,
		// A client that vanished in mid-transaction must not hold the head for ever.
		"SET idle_in_transaction_session_timeout = '60s'",
		"SET synchronous_commit = on",
	},
	checks: []check{
		{"SHOW fsync", []string{"on"}, "the server runs with fsync = off"},
		{"SHOW synchronous_commit", []string{"on", "remote_apply"}, "synchronous_commit is off"},
	},
	keep: "the server's write-ahead log holds the key until the server removes those segments; archives of the log, backups, dumps, " +
		"replicas and snapshots hold it for good: see docs/ledger.md",
}

func (a Address) dialect() *dialect {
	if a.postgres != "" {
		return &postgresDialect
	}
	return &sqliteDialect
}

// dsn returns the text that the driver is opened with.
func (a Address) dsn() string {
	if a.postgres != "" {
		return a.postgres
	}
	return "file:" + (&url.URL{Path: a.sqlite}).EscapedPath()
}

// bind writes placeholders as the database wants them. No statement of this
// package holds a question mark in a text.
func (d *dialect) bind(query string) string {
	if !d.numbered {
		return query
	}
	var b strings.Builder
	n := 0
	for _, part := range strings.SplitAfter(query, "?") {
		if s, ok := strings.CutSuffix(part, "?"); ok {
			n++
			b.WriteString(s + "$" + strconv.Itoa(n))
			continue
		}
		b.WriteString(part)
	}
	return b.String()
}

// prepareFile makes the file of a new SQLite ledger, for its owner alone, and refuses to
// make one where none is wanted. It makes no folder: one that is not there is a slip in
// the address. SQLite makes the file's name durable when it first writes the log beside it.
func (a Address) prepareFile(create bool) error {
	if a.sqlite == "" {
		return nil
	}
	info, err := os.Stat(a.sqlite)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return refuse(CodeAddress, "%s is not a file", a)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		return refuse(CodeUnreadable, "%s cannot be examined", a)
	case !create:
		return a.missing()
	}
	f, err := os.OpenFile(a.sqlite, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return a.creation(err)
	}
	return f.Close()
}

// missing refuses an address without a ledger.
func (a Address) missing() error {
	command := "dprelease ledger init " + a.shown
	if a.postgres != "" {
		command = "dprelease ledger init ADDRESS" // what is shown has no user
	}
	return refuse(CodeMissing, "there is no ledger at %s; if the address is right, make one with: %s", a, command)
}

func (a Address) creation(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return refuse(CodeMissing, "%s cannot be made: there is no folder %s; make it first if the address is right", a, filepath.Dir(a.sqlite))
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return refuse(CodeFull, "%s cannot be made: the disk is full", a)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return refuse(CodeReadOnly, "%s cannot be made: its folder cannot be written", a)
	}
	return refuse(CodeUnreadable, "%s cannot be made", a)
}

// busy reports that a transaction could not begin because others held the lock.
func busy(err error) bool {
	var s *sqlite.Error
	var p *pgconn.PgError
	switch {
	case errors.As(err, &s):
		return s.Code()&0xff == sqlite3.SQLITE_BUSY
	case errors.As(err, &p):
		return p.Code == "55P03" // lock_not_available
	}
	return false
}

// classify turns a driver's error into one of the fixed codes; its text is dropped,
// because a driver may quote what it was given.
func (a Address) classify(err error) *Error {
	var known *Error
	var s *sqlite.Error
	var p *pgconn.PgError
	switch {
	case errors.As(err, &known):
		return known
	case busy(err):
		return poison(CodeLocked, "%s is locked by another process", a)
	case errors.Is(err, syscall.ENOSPC), errors.As(err, &s) && s.Code()&0xff == sqlite3.SQLITE_IOERR && crowded(a.sqlite):
		return poison(CodeFull, "the disk of %s is full", a)
	case errors.As(err, &s):
		switch s.Code() & 0xff {
		case sqlite3.SQLITE_FULL:
			return poison(CodeFull, "the disk of %s is full", a)
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
			return poison(CodeReadOnly, "%s cannot be written", a)
		case sqlite3.SQLITE_NOTADB:
			return poison(CodeAddress, "%s is not a ledger: the file is no SQLite database, or its beginning is damaged", a)
		case sqlite3.SQLITE_CORRUPT:
			return poison(CodeTampered, "%s is damaged: put the newest whole copy of the ledger in its place, and verify it against the releases", a)
		case sqlite3.SQLITE_CANTOPEN:
			return poison(CodeReadOnly, "%s cannot be opened by this user: its file must be readable, and its folder writable, "+
				"because SQLite keeps two files beside it; to look at a ledger on a read-only disk, copy it", a)
		case sqlite3.SQLITE_IOERR:
			return poison(CodeUnreachable, "the disk of %s failed", a)
		}
	case errors.As(err, &p) && p.Code == "53100":
		return poison(CodeFull, "the disk of %s is full", a)
	case errors.As(err, &p) && (p.Code == "25006" || p.Code == "42501"):
		return poison(CodeReadOnly, "%s cannot be written by this user", a)
	}
	switch postgres.CauseOf(err) {
	case postgres.Untrusted:
		return poison(CodeTLS, "the connection to %s cannot be encrypted as sslmode asks for: the server does not offer TLS, or its certificate "+
			"is not trusted; sslmode=disable in the address does without", a)
	case postgres.Denied:
		return poison(CodeAddress, "%s refuses this user, or the password", a)
	case postgres.Absent:
		return poison(CodeMissing, "there is no such database: %s", a)
	case postgres.Unreachable, postgres.Other:
	}
	return poison(CodeUnreachable, "%s cannot be used: the connection or the disk failed", a)
}

// prepare makes a new connection safe to use.
func (d *dialect) prepare(ctx context.Context, a Address, c *sql.Conn, o Options) error {
	wait := strconv.FormatInt(max(1, o.LockWait.Milliseconds()), 10)
	for _, s := range d.settings {
		if _, err := c.ExecContext(ctx, strings.ReplaceAll(s, waitHere, wait)); err != nil {
			return a.classify(err)
		}
	}
	if d == &sqliteDialect && !o.ReadOnly {
		var mode string
		if err := c.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
			return a.classify(err)
		}
		if mode != "wal" {
			return refuse(CodeUnsafe, "%s is on a file system that cannot keep a write-ahead log", a)
		}
	}
	if d.numbered {
		var version int
		if err := c.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
			return a.classify(err)
		}
		if version < oldestPostgres {
			return refuse(CodeUnsafe, "%s is a PostgreSQL older than version %d", a, oldestPostgres/10000)
		}
	}
	for _, k := range d.checks {
		var got string
		if err := c.QueryRowContext(ctx, k.query).Scan(&got); err != nil {
			return a.classify(err)
		}
		if !slices.Contains(k.want, got) && !o.ReadOnly {
			return refuse(CodeUnsafe, "%s would lose commits in a crash: %s", a, k.why)
		}
	}
	return nil
}
