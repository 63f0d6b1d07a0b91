package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
)

// The secret of a panel is encrypted under a key of its own, which ClosePanel destroys. Keys have a
// table of their own: nothing else rewrites its pages, so that the log of the database holds a key
// from when keys were written, and not from every release.

// makeKey draws and stores the key of a node. A server that logs the values of statements does not
// log it, because the server makes it (see insertHead).
func (t *tx) makeKey(node string) (string, error) {
	const insert = "INSERT INTO dprelease_keys (node, own) VALUES (?, %s)"
	var err error
	if t.l.dialect.secret != "" {
		err = t.exec(fmt.Sprintf(insert, t.l.dialect.secret), node)
	} else {
		var key [32]byte
		rand.Read(key[:])
		err = t.exec(fmt.Sprintf(insert, "?"), node, hex.EncodeToString(key[:]))
	}
	if err != nil {
		return "", err
	}
	return t.ownKey(node)
}

// ownKey reads the key of a node.
func (t *tx) ownKey(node string) (own string, err error) {
	err = t.row("SELECT own FROM dprelease_keys WHERE node = ?", node).Scan(&own)
	if errors.Is(err, sql.ErrNoRows) {
		return "", refuse(CodeTampered, "the key of panel %s is gone", node)
	}
	return own, err
}

// destroyKey removes the key of a node from the files of the database. PostgreSQL leaves deleted
// rows where they are, and would copy the page with the key into its log once more: the table gets
// new files instead, with the other keys, which pass through the server's memory alone.
func (t *tx) destroyKey(node string) error {
	if t.l.dialect != &postgresDialect {
		return t.exec("DELETE FROM dprelease_keys WHERE node = ?", node)
	}
	if _, err := hex.DecodeString(node); err != nil {
		return refuse(CodeTampered, "a panel has an id that is not one")
	}
	return t.exec(`DO $$ DECLARE others json; BEGIN
		SELECT json_agg(k) INTO others FROM dprelease_keys k WHERE node <> '` + node + `';
		TRUNCATE dprelease_keys;
		INSERT INTO dprelease_keys SELECT o.* FROM json_populate_recordset(NULL::dprelease_keys, others) o;
		END $$`)
}

// wipeLog empties the log of a SQLite ledger, in which pages lie as they were.
func (l *Ledger) wipeLog(ctx context.Context) error {
	if l.dialect != &sqliteDialect {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	var held, pages, moved int
	err := l.conn.QueryRowContext(context.WithoutCancel(ctx), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&held, &pages, &moved)
	switch {
	case err != nil && !busy(err):
		return l.poison(err)
	case err != nil || held != 0:
		return refuse(CodeLocked, "the panel is closed, but another process works with %s, so that its log still holds the key: "+
			"close the panel once more when none does", l.address)
	}
	return nil
}
