package ledger

import (
	"context"
	"database/sql"
	"errors"
)

// Seed is a new SQLite ledger that is complete, and nowhere yet but in memory: it can
// be made before it is known whether it will be wanted.
type Seed struct {
	address Address
	image   []byte
}

// serializer is what the driver offers beyond database/sql.
type serializer interface{ Serialize() ([]byte, error) }

var errSeed = errors.New("a ledger cannot be made in memory here")

// NewSeed founds a ledger for an address that has none. It touches no file. An error
// says no more than that Open has to make the ledger itself.
func NewSeed(ctx context.Context, a Address) (_ *Seed, err error) {
	if a.sqlite == "" || !canPlace {
		return nil, errSeed
	}
	l := &Ledger{address: a, dialect: &sqliteDialect, options: Options{Create: true, steps: schema}}
	defer func() { err = errors.Join(err, l.Close()) }()
	if l.db, err = sql.Open(l.dialect.driver, "file::memory:"); err != nil {
		return nil, err
	}
	l.db.SetMaxOpenConns(1)
	if l.conn, err = l.db.Conn(ctx); err != nil {
		return nil, err
	}
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	s := &Seed{address: a}
	err = l.conn.Raw(func(driver any) error {
		c, ok := driver.(serializer)
		if !ok {
			return errSeed
		}
		s.image, err = c.Serialize()
		return err
	})
	if err != nil || !s.logged() {
		return nil, errors.Join(errSeed, err)
	}
	return s, nil
}

// logged marks the image as a database with a write-ahead log, which one in memory
// cannot have: the versions of the file format for reading and writing are 2
// (sqlite.org/fileformat.html, 1.3.3). A file of that kind without a log beside it
// is what every closed ledger is.
func (s *Seed) logged() bool {
	const magic, write, read = "SQLite format 3\x00", 18, 19
	if len(s.image) < 100 || string(s.image[:len(magic)]) != magic || s.image[write] != 1 || s.image[read] != 1 {
		return false
	}
	s.image[write], s.image[read] = 2, 2
	return true
}

// Place makes the ledger durable at its address, whole or not at all, unless one is
// there by now. After an error Open makes the ledger itself, or says why it cannot.
//
// # Contract
//
// Place never changes a file that is there: a ledger that another run made in the
// meantime stays, and is the one that Open finds. Proof: ledger.proof.md.
func (s *Seed) Place() error { return putFile(s.address.sqlite, s.image) }
