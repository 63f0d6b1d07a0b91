package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// tx is a running transaction on the ledger's connection.
type tx struct {
	l     *Ledger
	ctx   context.Context
	state *head // locked in a write
	at    time.Time
	tree  *tree // as far as it was needed
	books books // what was read, with what the records of this transaction changed
}

// head is the end of the chain.
type head struct {
	ledger, key string
	seq         int64
	hash        string
	at          time.Time
	refused     string
	root        string // of the tree, as the newest record says; "" until trust
}

func (t *tx) exec(query string, args ...any) error {
	_, err := t.l.conn.ExecContext(t.ctx, t.l.dialect.bind(query), args...)
	return err
}

func (t *tx) row(query string, args ...any) *sql.Row {
	return t.l.conn.QueryRowContext(t.ctx, t.l.dialect.bind(query), args...)
}

// each hands the rows of a query to visit, up to the first error.
func (t *tx) each(visit func(row scanner) error, query string, args ...any) error {
	rows, err := t.l.conn.QueryContext(t.ctx, t.l.dialect.bind(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// all reads the rows of a query with one function.
func all[T any](t *tx, read func(scanner) (T, error), query string, args ...any) (out []T, err error) {
	err = t.each(func(row scanner) error {
		v, err := read(row)
		out = append(out, v)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// marks are so many placeholders, with commas between them.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// upsert stores rows of a table, many in one statement. A row begins with the values of its key and of the
// fixed columns; those of the changing columns replace the old ones where the key is there already.
func (t *tx) upsert(table, key, fixed, changing string, rows ...[]any) error {
	const atOnce = 200
	columns := key + ", " + changing
	if fixed != "" {
		columns = key + ", " + fixed + ", " + changing
	}
	var changes []string
	for name := range strings.SplitSeq(changing, ", ") {
		changes = append(changes, name+" = excluded."+name)
	}
	for some := range slices.Chunk(rows, atOnce) {
		values := strings.TrimSuffix(strings.Repeat("("+marks(len(some[0]))+"), ", len(some)), ", ")
		if err := t.exec("INSERT INTO "+table+" ("+columns+") VALUES "+values+" ON CONFLICT ("+key+") DO UPDATE SET "+strings.Join(changes, ", "),
			slices.Concat(some...)...); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) readHead(suffix string) (*head, error) {
	var h head
	var at int64
	err := t.row("SELECT ledger, secret, seq, hash, at, refused FROM dprelease_head WHERE one = 1"+suffix).
		Scan(&h.ledger, &h.key, &h.seq, &h.hash, &at, &h.refused)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, refuse(CodeTampered, "%s has no head", t.l.address)
	}
	h.at = time.UnixMicro(at).UTC()
	return &h, err
}

// clockSlack is the time by which a clock may go backwards without a refusal: time servers
// step clocks a little. Times in the chain never go backwards.
const clockSlack = 5 * time.Second

// now is the time by the clock that all users of the ledger share.
func (t *tx) now() (time.Time, error) {
	if t.l.options.clock != nil {
		return t.l.options.clock().UTC().Truncate(time.Microsecond), nil
	}
	if t.l.dialect != &postgresDialect {
		return time.Now().UTC().Truncate(time.Microsecond), nil
	}
	var at time.Time
	err := t.row("SELECT clock_timestamp()").Scan(&at)
	return at.UTC().Truncate(time.Microsecond), err
}

// latch makes this transaction the only writer, reads the head and the clock, and holds
// the head to the chain.
func (t *tx) latch() (err error) {
	if t.state, err = t.readHead(t.l.dialect.forUpdate); err != nil {
		return err
	}
	if t.at, err = t.now(); err != nil {
		return err
	}
	return t.trust()
}

// trust holds the head to the newest record, and the secret to the tree of digests. From
// then on holds compares what is read with the root that the record says.
func (t *tx) trust() (err error) {
	if t.state == nil {
		if t.state, err = t.readHead(""); err != nil {
			return err
		}
	}
	if t.state.root != "" {
		return nil
	}
	var last Record
	err = t.row("SELECT seq, kind, body, prev, hash FROM dprelease_records ORDER BY seq DESC LIMIT 1").Scan(&last.Seq, &last.Kind,
		&last.Body, &last.Prev, &last.Hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var s stamp
	if last.Seq != t.state.seq || last.Hash != t.state.hash {
		return t.tampered(fmt.Sprintf("its head says that the chain ends at record %d, and it ends at record %d: records are missing, "+
			"or another one was put in", t.state.seq, last.Seq))
	}
	if hashRecord(t.state.ledger, &last) != last.Hash || decodeSome(last.Body, &s) != nil || s.State == "" {
		return t.tampered(fmt.Sprintf("its newest record, %d, was changed", last.Seq))
	}
	if at, err := time.Parse(time.RFC3339Nano, s.At); err != nil || !at.Equal(t.state.at) {
		return t.tampered("its head has another time than its newest record")
	}
	t.state.root = s.State
	if err := t.load(secretKey, refusedKey); err != nil {
		return err
	}
	if d, ok := t.tree.get(t.state.root, secretKey); !ok || d != secretDigest(t.state.key) {
		return t.tampered("its secret, or its tree of digests, was changed")
	}
	var refused any
	// Of a refusal that was lifted the tree keeps an empty text.
	lifted, _ := t.tree.get(t.state.root, refusedKey)
	if t.books.refused = t.state.refused; t.state.refused != "" || lifted != "" {
		refused = t.state.refused
	}
	return t.holds(refusedKey, refused, "what its head says of who refused it")
}

// refusedKey is the key of why the ledger is refused in the tree of digests.
const refusedKey = "refused"

// secretKey is the key of the ledger's secret in the tree of digests.
const secretKey = "secret"

func secretDigest(secret string) string { return digestOf([]byte(secret)) }

// tampered refuses a ledger whose tables disagree with its chain. It replays the chain to
// say where else they disagree.
func (t *tx) tampered(what string) error {
	more := ""
	v, _ := t.audit() // what is known is enough to refuse
	for _, f := range v.found {
		if !strings.Contains(what, f.Where) {
			more = fmt.Sprintf(" (%s: %s)", f.Where, f.What)
			break
		}
	}
	return refuse(CodeTampered, "%s disagrees with its own chain: %s%s; nothing was drawn or spent; dprelease ledger verify lists every "+
		"disagreement: undo the change, or put the newest whole copy of the ledger in its place", t.l.address, what, more)
}

// lock makes this transaction the only writer, at a time that is not before that of
// the newest record.
func (t *tx) lock(ctx context.Context) error {
	if err := t.latch(); err != nil {
		return err
	}
	switch back := t.state.at.Sub(t.at); {
	case back > clockSlack:
		return refuse(CodeClock, "the clock is %s behind the newest record of %s: set it right; if it is right, that record was written "+
			"while a clock was ahead: dprelease ledger clock shows which, and with --accept records that its time is passed over", lasting(back),
			t.l.address)
	case back > 0:
		t.at = t.state.at
	}
	return nil
}

// lasting is a time for people.
func lasting(d time.Duration) string {
	if day := 24 * time.Hour; d >= 2*day {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.Round(time.Second).String()
}

// admitted refuses a ledger that somebody refused.
func (t *tx) admitted() error {
	if t.state.refused == "" {
		return nil
	}
	return refuse(CodeRefused, "%s was refused for good by %s; whoever looks after it lifts that with dprelease ledger refuse --lift "+
		"--reason TEXT", t.l.address, t.state.refused)
}

// write carries out f alone, on the newest state, and makes it durable. A refusal
// of f undoes it and leaves the ledger usable; any other error poisons it.
func (l *Ledger) write(ctx context.Context, f func(t *tx) error) error {
	return l.change(ctx, func(t *tx) error {
		if err := t.lock(t.ctx); err != nil {
			return err
		}
		return f(t)
	})
}

func (l *Ledger) change(ctx context.Context, f func(t *tx) error) error {
	return l.transaction(ctx, l.dialect.beginWrite, f)
}

// read carries out f on one state of the database.
func (l *Ledger) read(ctx context.Context, f func(t *tx) error) error {
	return l.transaction(ctx, l.dialect.beginRead, f)
}

// reading returns what f finds on one state of the database.
func reading[T any](ctx context.Context, l *Ledger, f func(t *tx) (T, error)) (found T, err error) {
	err = l.read(ctx, func(t *tx) error {
		found, err = f(t)
		return err
	})
	return found, err
}

// transaction is not cut off by the caller's context: a transaction that is
// cancelled half way has an outcome that nobody knows.
func (l *Ledger) transaction(ctx context.Context, begin string, f func(t *tx) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return refuse(CodeBroken, "an earlier error (%s) made this handle of %s useless", l.broken.Code, l.address)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if l.dialect == &postgresDialect { // SQLite waits for locks and the disk alone, and to watch a context costs its driver as much as a query
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, writeTimeout+l.options.LockWait)
		defer cancel()
	}
	t := &tx{l: l, ctx: ctx, books: newBooks()}
	if err := t.exec(begin); err != nil {
		if busy(err) { // nothing has begun
			return refuse(CodeLocked, "%s is locked by another process", l.address)
		}
		return l.poison(err)
	}
	if err := f(t); err != nil {
		return l.undo(t, err)
	}
	if err := t.exec("COMMIT"); err != nil {
		c := l.poison(err)
		return &Error{Code: CodeUnknown, Message: c.Message + "; whether the last commit took effect is not known: mend that, " +
			"look with dprelease ledger show, then run the job again"}
	}
	if begin == l.dialect.beginWrite && !l.place.stays() {
		return l.poison(poison(CodeMoved, "%s was moved, deleted or replaced while it was open: what was written now may be lost; "+
			"put the file back and run the job again", l.address))
	}
	return nil
}

// undo ends a transaction that failed.
func (l *Ledger) undo(t *tx, cause error) error {
	var known *Error
	var ask *unpriced
	waits := errors.As(cause, &ask)
	ours := waits || errors.As(cause, &known) && !known.poison
	locked := busy(cause)
	if err := t.exec("ROLLBACK"); err != nil && (ours || locked) {
		return l.poison(err)
	}
	switch {
	case waits:
		return ask
	case ours:
		return known
	case locked:
		return refuse(CodeLocked, "%s is locked by another process", l.address)
	}
	return l.poison(cause)
}

// poison makes every later call fail.
func (l *Ledger) poison(err error) *Error {
	e := l.address.classify(err)
	if l.broken == nil {
		l.broken = e
	}
	return e
}
