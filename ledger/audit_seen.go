package ledger

// Compare holds releases that were seen to the chain.
func (v *Auditor) Compare(seen []Seen) {
	for _, s := range seen {
		switch {
		case s.Ledger == "" || s.Seq <= 0:
			v.find(FoundUndebited, s.Where, "carries no debit of any ledger")
		case s.Ledger != v.ledger:
			v.find(FoundUndebited, s.Where, "was debited by another ledger (%s), not by this one", s.Ledger)
		case s.Seq > int64(len(v.hashes)):
			v.find(FoundRolledBack, s.Where, "was debited by record %d, and this ledger ends at record %d: it was rolled back or cut off", s.Seq, v.seq)
		case v.hashes[s.Seq-1] != s.Head:
			v.find(FoundForked, s.Where, "was debited by another record %d than this ledger's: a copy of it, or an old one, was written to", s.Seq)
		default:
			v.compareFiles(s)
		}
	}
}

func (v *Auditor) compareFiles(s Seen) {
	r := v.releases[s.Seq]
	if r == nil || !r.released() {
		v.find(FoundUndebited, s.Where, "stands for record %d, which is no release that was sealed", s.Seq)
		return
	}
	now := map[string]string{}
	for _, f := range s.Files {
		now[f.Path] = f.SHA256
	}
	for _, f := range v.files[r.ID] {
		if got, ok := now[f.Path]; !ok {
			v.find(FoundAltered, s.Where, "%s is missing", f.Path)
		} else if got != f.SHA256 {
			v.find(FoundAltered, s.Where, "%s is not what was sealed", f.Path)
		}
	}
}
