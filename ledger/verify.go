package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// timeForm has as many digits for every time, so that texts sort as times do.
const timeForm = "2006-01-02T15:04:05.000000Z"

func parseTime(text string) (string, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	return t.UTC().Format(timeForm), err
}

// Seen is a release that stands in some folder.
type Seen struct {
	Where string
	Mark
	Files []Sum // as they are now
}

// Verify replays the whole chain and compares it with the tables, with the bytes
// that are stored, and with releases that were seen. It changes nothing.
func (l *Ledger) Verify(ctx context.Context, seen []Seen) (*Auditor, error) {
	v, err := reading(ctx, l, (*tx).audit)
	if err != nil {
		return nil, err
	}
	v.Compare(seen)
	return v, nil
}

// audit replays the chain and holds the tables to it.
func (t *tx) audit() (*Auditor, error) {
	v := NewAuditor()
	err := t.records("", func(r Record) error { v.Add(r); return nil })
	if err == nil {
		err = v.tables(t)
	}
	return v, err
}

// ReadChain replays an exported chain: one record a line.
func ReadChain(r io.Reader) (*Auditor, error) {
	v := NewAuditor()
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	for {
		var rec Record
		err := d.Decode(&rec)
		if errors.Is(err, io.EOF) {
			return v, nil
		}
		if err != nil {
			return nil, refuse(CodeAddress, "the file is not an exported ledger: it cannot be read after record %d", v.seq)
		}
		v.Add(rec)
	}
}

// also scans more columns behind those of the first.
type also struct {
	scanner
	more []any
}

func (a also) Scan(to ...any) error { return a.scanner.Scan(append(to, a.more...)...) }

// Compare holds releases that were seen to the chain.
func (v *Auditor) Compare(seen []Seen) {
	for _, s := range seen {
		switch {
		case s.Ledger == "" || s.Seq <= 0:
			v.find(FoundUndebited, s.Where, "carries no debit of any ledger")
		case s.Ledger != v.ledger:
			v.find(FoundUndebited, s.Where, "was debited by another ledger (%s), not by this one", s.Ledger)
		case v.stands(s):
			v.compareFiles(s)
		}
	}
}

// Witness finds the releases of the ledger for which Ledger.Witness refuses a run. It looks at no files.
func (v *Auditor) Witness(seen []Seen) {
	for _, s := range seen {
		if s.Ledger == v.ledger && s.Seq > 0 {
			v.stands(s)
		}
	}
}

// stands reports whether the record that paid for a release is in the chain.
func (v *Auditor) stands(s Seen) bool {
	switch {
	case s.Seq > int64(len(v.hashes)):
		v.find(FoundRolledBack, s.Where, "was debited by record %d, and this ledger ends at record %d: it was rolled back or cut off, "+
			"or the report is not genuine", s.Seq, v.seq)
	case v.hashes[s.Seq-1] != s.Head:
		v.find(FoundForked, s.Where, "was debited by another record %d than this ledger's: a copy of it, or an old one, was written to, "+
			"or the report is not genuine", s.Seq)
	default:
		return true
	}
	return false
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
