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

// rowIn begins the name of each fact that a set of kept columns holds beside columns.
const rowIn = "a row in "

// RowIn names what neighbours keep under replace-one if their data set has several tables: each unit has a row
// in the table that defines the population.
func RowIn(table string) string { return rowIn + table }

func rowKept(keeps []string) bool {
	return slices.ContainsFunc(keeps, func(c string) bool { return strings.HasPrefix(c, rowIn) })
}

// within reports whether a job that keeps own protects every pair of neighbours that agrees in keeps. If these keep
// a row in a table that has a name, a job on a table without one says nothing of such pairs: its own units keep
// a row there, in whichever table that is.
func within(keeps, own []string) bool {
	return KeepsAll(keeps, own) && (!rowKept(keeps) || rowKept(own))
}

func columnsText(names []string) string {
	if len(names) == 0 {
		return "no column"
	}
	return strings.Join(names, ", ")
}

// admitKept refuses a job whose neighbours keep a column that those of the account do
// not keep. The first job decides what the account keeps.
//
// # Contract
//
// What an account adds up holds for one relation: neighbours that agree in the
// columns K of the account. A job whose own columns are in K protects every such pair
// as well. One with another column does not, and is refused (P27). So is one whose units are sure
// to have a row in another table (P32).
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
	if within(keeps, own) {
		return nil
	}
	if rowKept(keeps) && !rowKept(own) {
		return refuse(CodeKept, "the account of %s protects units that keep %s, and this job units that keep a row in the one table that "+
			"it reads: name this table under dataset.tables, and say the same dataset.population",
			k, columnsText(keeps))
	}
	return refuse(CodeKept, "this job protects only neighbours that keep %s; the account of %s also protects those that differ there "+
		"(it keeps %s), and the two do not add up to one guarantee: leave out the design or immutable: true, "+
		"say the same dataset.population, or weaken what the account promises for all its releases with dprelease ledger keep --columns %s",
		columnsText(columnSet(own)), k, columnsText(keeps), inShell(strings.Join(columnSet(append(slices.Clone(keeps), own...)), ",")))
}

// inShell quotes a list that has spaces.
func inShell(list string) string {
	if strings.Contains(list, " ") {
		return `"` + list + `"`
	}
	return list
}

// SetKeeps adds columns to those that an account keeps, for a reason that is recorded.
// That weakens what the account promises for all its releases, earlier ones included.
// Columns are never taken away: earlier releases rely on them.
func (l *Ledger) SetKeeps(ctx context.Context, k Key, columns []string, reason string) (keeps []string, err error) {
	err = l.write(ctx, func(t *tx) error {
		a, err := t.opened(k)
		if err != nil {
			return err
		}
		if a.Keeps != nil && KeepsAll(a.Keeps, columns) {
			return refuse(CodeKept, "the account of %s keeps %s already", k, columnsText(a.Keeps))
		}
		if a.Keeps != nil && rowKept(columns) && !rowKept(a.Keeps) {
			return refuse(CodeKept, "the earlier jobs of %s read one table, whose name is not known: what they protect is nothing that keeps %s",
				k, columnsText(columnSet(columns)))
		}
		keeps = columnSet(append(slices.Clone(a.Keeps), columns...))
		_, err = t.append(&keepsBody{Account: a.ID, Columns: keeps, reasoned: reasoned{reason}})
		return err
	})
	return keeps, err
}
