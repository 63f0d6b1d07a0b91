package ledger

import (
	"context"
	"encoding/json"
	"fmt"
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

// keepsText writes them for people.
func keepsText(keeps []string) string {
	if keeps == nil {
		return "not decided"
	}
	return columnsText(keeps)
}

// admitKept refuses a job whose neighbours keep a column that those of the account do
// not keep, and decides the columns of an account with its first job.
//
// # Contract
//
// What an account adds up holds for one relation: neighbours that agree in the
// columns K of the account. A job whose own columns are in K protects every such pair
// as well. One with another column does not, and is refused (P27).
func admitKept(a *Account, own []string) error {
	switch {
	case a.Keeps == nil && a.Debits > 0:
		return refuse(CodeTampered, "it is not known which columns the account of %s keeps", a.Key)
	case a.Keeps == nil:
		a.Keeps = columnSet(own) // the debit's record tells it
	}
	return KeptWithin(a.Key, a.Keeps, own)
}

// KeptWithin refuses a job that keeps a column that its account does not keep.
func KeptWithin(k Key, keeps, own []string) error {
	if KeepsAll(keeps, own) {
		return nil
	}
	return refuse(CodeKept, "this job protects only neighbours that agree in %s; the account of %s also protects those that differ there (it keeps %s), and the two do not add up to one guarantee: leave out the design or immutable: true, or weaken what the account promises for all its releases with dprelease ledger keep --columns %s",
		columnsText(columnSet(own)), k, columnsText(keeps), strings.Join(columnSet(append(slices.Clone(keeps), own...)), ","))
}

// SetKeeps adds columns to those that an account keeps, for a reason that is recorded.
// That weakens what the account promises for all its releases, earlier ones included.
// Columns are never taken away: earlier releases rely on them.
func (l *Ledger) SetKeeps(ctx context.Context, k Key, columns []string, reason string) (keeps []string, err error) {
	if strings.TrimSpace(reason) == "" {
		return nil, refuse(CodeKept, "a change of the columns that an account keeps needs a reason, which is recorded")
	}
	err = l.write(ctx, func(t *tx) error {
		a, err := t.account(k.account())
		if err != nil {
			return err
		}
		if a == nil {
			return refuse(CodeAccount, "there is no account of %s", k)
		}
		if a.Keeps != nil && KeepsAll(a.Keeps, columns) {
			return refuse(CodeKept, "the account of %s keeps %s already", k, columnsText(a.Keeps))
		}
		keeps = columnSet(append(slices.Clone(a.Keeps), columns...))
		a.Keeps = keeps
		_, err = t.append(kindKeeps, &keepsBody{Account: a.ID, Columns: keeps, Reason: reason}, a)
		return err
	})
	return keeps, err
}

// reportedKeeps reads from the stored reports which columns the releases of an account of
// an earlier format rely on: the account keeps them all. With fewer, what was spent
// already would not add up to the guarantee that the account states. A debit without a
// release published nothing and relies on nothing.
func (t *tx) reportedKeeps(a *Account) ([]string, error) {
	var keeps []string
	err := t.each(func(row scanner) error {
		var id int64
		var digest string
		var archive []byte
		if err := row.Scan(&id, &digest, &archive); err != nil {
			return err
		}
		files, err := unpack(archive)
		if digestOf(archive) != digest || err != nil {
			return refuse(CodeTampered, "%s cannot be brought up to date: the stored bytes of release %d are not those that were sealed, and only they say which columns its neighbours keep; nothing was changed: put the newest whole copy of the ledger in its place", t.l.address, id)
		}
		var r struct {
			Dataset struct {
				Relation string   `json:"relation"`
				Columns  []string `json:"public_columns"`
			} `json:"dataset"`
		}
		for _, f := range files {
			if f.Path == "report.json" && json.Unmarshal(f.Data, &r) != nil {
				return errArchive
			}
		}
		// Under add-remove a neighbour has one unit more or less, and nothing to keep.
		if r.Dataset.Relation == "replace-one" {
			keeps = append(keeps, r.Dataset.Columns...)
		}
		return nil
	}, "SELECT id, archive_digest, archive FROM dprelease_releases WHERE account = ? AND state IN (?, ?) ORDER BY id", a.ID, Sealed, Published)
	return columnSet(keeps), err
}

func (v *Auditor) setKeeps(r *Record, b *keepsBody) error {
	a := v.accounts[b.Account]
	switch {
	case a == nil:
		return fmt.Errorf("the kept columns of an account that is not there")
	case b.Reason == "" || !slices.Equal(columnSet(b.Columns), b.Columns):
		return fmt.Errorf("kept columns without a reason, or not in order")
	case !KeepsAll(b.Columns, a.Keeps):
		return fmt.Errorf("an account no longer keeps a column that earlier releases rely on")
	}
	a.Keeps = b.Columns
	v.changed = append(v.changed, a)
	return nil
}
