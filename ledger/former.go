package ledger

import (
	"maps"
	"slices"
)

// An earlier version knew what a job asks for by another digest, which its debits say. The
// table of former digests finds those debits. An upgrade makes the table from the chain,
// and the tree of digests commits to it: nothing is spent again because a row is gone.

// formerKey is the key of the debits of a former digest in the tree of digests.
func formerKey(digest string) string { return "former\n" + digest }

// noteFormer stores what the chain says of former digests.
func (t *tx) noteFormer(v *Auditor) error {
	v.putFormer()
	var rows [][]any
	for _, digest := range slices.Sorted(maps.Keys(v.former)) {
		for _, id := range v.former[digest] {
			rows = append(rows, []any{id, digest})
		}
	}
	return t.insert("dprelease_former (release, digest)", rows, "")
}

// putFormer enters the former digests into the tree.
func (v *Auditor) putFormer() {
	for _, digest := range slices.Sorted(maps.Keys(v.former)) {
		v.put(formerKey(digest), v.former[digest])
	}
}

// formerly finds the releases that an earlier version debited under a digest.
func (t *tx) formerly(digest string) ([]*Release, error) {
	ids, err := all(t, func(row scanner) (id int64, err error) { return id, row.Scan(&id) }, "SELECT release FROM dprelease_former WHERE digest = ? ORDER BY release", digest)
	if err != nil {
		return nil, err
	}
	var read any
	if len(ids) > 0 {
		read = ids
	}
	if err := t.holds(formerKey(digest), read, "the list of releases of an earlier version"); err != nil {
		return nil, err
	}
	out := make([]*Release, len(ids))
	for i, id := range ids {
		if out[i], err = t.release(id); err != nil {
			return nil, err
		}
		if out[i] == nil {
			return nil, t.tampered("the release of an earlier version is gone")
		}
	}
	return out, nil
}
