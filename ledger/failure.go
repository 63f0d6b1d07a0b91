package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
)

// Failure is how a run ended that was debited and did not get to its seal. It is
// private (P19): it stands beside the chain, in no record and no export, and has no
// time of its own.
type Failure struct {
	Exit    int    `json:"exit"`
	Code    string `json:"code"`
	Message string `json:"message"`
	// Content is what the run failed on, where it fails on that content every time;
	// "" where another try may succeed.
	Content string `json:"-"`
}

// Fail records how a run ended without a seal, and gives up its lease. The debit stays.
func (l *Ledger) Fail(ctx context.Context, k *Ticket, f Failure) error {
	text, err := encode(f)
	if err != nil {
		return err
	}
	return l.write(ctx, func(t *tx) error {
		if _, err := t.held(k); err != nil {
			return err
		}
		if err := t.exec("INSERT INTO dprelease_failures (release, content, failure) VALUES (?, ?, ?)", k.Release, f.Content, text); err != nil {
			return err
		}
		if err := t.forgetFolder(k.Release); err != nil {
			return err
		}
		return t.exec("UPDATE dprelease_releases SET lease_until = 0 WHERE id = ?", k.Release)
	})
}

// failed finds how the runs of a release ended, nil where that is not known.
func (t *tx) failed(r *Release) (*Failure, error) {
	var f Failure
	var text string
	err := t.row("SELECT content, failure FROM dprelease_failures WHERE release = ?", r.ID).Scan(&f.Content, &text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	case json.Unmarshal([]byte(text), &f) != nil:
		return nil, refuse(CodeTampered, "how release %d failed cannot be read", r.ID)
	}
	return &f, nil
}
