package ledger

import (
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
	if d, ok := v.tree.get(v.tree.root(), secretKey); !ok || d != secretDigest(h.key) {
		v.find(FoundTables, "head", "its secret is not that of the first record")
	}
	if h.refused != v.refused {
		v.find(FoundTables, "head", "it says that somebody refused the ledger, which no record says, or leaves it out")
	}
	for _, match := range []func(*Auditor, *tx) error{(*Auditor).matchAccounts, (*Auditor).matchTree, (*Auditor).matchNodes,
		(*Auditor).matchKeys,
		(*Auditor).matchPairs, (*Auditor).matchColumns, (*Auditor).matchSlices, (*Auditor).matchReleases,
		(*Auditor).matchArchives, (*Auditor).matchFailures, (*Auditor).matchLeftovers} {
		if err := match(v, t); err != nil {
			return err
		}
	}
	return nil
}

// match reads the rows of a table, and finds fault with the table where a row is not right, or
// where there are not as many as the chain says.
func (v *Auditor) match(t *tx, where string, want int, right func(scanner) (bool, error), query string) error {
	n, all := 0, true
	err := t.each(func(row scanner) error {
		ok, err := right(row)
		all = all && ok
		n++
		return err
	}, query)
	switch {
	case err != nil:
		return err
	case n != want:
		v.find(FoundTables, where, "the table does not follow from the chain: it has %d rows, and the chain says %d", n, want)
	case !all:
		v.find(FoundTables, where, "the table does not follow from the chain: a row was changed")
	}
	return nil
}

// beside reads the rows of a table beside the chain, which says only which of them cannot be.
func (v *Auditor) beside(t *tx, where string, right func(scanner) (bool, error), query string) error {
	return t.each(func(row scanner) error {
		ok, err := right(row)
		if err == nil && !ok {
			v.find(FoundTables, where, "a row contradicts the chain: it was changed or put in")
		}
		return err
	}, query)
}

// matchFailures compares the failures of runs with the chain: only a debit without a seal has one.
func (v *Auditor) matchFailures(t *tx) error {
	return v.beside(t, "failures", func(row scanner) (bool, error) {
		var release int64
		var content, text string
		var f Failure
		if err := row.Scan(&release, &content, &text); err != nil {
			return false, err
		}
		if r := v.releases[release]; r == nil || r.released() || decode(text, &f) != nil {
			return false, nil
		}
		written, err := encode(f)
		return written == text && f.Exit > 0 && f.Code != "", err
	}, "SELECT release, content, failure FROM dprelease_failures ORDER BY release")
}

// matchLeftovers compares the notes of folders, which the next run of an account removes, with the releases of that account.
func (v *Auditor) matchLeftovers(t *tx) error {
	return v.beside(t, "leftovers", func(row scanner) (bool, error) {
		var release, account int64
		err := row.Scan(&release, &account)
		r := v.releases[release]
		return r != nil && r.Account == account && r.State != Published, err
	}, "SELECT release, account FROM dprelease_leftovers ORDER BY release")
}

// sameRow compares what is stored of two things.
func sameRow(a, b any) bool {
	one, err := encode(a)
	other, err2 := encode(b)
	return err == nil && err2 == nil && one == other
}

func (v *Auditor) matchAccounts(t *tx) error {
	return v.match(t, "accounts", len(v.accounts), func(row scanner) (bool, error) {
		a, err := scanAccount(row)
		if err != nil {
			return false, err
		}
		where, w := "account of "+a.Key.String(), v.accounts[a.ID]
		switch {
		case w == nil:
			v.find(FoundTables, where, "is not in the chain")
		case !sameRow(w.row(), a.row()):
			v.find(FoundTables, where, "its filter, limit, spend, number of debits or the columns that it keeps do not follow from the chain")
		}
		return true, nil
	}, "SELECT "+accountColumns+" FROM dprelease_accounts a ORDER BY a.id")
}

// matchSlices compares the spend of slices with the chain.
func (v *Auditor) matchSlices(t *tx) error {
	want := 0
	for _, buckets := range v.slices {
		want += len(buckets)
	}
	return v.match(t, "slices", want, func(row scanner) (bool, error) {
		var account int64
		var name, text string
		if err := row.Scan(&account, &name, &text); err != nil {
			return false, err
		}
		spent, err := encode(v.slices[account][name])
		return spent == text, err
	}, "SELECT account, bucket, tallies FROM dprelease_slices")
}

// matchTree holds the tree of digests to the chain.
func (v *Auditor) matchTree(t *tx) error {
	return v.match(t, "tree", len(v.tree.nodes), func(row scanner) (bool, error) {
		var path, node string
		err := row.Scan(&path, &node)
		return v.tree.nodes[path] == node, err
	}, "SELECT path, node FROM dprelease_tree")
}

// matchPairs holds the table of separate accounts to the chain.
func (v *Auditor) matchPairs(t *tx) error {
	return v.match(t, "separate accounts", len(v.pairs), func(row scanner) (bool, error) {
		var p [2]string
		err := row.Scan(&p[0], &p[1])
		return v.pairs[p], err
	}, "SELECT one, other FROM dprelease_separate")
}

// matchColumns holds the list of columns that accounts were charged for to the marks in the
// chain.
func (v *Auditor) matchColumns(t *tx) error {
	return v.match(t, "columns", len(v.columns), func(row scanner) (bool, error) {
		c, err := scanColumns(row)
		if err != nil {
			return false, err
		}
		mark, err := c.mark(t.l)
		return mark == v.columns[c.name], err
	}, "SELECT name, release, charged FROM dprelease_columns")
}

func (v *Auditor) matchReleases(t *tx) error {
	return v.match(t, "releases", len(v.releases), func(row scanner) (bool, error) {
		var archive []byte
		r, err := scanRelease(also{row, []any{&archive}})
		if err != nil {
			return false, err
		}
		where, w := fmt.Sprintf("release %d", r.ID), v.releases[r.ID]
		switch {
		case w == nil:
			v.find(FoundTables, where, "is not in the chain")
		case w.Plan != r.Plan || !sameRow(planRow([]*Release{w}), planRow([]*Release{r})):
			v.find(FoundTables, where, "its state does not follow from the chain")
		case r.released() && digestOf(archive) != w.archive:
			v.find(FoundStored, where, "its stored bytes are not those that were sealed")
		}
		return true, nil
	}, "SELECT "+releaseColumns+", (SELECT archive FROM dprelease_archives WHERE release = id) FROM dprelease_releases ORDER BY id")
}

// matchArchives finds the bytes of what was never sealed. matchReleases reads the others.
func (v *Auditor) matchArchives(t *tx) error {
	return v.beside(t, "archives", func(row scanner) (bool, error) {
		var release int64
		err := row.Scan(&release)
		r := v.releases[release]
		return r != nil && r.released(), err
	}, "SELECT release FROM dprelease_archives ORDER BY release")
}

// matchNodes holds the table of nodes to the chain.
func (v *Auditor) matchNodes(t *tx) error {
	return v.match(t, "nodes", len(v.nodes), func(row scanner) (bool, error) {
		var sealed []byte
		n, err := scanNode(also{row, []any{&sealed}})
		if err != nil {
			return false, err
		}
		where, w := n.String(), v.nodes[n.ID]
		switch {
		case w == nil:
			v.find(FoundTables, where, "is not in the chain")
		case !sameRow(w, n):
			v.find(FoundTables, where, "its state does not follow from the chain")
		case w.Digest == "" && sealed != nil:
			v.find(FoundTables, where, "has rows, which nobody stored")
		case w.Digest != "" && digestOf(sealed) != w.Digest:
			v.find(FoundStored, where, "its stored rows are not those that were sealed")
		}
		return true, nil
	}, "SELECT "+nodeColumns+", sealed FROM dprelease_nodes ORDER BY id")
}

// matchKeys holds the keys of panels to the secrets that they open.
func (v *Auditor) matchKeys(t *tx) error {
	want := 0
	for _, n := range v.nodes {
		if n.secret() {
			want++
		}
	}
	return v.match(t, "keys", want, func(row scanner) (bool, error) {
		var id, own string
		var sealed []byte
		if err := row.Scan(&id, &own, &sealed); err != nil {
			return false, err
		}
		n := v.nodes[id]
		if n == nil || !n.secret() {
			return false, nil
		}
		_, err := t.l.reveal(n, own, sealed)
		return err == nil, nil
	}, "SELECT k.node, k.own, n.sealed FROM dprelease_keys k LEFT JOIN dprelease_nodes n ON n.id = k.node ORDER BY k.node")
}
