package ledger

import "context"

// PrivateLook is a private look at a table before a release: check --data. It says that
// somebody looked and by which declarations, and nothing that was seen (P19).
type PrivateLook struct {
	Job string
	By  string // who looked; RecordLook takes it from the ledger's options
	// Columns holds a digest of what the job declared of each column: its bounds or its
	// domain.
	Columns map[string]string
}

// RecordLook appends a look to the chain. It needs no account and opens none: a first
// look comes before the limit of the budget is settled.
func (l *Ledger) RecordLook(ctx context.Context, k Key, p PrivateLook) error {
	return l.write(ctx, func(t *tx) error {
		_, err := t.append(&lookBody{accountName: k.name(), Job: p.Job, Columns: p.Columns})
		return err
	})
}

// Looks are the private looks at a data set, the oldest first: under every relation and
// unit, because what was seen is the same.
func (l *Ledger) Looks(ctx context.Context, dataset string) ([]PrivateLook, error) {
	return reading(ctx, l, func(t *tx) (out []PrivateLook, err error) {
		// The words of the index dprelease_records_looks: a ledger with many releases is not
		// searched.
		err = eachBody(t, "WHERE kind = 'look'", func(_ Record, b lookBody) {
			if b.Dataset == dataset {
				out = append(out, PrivateLook{Job: b.Job, By: b.By, Columns: b.Columns})
			}
		})
		return out, err
	})
}
