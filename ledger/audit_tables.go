package ledger

import (
	"errors"
	"fmt"
)

// tables holds the tables to the chain.
func (v *Auditor) tables(t *tx) error {
	h, err := t.readHead("")
	if err != nil {
		return err
	}
	if h.seq != v.seq || h.hash != v.hash {
		v.find(FoundTables, "head", "the ledger ends at record %d, its chain at record %d: records were cut off or put in", h.seq, v.seq)
	}
	if h.ledger != v.ledger {
		v.find(FoundTables, "head", "the ledger has another name than its first record")
	}
	if h.seq == v.seq && h.at.Format(timeForm) != v.at {
		v.find(FoundTables, "head", "its time is not that of the newest record")
	}
	if err := v.matchAccounts(t); err != nil {
		return err
	}
	if err := v.matchTree(t, h); err != nil {
		return err
	}
	if err := errors.Join(v.matchSamples(t), v.matchPairs(t), v.matchFormer(t), v.matchSlices(t)); err != nil {
		return err
	}
	return v.matchReleases(t)
}

func (v *Auditor) matchAccounts(t *tx) error {
	accounts, err := all(t, scanAccount, "SELECT "+accountColumns+" FROM dprelease_accounts a ORDER BY a.id")
	if err != nil {
		return err
	}
	for _, a := range accounts {
		where := "account of " + a.Key.String()
		w := v.accounts[a.ID]
		if w == nil {
			v.find(FoundTables, where, "is not in the chain")
			continue
		}
		if !v.stated { // the upgrade will say
			a.last, a.Acts = w.last, w.Acts
		}
		mine, err := encode(w.row())
		theirs, err2 := encode(a.row())
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if mine != theirs {
			v.find(FoundTables, where, "its filter, limit, spend, number of debits or the columns that it keeps do not follow from the chain")
		}
	}
	if n := len(accounts); n != len(v.accounts) {
		v.find(FoundTables, "accounts", "%d accounts stand in the table, %d in the chain", n, len(v.accounts))
	}
	return nil
}

// matchSlices holds what slices have spent to the chain.
func (v *Auditor) matchSlices(t *tx) error {
	n, same := 0, true
	err := t.each(func(row scanner) error {
		var account int64
		var name, text string
		if err := row.Scan(&account, &name, &text); err != nil {
			return err
		}
		want, err := encode(v.slices[account][name])
		same = same && want == text
		n++
		return err
	}, "SELECT account, bucket, tallies FROM dprelease_slices")
	for _, buckets := range v.slices {
		n -= len(buckets)
	}
	if err == nil && (!same || n != 0) {
		v.find(FoundTables, "slices", "what slices have spent does not follow from the chain")
	}
	return err
}

// matchTree holds the tree of digests, and the secret, to the chain.
func (v *Auditor) matchTree(t *tx, h *head) error {
	if !v.stated {
		return nil
	}
	if d, ok := v.tree.get(v.tree.root(), secretKey); !ok || d != secretDigest(h.key) {
		v.find(FoundTables, "head", "its secret is not that of the first record")
	}
	same, n := true, 0
	err := t.each(func(row scanner) error {
		var path, node string
		err := row.Scan(&path, &node)
		same = same && v.tree.nodes[path] == node
		n++
		return err
	}, "SELECT path, node FROM dprelease_tree")
	if err == nil && (!same || n != len(v.tree.nodes)) {
		v.find(FoundTables, "tree", "the tree of digests does not follow from the chain")
	}
	return err
}

func (v *Auditor) matchReleases(t *tx) error {
	n := 0
	err := t.each(func(row scanner) error {
		n++
		var archive []byte
		r, err := scanRelease(also{row, []any{&archive}})
		if err != nil {
			return err
		}
		where := fmt.Sprintf("release %d", r.ID)
		w := v.releases[r.ID]
		switch {
		case w == nil:
			v.find(FoundTables, where, "is not in the chain")
		case w.Plan != r.Plan || w.Content != r.Content || w.State != r.State || w.Account != r.Account || w.Slice != r.Slice || w.archive != r.archive || w.token != r.token:
			v.find(FoundTables, where, "its state does not follow from the chain")
		case r.released() && digestOf(archive) != w.archive:
			v.find(FoundStored, where, "its stored bytes are not those that were sealed")
		}
		return nil
	}, "SELECT "+releaseColumns+", archive FROM dprelease_releases ORDER BY id")
	if err == nil && n != len(v.releases) {
		v.find(FoundTables, "releases", "%d releases stand in the table, %d in the chain", n, len(v.releases))
	}
	return err
}

// matchSamples holds the table of samples to the chain.
func (v *Auditor) matchSamples(t *tx) error {
	n := 0
	err := t.each(func(row scanner) error {
		n++
		var sealed []byte
		s, err := scanSample(also{row, []any{&sealed}})
		if err != nil {
			return err
		}
		where := s.String()
		w := v.samples[s.ID]
		switch {
		case w == nil:
			v.find(FoundTables, where, "is not in the chain")
		case w.Account != s.Account || w.Slice != s.Slice || w.Debit != s.Debit || w.Name != s.Name || w.Event != s.Event || w.Design != s.Design ||
			w.Ready != s.Ready || w.Uses != s.Uses || w.Content != s.Content || w.digest != s.digest ||
			!s.same(w.Spent) || !w.Charged.AtMost(s.Charged) || !s.Charged.AtMost(w.Charged):
			v.find(FoundTables, where, "its state does not follow from the chain")
		case s.Collected() && (sealed != nil || s.digest != ""):
			v.find(FoundTables, where, "has rows, which nobody stored")
		case s.Ready && !s.Collected() && digestOf(sealed) != w.digest:
			v.find(FoundStored, where, "its stored rows are not those that were sealed")
		}
		return nil
	}, "SELECT "+sampleColumns+", sealed FROM dprelease_samples ORDER BY id")
	if err == nil && n != len(v.samples) {
		v.find(FoundTables, "samples", "%d kept samples stand in the table, %d in the chain", n, len(v.samples))
	}
	return err
}
