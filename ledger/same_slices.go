package ledger

import (
	"context"
	"maps"
	"slices"
)

// otherSlice refuses a job on rows that its account was charged for under another slice, unless a
// person said that slices of the account may be alike. Each of the rows would have the limit of
// both slices. Where the values must be known to decide that, and are not, it asks for them.
//
// # Contract
//
// After a debit or a seal of a slice without such a word, no other slice of the account was
// charged for all of the given columns with these digests (P26). Slices that are paid are left
// out: the caller charges a unit that is in several of them for all. A column without a SliceTag
// identifies no rows: it is neither compared nor remembered. Proof: slices.proof.md.
func (t *tx) otherSlice(k Key, columns []Column, used map[string]*columnUses, paid []string) (ask bool, err error) {
	columns = slices.DeleteFunc(slices.Clone(columns), func(c Column) bool { return c.SliceTag == "" })
	if k.Slice.Is == "" || len(columns) == 0 {
		return false, nil
	}
	a, err := t.account(k)
	if err != nil || a == nil {
		return false, err
	}
	agree := map[string]int{} // in how many columns, by the other slice
	for _, c := range columns {
		alike := map[string]bool{}
		for _, u := range used[digestOf([]byte(c.Name))].uses {
			if u.Account == a.ID && u.SliceTag == c.SliceTag && spelled(u.Slice) != spelled(k.Slice.Is) &&
				!slices.Contains(paid, spelled(u.Slice)) && (c.SliceDigest == "" || c.SliceDigest == u.SliceDigest) {
				alike[u.Slice] = true
				ask = ask || c.SliceDigest == ""
			}
		}
		for is := range alike {
			agree[is]++
		}
	}
	maps.DeleteFunc(agree, func(_ string, n int) bool { return n < len(columns) })
	if !ask && len(agree) == 0 {
		return false, nil
	}
	if there, err := t.separate(slicesOf(k)); err != nil || there || ask {
		return ask && !there, err
	}
	other := k
	other.Slice.Is = slices.Min(slices.Collect(maps.Keys(agree)))
	return false,
		refuse(CodeSame, "the account of %s was charged for the same rows under %s: each row would have the limit of both slices; "+
			"mend the table, or where slices may be alike, as in a panel, say that it is meant: dprelease ledger separate %s --reason TEXT",
			k, other.Slice, k.flags(""))
}

// slicesOf is the pair that permits slices of one account to be alike.
func slicesOf(k Key) [2]string { return pair(k.name(), k.name()) }

// SeparateSlices records that slices of an account, or its collected panels, may hold the same rows.
func (l *Ledger) SeparateSlices(ctx context.Context, k Key, reason string) error {
	allotted, err := reading(ctx, l, func(t *tx) ([]*Node, error) {
		a, err := t.account(k)
		if err != nil || a == nil {
			return nil, err
		}
		return t.nodes("WHERE account = ? AND kind = ?", a.ID, KindPanel)
	})
	if err != nil {
		return err
	}
	if k.Slice.Column == "" && len(allotted) == 0 {
		return refuse(CodeSame, "the account of %s has no slices and no panels: name the other account, with --from", k)
	}
	return l.setApart(ctx, slicesOf(k), &separateBody{Accounts: []accountName{k.name()}, reasoned: reasoned{reason}})
}
