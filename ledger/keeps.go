package ledger

import (
	"context"
	"slices"
	"strings"
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

// keepsText writes them for people.
func keepsText(keeps []string) string {
	if keeps == nil {
		return "not decided"
	}
	return columnsText(keeps)
}

// admitKept refuses a job whose neighbours keep a column that those of the account do
// not keep. The first job decides what the account keeps.
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
		return nil // the record of the debit decides it
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
		_, err = t.append(&keepsBody{Account: a.ID, Columns: keeps, Reason: reason})
		return err
	})
	return keeps, err
}
