package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
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
	by      string // who acts
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
	// By names who acts, for the records; "" means the login name and the host.
	By string
	// LockWait is for how long to wait while others keep the ledger locked; 0 means
	// DefaultLockWait.
	LockWait time.Duration

	clock    func() time.Time               // instead of the machine's or the server's
	database func(Address) (*sql.DB, error) // instead of the driver
	_        struct{}
}

// DefaultLockWait is for how long a ledger waits for others that keep it locked.
const DefaultLockWait = 20 * time.Second

// Beyond the wait for a lock.
const (
	openTimeout  = 10 * time.Second
	writeTimeout = 40 * time.Second
)

// Login is the login name and the host of this process, as far as the machine knows.
func Login() string {
	name := "uid " + strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// Open opens a ledger and brings its tables up to date.
func Open(ctx context.Context, a Address, o Options) (*Ledger, error) {
	if err := a.prepareFile(o.Create && !o.ReadOnly); err != nil {
		return nil, err
	}
	if o.LockWait <= 0 {
		o.LockWait = DefaultLockWait
	}
	l := &Ledger{address: a, dialect: a.dialect(), options: o, by: cmp.Or(strings.Join(strings.Fields(o.By), " "), Login())}
	var err error
	if l.place, err = a.findPlace(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout+o.LockWait)
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
	} else if err = l.dialect.prepare(ctx, a, l.conn, o); err == nil {
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
		if version, err = tableVersion(t); err == nil && version == len(schema) {
			head, err = t.readHead("")
		}
		return err
	}
	if err := l.read(ctx, look); err != nil {
		return err
	}
	if head == nil {
		switch {
		case version < 0 && (!l.options.Create || l.options.ReadOnly):
			return l.address.missing()
		case version > len(schema):
			return refuse(CodeVersion, "%s was written by a newer program; use that program", l.address)
		case l.options.ReadOnly:
			return refuse(CodeVersion, "%s was written by an older program; any run of a job brings it up to date, and so does dprelease ledger init", l.address)
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
	from, err := migrate(ctx, t)
	if err != nil || from == len(schema) {
		return err // somebody else was faster
	}
	if from > 0 {
		return t.upgrade(from)
	}
	var id [16]byte
	var key [32]byte
	rand.Read(id[:])
	rand.Read(key[:])
	if t.at, err = t.now(); err != nil {
		return err
	}
	if err := t.insertHead(&head{ledger: hex.EncodeToString(id[:]), key: hex.EncodeToString(key[:]), hash: genesis}); err != nil {
		return err
	}
	if t.state, err = t.readHead(""); err != nil {
		return err
	}
	t.tree = newTree()
	t.tree.put(secretKey, secretDigest(t.state.key))
	_, err = t.append(kindLedger, &ledgerBody{Format: Format, Ledger: t.state.ledger, Secret: secretDigest(t.state.key)})
	return err
}

// upgrade goes over to tables of a newer version: it replays the chain, refuses tables
// that do not follow from it, and records the state of every account.
//
// # Contract
//
// No amount, limit, state or token changes, and no record is touched. It is one
// transaction: what fails leaves the version that was there. Proof: ledger.proof.md.
func (t *tx) upgrade(from int) (err error) {
	if t.state, err = t.readHead(t.l.dialect.forUpdate); err != nil {
		return err
	}
	if t.at, err = t.now(); err != nil {
		return err
	}
	if err := t.idle(); err != nil {
		return err
	}
	if t.at.Before(t.state.at) {
		t.untimed() // LEDGER_CLOCK is for the next debit to say
	}
	v, err := t.audit()
	if err != nil {
		return err
	}
	for _, f := range v.found {
		if f.Code == FoundChain || f.Code == FoundBody || f.Code == FoundTables {
			return refuse(CodeTampered, "%s cannot be brought up to date, because its tables disagree with its chain: %s: %s; nothing was changed: undo that, or put the newest whole copy of the ledger in its place", t.l.address, f.Where, f.What)
		}
	}
	t.tree = v.tree
	for path := range t.tree.nodes {
		t.tree.changed[path] = true
	}
	if err := t.exec("DELETE FROM dprelease_tree"); err != nil {
		return err
	}
	accounts := slices.Collect(maps.Values(v.accounts))
	slices.SortFunc(accounts, func(a, b *Account) int { return cmp.Compare(a.ID, b.ID) })
	t.tree.put(secretKey, secretDigest(t.state.key))
	if !v.stated {
		if err := t.noteFormer(v); err != nil {
			return err
		}
		for _, a := range accounts {
			if a.Debits > 0 {
				if a.Keeps, err = t.reportedKeeps(a); err != nil {
					return err
				}
			}
		}
	}
	_, err = t.append(kindUpgrade, &upgradeBody{From: from, To: len(schema), Secret: secretDigest(t.state.key)}, accounts...)
	return err
}

// idle refuses to go over to newer tables while a run of an older program is at work: it
// could not seal what it has debited.
func (t *tx) idle() error {
	rs, err := all(t, scanRelease, "SELECT "+releaseColumns+" FROM dprelease_releases WHERE state = ?", Debited)
	if err != nil {
		return err
	}
	for _, r := range rs {
		if r.alive(t.at) {
			return refuse(CodeLocked, "%s was written by an older program, and a run of that is at work (release %d); it is brought up to date when that run has ended: try again then", t.l.address, r.ID)
		}
	}
	return nil
}

// insertHead begins the head. A server may write the values of statements into its log,
// and with them the encrypted rows of kept samples: it makes the secret itself, which so
// never stands beside them (P19).
func (t *tx) insertHead(h *head) error {
	const insert = "INSERT INTO dprelease_head (one, ledger, ledger_secret, seq, hash, at, refused) VALUES (1, ?, %s, 0, ?, 0, '')"
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
