package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
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
	ReadOnly bool // change nothing
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

// Open opens a ledger. It refuses one whose tables have a version that it does not know.
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
	var version int
	var head *head
	look := func(t *tx) (err error) {
		if version, err = t.version(); err == nil && version == Version {
			head, err = t.readHead("")
		}
		return err
	}
	if err := l.read(ctx, look); err != nil {
		return err
	}
	if version == noTables {
		if !l.options.Create || l.options.ReadOnly {
			return l.address.missing()
		}
		if err := l.change(ctx, l.found); err != nil {
			return err
		}
		if err := l.read(ctx, look); err != nil {
			return err
		}
	}
	if version != Version {
		return refuse(CodeVersion, "the tables of %s have version %d, and this program knows version %d: use the program that wrote them; "+
			"nothing was changed", l.address, version, Version)
	}
	if err := l.permitted(ctx); err != nil {
		return err
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
func (l *Ledger) found(t *tx) error {
	if l.dialect == &postgresDialect {
		// Two machines may found the same ledger.
		if err := t.exec("SELECT pg_advisory_xact_lock(7225021890123)"); err != nil {
			return err
		}
	}
	if version, err := t.version(); err != nil || version != noTables {
		return err // somebody else was faster
	}
	if err := t.makeTables(); err != nil {
		return err
	}
	var id [16]byte
	var key [32]byte
	rand.Read(id[:])
	rand.Read(key[:])
	var err error
	if t.at, err = t.now(); err != nil {
		return err
	}
	if err := t.insertHead(&head{ledger: hex.EncodeToString(id[:]), key: hex.EncodeToString(key[:]), hash: genesis}); err != nil {
		return err
	}
	if t.state, err = t.readHead(""); err != nil {
		return err
	}
	_, err = t.append(&ledgerBody{Format: Format, Ledger: t.state.ledger, Secret: secretDigest(t.state.key)})
	return err
}

// insertHead begins the head. A server may write the values of statements into its log,
// and with them the encrypted rows of kept samples: it makes the secret itself, which so
// never stands beside them (P19).
func (t *tx) insertHead(h *head) error {
	const insert = "INSERT INTO dprelease_head (one, ledger, secret, seq, hash, at, refused) VALUES (1, ?, %s, 0, ?, 0, '')"
	if t.l.dialect.secret != "" {
		return t.exec(fmt.Sprintf(insert, t.l.dialect.secret), h.ledger, h.hash)
	}
	return t.exec(fmt.Sprintf(insert, "?"), h.ledger, h.key, h.hash)
}

// ID names the ledger. A copy has the same.
func (l *Ledger) ID() string { return l.id }

// Address returns the address of the ledger, without its password.
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
