package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
	v := NewAuditor()
	err := l.read(ctx, func(t *tx) error {
		if err := t.records(func(r Record) error { v.Add(r); return nil }); err != nil {
			return err
		}
		return v.tables(t)
	})
	if err != nil {
		return nil, err
	}
	v.Compare(seen)
	return v, nil
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
			return nil, refuse(CodeUnreadable, "the file is not an exported ledger: it cannot be read after record %d", v.seq)
		}
		v.Add(rec)
	}
}

// tables holds the tables to the chain.
func (v *Auditor) tables(t *tx) error {
	h, err := t.head(t.ctx)
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
	accounts, err := t.accounts()
	if err != nil {
		return err
	}
	for _, a := range accounts {
		v.matchAccount(a)
	}
	if len(accounts) != len(v.accounts) {
		v.find(FoundTables, "accounts", "%d accounts stand in the table, %d in the chain", len(accounts), len(v.accounts))
	}
	if err := errors.Join(v.matchKeeps(t), v.matchPairs(t)); err != nil {
		return err
	}
	if err := v.matchSamples(t); err != nil {
		return err
	}
	return v.matchReleases(t)
}

func (v *Auditor) matchAccount(a *Account) {
	where := "account of " + a.Key.String()
	w := v.accounts[a.ID]
	if w == nil {
		v.find(FoundTables, where, "is not in the chain")
		return
	}
	same := w.Key == a.Key && w.Filter == a.Filter && fmt.Sprint(w.Orders) == fmt.Sprint(a.Orders) && w.Debits == a.Debits &&
		w.Limit.AtMost(a.Limit) && a.Limit.AtMost(w.Limit)
	for i := range w.Spent {
		same = same && w.Spent[i].Cmp(a.Spent[i]) == 0
	}
	if !same {
		v.find(FoundTables, where, "its filter, limit, spend or number of debits does not follow from the chain")
	}
}

func (v *Auditor) matchReleases(t *tx) error {
	rows, err := t.rows("SELECT " + releaseColumns + ", archive_digest, archive FROM dprelease_releases ORDER BY id")
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var digest sql.NullString
		var archive []byte
		r, err := scanRelease(also{rows, []any{&digest, &archive}})
		if err != nil {
			return err
		}
		where := fmt.Sprintf("release %d", r.ID)
		w := v.releases[r.ID]
		switch {
		case w == nil:
			v.find(FoundTables, where, "is not in the chain")
		case w.Plan != r.Plan || w.Content != r.Content || w.State != r.State || w.Account != r.Account || w.archive != digest.String:
			v.find(FoundTables, where, "its state does not follow from the chain")
		case r.released() && digestOf(archive) != w.archive:
			v.find(FoundStored, where, "its stored bytes are not those that were sealed")
		}
	}
	if n != len(v.releases) {
		v.find(FoundTables, "releases", "%d releases stand in the table, %d in the chain", n, len(v.releases))
	}
	return errors.Join(rows.Err(), rows.Close())
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
	for _, f := range r.files {
		if got, ok := now[f.Path]; !ok {
			v.find(FoundAltered, s.Where, "%s is missing", f.Path)
		} else if got != f.SHA256 {
			v.find(FoundAltered, s.Where, "%s is not what was sealed", f.Path)
		}
	}
}
