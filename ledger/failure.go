package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
)

// Failure is the end of a run that was debited and did not get to its seal. It is
// private (P19): it stands beside the chain, in no record and no export, and has no
// time of its own.
type Failure struct {
	Exit    int    `json:"exit"`
	Code    string `json:"code"`
	Message string `json:"message"`
	// Content is the content that the run failed on, where it fails on that content every time;
	// "" where another try may succeed.
	Content string `json:"-"`
}

// End records that the run has ended without a seal, and how, where f is not nil. It gives up the lease; the debit stays.
func (l *Ledger) End(ctx context.Context, k *Ticket, f *Failure) error {
	return l.write(ctx, func(t *tx) error {
		if _, err := t.held(k); err != nil {
			return err
		}
		if f != nil {
			text, err := encode(f)
			if err != nil {
				return err
			}
			if err := t.exec("INSERT INTO dprelease_failures (release, content, failure) VALUES (?, ?, ?)", k.Release, f.Content, text); err != nil {
				return err
			}
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

// A run notes the folder in which it makes its output with its debit, and the note goes
// with the folder. Where a run is killed, the next run of the account finds the note and
// removes the folder. Notes are private and stand beside the chain.

func (t *tx) noteFolder(release, account int64, host, folder string) error {
	if folder == "" {
		return nil
	}
	return t.exec("INSERT INTO dprelease_leftovers (release, account, host, path) VALUES (?, ?, ?, ?)", release, account, host, folder)
}

func (t *tx) forgetFolder(release int64) error {
	return t.exec("DELETE FROM dprelease_leftovers WHERE release = ?", release)
}

// Leftovers returns the folders on a host that runs of an account noted and did not
// put in their place, by release.
func (l *Ledger) Leftovers(ctx context.Context, k Key, host string) (map[int64]string, error) {
	return reading(ctx, l, func(t *tx) (map[int64]string, error) {
		folders := map[int64]string{}
		return folders, t.each(func(row scanner) error {
			var release int64
			var path string
			err := row.Scan(&release, &path)
			folders[release] = path
			return err
		}, "SELECT f.release, f.path FROM dprelease_leftovers f JOIN dprelease_accounts a ON a.id = f.account WHERE a.dataset = ? "+
			"AND a.unit = ? AND a.relation = ? AND a.slice = ? AND f.host = ?",
			k.Dataset, k.Unit, k.Relation.String(), k.Slice.Column, host)
	})
}

// Forget drops the note of a release's folder.
func (l *Ledger) Forget(ctx context.Context, release int64) error {
	return l.write(ctx, func(t *tx) error { return t.forgetFolder(release) })
}
