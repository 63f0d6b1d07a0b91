package ledger

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
)

// The states of a release.
const (
	Debited   = "debited"   // spent; nothing is durable yet but the debit
	Sealed    = "sealed"    // its bytes are durable in the ledger
	Published = "published" // its bytes stand in an output folder
	Abandoned = "abandoned" // cut off after the debit, and given up by a later run
)

// SeriesContent is the content under which the step of a series is sealed: there is one measurement of a step,
// whatever its slice holds later. The digest of the slice lies within the sealed bytes, and in no record.
const SeriesContent = "series"

// Release is one run of a job, as the ledger knows it.
type Release struct {
	ID      int64 // the record of its debit
	Account int64
	Slice   string // of the account, "" where it has none
	Plan    string // digest of what was asked
	Content string // keyed digest of the columns that were read, "" while it is not known
	State   string
	Failure *Failure // how it ended without a seal, nil where that is not known

	archive string // SHA-256 of its stored bytes
	token   int64
	holder  string
	until   time.Time
}

// planKey is the key of the releases of a plan in the tree of digests.
func planKey(plan string) string { return "plan\n" + plan }

// planRow returns what is stored of the releases of a plan, without leases and bytes. The
// tree of digests commits to it.
func planRow(rs []*Release) any {
	if len(rs) == 0 {
		return nil
	}
	type row struct {
		ID, Account            int64
		State, Content, Digest string
		Token                  int64
		Slice                  string
	}
	out := make([]row, len(rs))
	for i, r := range rs {
		out[i] = row{r.ID, r.Account, r.State, r.Content, r.archive, r.token, r.Slice}
	}
	return out
}

// released reports whether the release has bytes.
func (r *Release) released() bool { return r.State == Sealed || r.State == Published }

const releaseColumns = "id, account, slice, plan, content, state, archive_digest, holder, token, lease_until"

func scanRelease(s scanner) (*Release, error) {
	var r Release
	var content, archive sql.NullString
	var until int64
	if err := s.Scan(&r.ID, &r.Account, &r.Slice, &r.Plan, &content, &r.State, &archive, &r.holder, &r.token, &until); err != nil {
		return nil, err
	}
	r.Content, r.archive, r.until = content.String, archive.String, time.UnixMicro(until)
	return &r, nil
}

// releasesOf finds the releases of a plan, the oldest first. They are held to the chain: none
// is missing, and each is in the state in which the chain left it.
func (t *tx) releasesOf(plan string) ([]*Release, error) {
	rs, err := t.rawReleases(plan)
	if err == nil {
		err = t.holds(planKey(plan), planRow(rs), "the list of releases of this job")
	}
	if err != nil {
		return nil, err
	}
	t.books.plans[plan] = rs
	for _, r := range rs {
		t.books.releases[r.ID] = r
		if r.released() {
			continue
		}
		if r.Failure, err = t.failed(r); err != nil {
			return nil, err
		}
	}
	return rs, nil
}

// release finds a release by its number, nil where there is none.
func (t *tx) release(id int64) (*Release, error) {
	var plan string
	err := t.row("SELECT plan FROM dprelease_releases WHERE id = ?", id).Scan(&plan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rs, err := t.releasesOf(plan)
	if err != nil {
		return nil, err
	}
	return rs[slices.IndexFunc(rs, func(r *Release) bool { return r.ID == id })], nil
}

func (t *tx) rawReleases(plan string) ([]*Release, error) {
	return all(t, scanRelease, "SELECT "+releaseColumns+" FROM dprelease_releases WHERE plan = ? ORDER BY id", plan)
}

// saveRelease stores what records say of a release: no lease and no bytes.
func (t *tx) saveRelease(r *Release) error {
	return t.upsert("dprelease_releases", "id", "account, slice, plan, holder, lease_until", "content, state, token, archive_digest",
		[]any{r.ID, r.Account, r.Slice, r.Plan, "", 0, orNull(r.Content), r.State, r.token, orNull(r.archive)})
}

// orNull stores an empty text as none.
func orNull(text string) sql.NullString { return sql.NullString{String: text, Valid: text != ""} }

// Output returns the bytes of a release that was sealed.
func (l *Ledger) Output(ctx context.Context, release int64) (files []File, err error) {
	var archive []byte
	var r *Release
	err = l.read(ctx, func(t *tx) error {
		if r, err = t.release(release); err != nil {
			return err
		}
		if r == nil {
			return refuse(CodeTampered, "%s has no release %d", l.address, release)
		}
		err := t.row("SELECT archive FROM dprelease_archives WHERE release = ?", release).Scan(&archive)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // none are not those that were sealed
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.archive == "" || digestOf(archive) != r.archive {
		return nil, refuse(CodeTampered, "the stored bytes of release %d are not those that were sealed", release)
	}
	return unpack(archive)
}

// Publish records that the bytes of a release stand in an output folder.
func (l *Ledger) Publish(ctx context.Context, release int64) error {
	return l.write(ctx, func(t *tx) error {
		r, err := t.release(release)
		switch {
		case err != nil:
			return err
		case r == nil:
			return refuse(CodeTampered, "%s has no release %d", l.address, release)
		case r.State == Published:
			return nil
		case r.State != Sealed:
			return refuse(CodeLease, "release %d has no bytes to publish", release)
		}
		if err := t.forgetFolder(release); err != nil {
			return err
		}
		t.untimed()
		_, err = t.append(&publishBody{Release: release})
		return err
	})
}
