package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Ledger is an open ledger. Its methods may be called from several goroutines;
// they are carried out one after another on one connection.
//
// After an error that leaves it unknown what the database holds, every method
// fails with CodeBroken: the caller stops, and a later process finds out.
type Ledger struct {
	address Address
	dialect *dialect
	options Options
	id      string
	content [32]byte
	place   *place // of a SQLite ledger

	mu     sync.Mutex
	db     *sql.DB
	conn   *sql.Conn
	broken *Error
}

// Options say how a ledger is opened.
type Options struct {
	Create   bool // make it where there is none
	ReadOnly bool // change nothing, not even the version of its tables

	clock    func() time.Time               // instead of the machine's or the server's
	database func(Address) (*sql.DB, error) // instead of the driver
	steps    []step                         // instead of schema
	_        struct{}
}

const (
	openTimeout  = 30 * time.Second
	writeTimeout = 60 * time.Second
)

// Open opens a ledger and brings its tables up to date.
func Open(ctx context.Context, a Address, o Options) (*Ledger, error) {
	if o.steps == nil {
		o.steps = schema
	}
	if err := a.prepareFile(o.Create && !o.ReadOnly); err != nil {
		return nil, err
	}
	l := &Ledger{address: a, dialect: a.dialect(), options: o}
	var err error
	if l.place, err = a.findPlace(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if o.database != nil {
		l.db, err = o.database(a)
	} else {
		l.db, err = sql.Open(l.dialect.driver, a.dsn())
	}
	if err != nil {
		return nil, refuse(CodeAddress, "%s is not an address that the database understands", a)
	}
	l.db.SetMaxOpenConns(1)
	if l.conn, err = l.db.Conn(ctx); err != nil {
		err = a.classify(err)
	} else if err = l.dialect.prepare(ctx, a, l.conn, o.ReadOnly); err == nil {
		err = l.begin(ctx)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// begin finds the ledger in the database, or starts one.
func (l *Ledger) begin(ctx context.Context) error {
	version := -1
	var head *head
	look := func(t *tx) (err error) {
		if version, err = tableVersion(ctx, t); err == nil && version == len(l.options.steps) {
			head, err = t.head(ctx)
		}
		return err
	}
	if err := l.read(ctx, look); err != nil {
		return err
	}
	if head == nil {
		switch {
		case version < 0 && (!l.options.Create || l.options.ReadOnly):
			return refuse(CodeMissing, "there is no ledger at %s; the first run of a job makes it, or ledger init", l.address)
		case version > len(l.options.steps):
			return refuse(CodeVersion, "%s was written by a newer program; use that program", l.address)
		case l.options.ReadOnly:
			return refuse(CodeVersion, "%s was written by an older program; any run of a job brings it up to date", l.address)
		}
		if err := l.change(ctx, func(t *tx) error { return l.found(ctx, t) }); err != nil {
			return err
		}
		if err := l.read(ctx, look); err != nil {
			return err
		}
	}
	if head == nil {
		return refuse(CodeTampered, "%s has no head", l.address)
	}
	l.id = head.ledger
	key, err := hex.DecodeString(head.key)
	if err != nil || len(key) != len(l.content) {
		return refuse(CodeTampered, "%s has a damaged head", l.address)
	}
	copy(l.content[:], key)
	return nil
}

// found makes the tables, and the first record of a new ledger.
func (l *Ledger) found(ctx context.Context, t *tx) error {
	if l.dialect == &postgresDialect {
		// Two machines may found the same ledger.
		if err := t.exec("SELECT pg_advisory_xact_lock(7225021890123)"); err != nil {
			return err
		}
	}
	fresh, err := migrate(ctx, t, l.options.steps)
	if err != nil {
		return err
	}
	if !fresh {
		if err := t.lock(ctx); err != nil {
			return err
		}
		return t.upgradeKeeps()
	}
	var id [16]byte
	var key [32]byte
	rand.Read(id[:])
	rand.Read(key[:])
	now, err := t.now(ctx)
	if err != nil {
		return err
	}
	h := &head{ledger: hex.EncodeToString(id[:]), key: hex.EncodeToString(key[:]), hash: genesis}
	if err := t.insertHead(h); err != nil {
		return err
	}
	t.state, t.at = h, now
	_, err = t.append(kindLedger, &ledgerBody{Format: Format, Ledger: h.ledger})
	return err
}

// insertHead begins the head. A server may write the values of statements into its log,
// and with them the encrypted rows of kept samples: it makes the secret itself, which so
// never stands beside them (P19).
func (t *tx) insertHead(h *head) error {
	const insert = "INSERT INTO dprelease_head (one, ledger, content_key, seq, hash, at, refused) VALUES (1, ?, %s, 0, ?, 0, '')"
	if t.l.dialect.secret != "" {
		return t.exec(fmt.Sprintf(insert, t.l.dialect.secret), h.ledger, h.hash)
	}
	return t.exec(fmt.Sprintf(insert, "?"), h.ledger, h.key, h.hash)
}

// ID names the ledger. A copy has the same.
func (l *Ledger) ID() string { return l.id }

// Address is where the ledger is, without its password.
func (l *Ledger) Address() Address { return l.address }

// ContentKey is the secret key under which the content of columns is hashed. It
// is as private as the data.
func (l *Ledger) ContentKey() [32]byte { return l.content }

// Close gives up the connection.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.conn != nil {
		err = l.conn.Close()
		l.conn = nil
	}
	if l.db != nil {
		err = errors.Join(err, l.db.Close())
		l.db = nil
	}
	if l.broken == nil {
		l.broken = refuse(CodeBroken, "the ledger is closed")
	}
	if err != nil {
		return l.address.classify(err)
	}
	return nil
}
