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
			return nil, refuse(CodeUnreadable, "the file is not an exported ledger: it cannot be read after record %d", v.seq)
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
