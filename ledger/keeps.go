package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

const kindKeeps = "keeps"

// keepsBody says which columns an account keeps from now on.
type keepsBody struct {
	stamp
	Account int64    `json:"account"`
	Columns []string `json:"columns"`
	Reason  string   `json:"reason"`
}

// The reasons of a keepsBody that nobody gave.
const (
	keepsFirst   = "the first job of the account keeps them"
	keepsUpgrade = "the releases of earlier versions keep them"
)

// columnSet sorts names and leaves out those that are there twice. It is never nil.
func columnSet(names []string) []string {
	out := append([]string{}, names...)
	slices.Sort(out)
	return slices.Compact(out)
}

// KeepsAll reports whether every column of own is one of keeps.
func KeepsAll(keeps, own []string) bool {
	return !slices.ContainsFunc(own, func(c string) bool { return !slices.Contains(keeps, c) })
}

func columnsText(names []string) string {
	if len(names) == 0 {
		return "no column"
	}
	return strings.Join(names, ", ")
}

// keeps returns the columns that an account keeps, nil where that is still open: the
// first job decides it. It holds the row to its record in the chain.
func (t *tx) keeps(account int64) ([]string, error) {
	var seq int64
	var text, kind, body string
	err := t.row("SELECT k.record, k.columns, r.kind, r.body FROM dprelease_keeps k JOIN dprelease_records r ON r.seq = k.record WHERE k.account = ?", account).Scan(&seq, &text, &kind, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var said []string
	if recorded, err := recordedKeeps(account, &Record{Seq: seq, Kind: kind, Body: body}); err != nil || json.Unmarshal([]byte(text), &said) != nil || !slices.Equal(recorded, said) {
		return nil, refuse(CodeTampered, "the columns that account %d keeps are not those of record %d", account, seq)
	}
	return columnSet(said), nil
}

// recordedKeeps reads from a record which columns an account keeps.
func recordedKeeps(account int64, r *Record) ([]string, error) {
	if r.Kind == kindAccount && r.Seq == account {
		var b accountBody
		if err := decode(r.Body, &b); err != nil || b.Keeps == nil {
			return nil, errors.New("it says no columns")
		}
		return columnSet(*b.Keeps), nil
	}
	var b keepsBody
	if err := decode(r.Body, &b); err != nil || r.Kind != kindKeeps || b.Account != account {
		return nil, errors.New("it says no columns")
	}
	return columnSet(b.Columns), nil
}

// keepColumns records which columns an account keeps from now on.
func (t *tx) keepColumns(account int64, columns []string, reason string) error {
	columns = columnSet(columns)
	r, err := t.append(kindKeeps, &keepsBody{Account: account, Columns: columns, Reason: reason})
	if err != nil {
		return err
	}
	return t.putKeeps(account, r.Seq, columns)
}

func (t *tx) putKeeps(account, record int64, columns []string) error {
	text, err := encode(columns)
	if err != nil {
		return err
	}
	if err := t.exec("DELETE FROM dprelease_keeps WHERE account = ?", account); err != nil {
		return err
	}
	return t.exec("INSERT INTO dprelease_keeps (account, record, columns) VALUES (?, ?, ?)", account, record, text)
}

// admitKept refuses a job whose neighbours keep a column that those of the account do
// not keep, and decides the columns of an account with its first job.
//
// # Contract
//
// What an account adds up holds for one relation: neighbours that agree in the
// columns K of the account. A job whose own columns are in K protects every such pair
// as well. One with another column does not, and is refused (P27).
func (t *tx) admitKept(a *Account, own []string) ([]string, error) {
	own = columnSet(own)
	keeps, err := t.keeps(a.ID)
	switch {
	case err != nil:
		return nil, err
	case keeps == nil && a.Debits > 0:
		return nil, refuse(CodeTampered, "it is not known which columns the account of %s keeps", a.Key)
	case keeps == nil:
		return own, t.keepColumns(a.ID, own, keepsFirst)
	}
	return keeps, KeptWithin(a.Key, keeps, own)
}

// KeptWithin refuses a job that keeps a column that its account does not keep.
func KeptWithin(k Key, keeps, own []string) error {
	if KeepsAll(keeps, own) {
		return nil
	}
	return refuse(CodeKept, "this job protects only neighbours that agree in %s; the account of %s also protects those that differ there (it keeps %s), and the two do not add up to one guarantee: leave out the design or immutable: true, or weaken what the account promises for all its releases with dprelease ledger keep --columns %s",
		columnsText(columnSet(own)), k, columnsText(keeps), strings.Join(columnSet(append(slices.Clone(keeps), own...)), ","))
}

// Keeps returns the columns that an account keeps (P27): every neighbour that the
// account protects agrees in them. It is nil where the first job will decide it.
func (l *Ledger) Keeps(ctx context.Context, account int64) (columns []string, err error) {
	err = l.read(ctx, func(t *tx) error {
		columns, err = t.keeps(account)
		return err
	})
	return columns, err
}

// SetKeeps adds columns to those that an account keeps, for a reason that is recorded.
// That weakens what the account promises for all its releases, earlier ones included.
// Columns are never taken away: earlier releases rely on them.
func (l *Ledger) SetKeeps(ctx context.Context, k Key, columns []string, reason string) (keeps []string, err error) {
	if strings.TrimSpace(reason) == "" {
		return nil, refuse(CodeKept, "a change of the columns that an account keeps needs a reason, which is recorded")
	}
	err = l.write(ctx, func(t *tx) error {
		a, err := t.account(k)
		if err != nil {
			return err
		}
		if a == nil {
			return refuse(CodeAccount, "there is no account of %s", k)
		}
		before, err := t.keeps(a.ID)
		if err != nil {
			return err
		}
		if before != nil && KeepsAll(before, columns) {
			return refuse(CodeKept, "the account of %s keeps %s already", k, columnsText(before))
		}
		keeps = columnSet(append(before, columns...))
		return t.keepColumns(a.ID, keeps, reason)
	})
	return keeps, err
}

// upgradeKeeps decides which columns the accounts of an earlier format keep: all those
// that any of their releases relied on, as the stored reports say. With fewer, what was
// spent already would not add up to the guarantee that the account states.
func (t *tx) upgradeKeeps() error {
	all, err := t.accounts()
	if err != nil {
		return err
	}
	for _, a := range all {
		if a.Debits == 0 {
			continue
		}
		keeps, err := t.keeps(a.ID)
		if err != nil {
			return err
		}
		if keeps != nil {
			continue
		}
		if keeps, err = t.reportedKeeps(a); err == nil {
			err = t.keepColumns(a.ID, keeps, keepsUpgrade)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reportedKeeps reads from the stored reports which columns the releases of an account
// rely on. A debit without a release published nothing and relies on nothing.
func (t *tx) reportedKeeps(a *Account) ([]string, error) {
	rows, err := t.rows("SELECT archive FROM dprelease_releases WHERE account = ? AND archive IS NOT NULL ORDER BY id", a.ID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	keeps := []string{}
	for rows.Next() {
		var archive []byte
		if err := rows.Scan(&archive); err != nil {
			return nil, err
		}
		files, err := unpack(archive)
		if err != nil {
			return nil, err
		}
		var r struct {
			Dataset struct {
				Relation string   `json:"relation"`
				Columns  []string `json:"public_columns"`
			} `json:"dataset"`
		}
		for _, f := range files {
			if f.Path == "report.json" && json.Unmarshal(f.Data, &r) != nil {
				return nil, errArchive
			}
		}
		// Under add-remove a neighbour has one unit more or less, and nothing to keep.
		if r.Dataset.Relation == "replace-one" {
			keeps = append(keeps, r.Dataset.Columns...)
		}
	}
	return columnSet(keeps), errors.Join(rows.Err(), rows.Close())
}
