package ledger

import (
	"context"
	"errors"
	"slices"
)

// Revised refuses what Debit would refuse because the table of a slice was revised, and says
// whether the content must be known to tell. It changes nothing.
func (l *Ledger) Revised(ctx context.Context, q Request) (ask bool, err error) {
	err = outside(func() error {
		return l.read(ctx, func(t *tx) error {
			ask, err = t.revised(&q)
			return err
		})
	})
	return ask, err
}

// revised refuses to publish a slice again whose table was revised, unless a person asked
// for a revision. It comes before the debit, and says what the revision costs. It asks for
// the content where only that can tell.
//
// The releases of a slice that share a name with one of the job are the same question. The
// newest of them says what the slice held when the question was last answered.
func (t *tx) revised(q *Request) (ask bool, err error) {
	if q.Account.Slice.Is == "" || q.Revise {
		return false, nil
	}
	a, err := t.account(q.Account)
	if a == nil || a.InSlice.Debits == 0 || err != nil {
		return false, err
	}
	before, name, err := t.answered(a, q)
	switch {
	case err != nil || before == nil || before.Content == q.Content:
		return false, err
	case q.Content == "":
		return true, nil
	}
	nodes, moved, err := t.stepped(q)
	if err != nil || moved {
		return false, err // Debit says so
	}
	bill, err := a.priced(q, nodes, remembered)
	if err != nil {
		return false, err
	}
	after := *a
	after.Charge(bill.Cost)
	return false,
		refuse(CodeRevised, "release %s of slice %s was published before (record %d) from other data: the table was revised since, "+
			"or this job reads other columns of it. A revision costs the same again (%s), added to this slice, which has then spent %s; "+
			"to publish a revision on purpose, give --revise and another output folder",
			name, a.Slice, before.ID, pointText(bill.Charged), costText(after.Units(), after.InSlice.Spent))
}

// errFound ends a query early.
var errFound = errors.New("found")

// answered finds the newest release of the slice with bytes that has the name of one of
// the request's releases, and that name.
func (t *tx) answered(a *Account, q *Request) (newest *Release, name string, err error) {
	var id int64
	err = t.each(func(row scanner) error {
		var text string
		var b debitBody
		if err := row.Scan(&id, &text); err != nil {
			return err
		}
		if decode(text, &b) != nil {
			return refuse(CodeTampered, "the debit %d cannot be read", id)
		}
		for _, was := range b.Releases {
			if slices.ContainsFunc(q.Charges, func(c Charge) bool { return c.Name == was.Name }) {
				name = was.Name
			}
		}
		if name != "" {
			return errFound
		}
		return nil
	}, "SELECT r.id, c.body FROM dprelease_releases r JOIN dprelease_records c ON c.seq = r.id WHERE r.account = ? AND r.slice = ? "+
		"AND r.state IN (?, ?) ORDER BY r.id DESC",
		a.ID, a.Slice.Is, Sealed, Published)
	if !errors.Is(err, errFound) {
		return nil, "", err
	}
	newest, err = t.release(id)
	return newest, name, err
}
