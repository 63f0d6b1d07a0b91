package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/dprelease/dprelease/privacy"
)

// The states of a release.
const (
	Debited   = "debited"   // spent; nothing is durable yet but the debit
	Sealed    = "sealed"    // its bytes are durable in the ledger
	Published = "published" // its bytes stand in an output folder
	Abandoned = "abandoned" // cut off after the debit, and given up by a later run
)

// Charge says what one release of a job costs on its own. It is printed, never added up.
type Charge struct {
	Name    string  `json:"name"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// Release is one run of a job, as the ledger knows it.
type Release struct {
	ID      int64 // the record of its debit
	Account int64
	Plan    string // digest of what was asked
	Content string // keyed digest of the columns that were read, "" while it is not known
	State   string
	Failure *Failure // how it ended without a seal, nil where that is not known

	archive string // SHA-256 of its stored bytes
	token   int64
	holder  string
	until   time.Time
}

// planKey is what the tree of digests knows the releases of a plan by.
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
	}
	out := make([]row, len(rs))
	for i, r := range rs {
		out[i] = row{r.ID, r.Account, r.State, r.Content, r.archive, r.token}
	}
	return out
}

// released says that the release has bytes.
func (r *Release) released() bool { return r.State == Sealed || r.State == Published }

// Request asks for a debit.
type Request struct {
	Account Key
	Opening Opening // used where the account is not open yet
	Own     *Limit  // the job's own limit; the smaller of it and the account's holds
	Plan    string
	Former  []string // digests by which earlier versions knew what is asked
	Columns []Column // that the job reads
	Keeps   []string // columns in which the neighbours that the job protects agree (P27)
	Content string   // "" where the data have not been read: only allowed for a plan without a release
	Host    string   // of Folder
	Folder  string   // in which the output is made, empty for none: see Leftovers
	Again   bool     // spend again after a run that was cut off
	Event   privacy.Event
	Charged privacy.Point
	Job     string
	Digest  string
	Charges []Charge
	// Draws are the kept samples that the job makes or uses. Event and Charged are
	// then of everything else, and Event is nil where there is nothing else.
	Draws []Step
	Lease time.Duration // 0: DefaultLease
	_     struct{}
}

// DefaultLease is for how long a run is believed to be alive without a sign of it.
const DefaultLease = 30 * time.Second

// Standing is what the ledger knows of a plan, or did with a request. At most one
// of Ticket, Found and Busy is set.
type Standing struct {
	Ticket     *Ticket  // the debit is durable: go on
	Found      *Release // released already from the same data: publish its bytes
	Busy       bool     // another run of the same plan is at work: wait for it
	Compare    bool     // there are releases of this plan: say what the data are
	Unfinished bool     // a run of this plan was cut off after its debit, or failed in a way that another try may not
	Failed     *Failure // a run of this plan failed: on this content, where the failure names one, or as the last unfinished run
	Moved      bool     // another job used a kept sample since the plan was made: plan again
}

// Ticket is the right to seal one release.
type Ticket struct {
	Ledger  string
	Release int64
	Seq     int64  // of the debit
	Head    string // its hash: what a release carries
	Account Account
	Cost    privacy.Cost
	Uses    []*Use   // of kept samples
	Columns []Column // that were read: the run sets their digests before the seal

	token   int64
	content string
	keeps   []string // samples whose rows the seal must bring
	lease   time.Duration
}

// Look says how things stand for a plan, without changing anything. former are the
// digests by which earlier versions knew what the plan asks for.
func (l *Ledger) Look(ctx context.Context, plan, content string, former ...string) (s Standing, err error) {
	err = l.read(ctx, func(t *tx) error {
		if t.at, err = t.now(t.ctx); err != nil {
			return err
		}
		var rs []*Release
		if rs, err = t.releasesOf(plan, former...); err == nil {
			s = standing(rs, content, t.at)
		}
		return err
	})
	return s, err
}

func standing(rs []*Release, content string, now time.Time) (s Standing) {
	for _, r := range slices.Backward(rs) { // the newest first: an earlier version may have made several
		bound := r.Failure != nil && r.Failure.Content != ""
		switch {
		case r.released() && content != "" && r.Content == content:
			return Standing{Found: r}
		case r.released() && content == "":
			s.Compare = true
		case r.State == Debited && r.alive(now):
			s.Busy = true
		case bound && content == "":
			s.Compare = true
		case bound && r.Failure.Content == content:
			s.Failed = r.Failure
		case r.State == Debited && !bound:
			s.Unfinished = true
			if s.Failed == nil {
				s.Failed = r.Failure
			}
		}
	}
	return s
}

// Hopeless says that a run of the same plan failed on the same content, as any other
// will.
func (s *Standing) Hopeless() bool { return s.Failed != nil && s.Failed.Content != "" }

// Debit makes a spend durable, or says why there is none. Nothing may be drawn
// before it returned a ticket (P21).
//
// # Contract
//
// A ticket means that the cost is part of what the account has spent, durably and
// for ever, that the sum keeps within the limit of the account, and that no other
// run holds a ticket for the plan. Proof: ledger.proof.md.
func (l *Ledger) Debit(ctx context.Context, q Request) (s Standing, err error) {
	err = l.write(ctx, func(t *tx) error {
		if t.state.refused != "" {
			return t.rolledBack()
		}
		rs, err := t.releasesOf(q.Plan, q.Former...)
		if err != nil {
			return err
		}
		s = standing(rs, q.Content, t.at)
		if s.Found != nil || s.Busy || s.Compare || s.Hopeless() {
			return nil
		}
		if s.Unfinished && !q.Again {
			return s.Refusal()
		}
		if ask, err := t.same(q.Account, q.Columns, q.Content); err != nil || ask {
			s = Standing{Compare: ask}
			return err
		}
		samples, moved, err := t.drawn(&q)
		if err != nil || moved {
			s = Standing{Moved: moved}
			return err
		}
		for _, r := range rs {
			if r.State == Debited {
				if err := t.abandon(r); err != nil {
					return err
				}
			}
		}
		s = Standing{}
		s.Ticket, err = t.debit(&q, samples)
		return err
	})
	if err != nil {
		return Standing{}, err // what was in the making counts for nothing
	}
	return s, nil
}

// Refusal says that an earlier run did not get to its seal.
func (s *Standing) Refusal() *Error {
	if s.Failed != nil {
		return refuse(CodeUnfinished, "an earlier run of this job failed after its debit (%s), which stays spent; run with --again to spend again", s.Failed.Code)
	}
	return refuse(CodeUnfinished, "an earlier run of this job was cut off after its debit, which stays spent; run with --again to spend again")
}

// abandon takes a debited release out of the hands of a run that died.
func (t *tx) abandon(r *Release) error {
	if err := t.exec("UPDATE dprelease_releases SET state = ?, token = token + 1 WHERE id = ?", Abandoned, r.ID); err != nil {
		return err
	}
	return t.record(r.Plan, kindAbandon, &abandonBody{Release: r.ID})
}

// record appends a record about a release of a plan, whose row is changed already.
func (t *tx) record(plan, kind string, b body) error {
	rs, err := t.rawReleases(plan)
	if err != nil {
		return err
	}
	if err := t.commit(planKey(plan), planRow(rs)); err != nil {
		return err
	}
	_, err = t.append(kind, b)
	return err
}

// drawn reads the kept samples that a job uses, in the transaction of its debit,
// and says whether one of them has moved since the job was planned.
func (t *tx) drawn(q *Request) (samples map[string]*Sample, moved bool, err error) {
	samples = map[string]*Sample{}
	for _, step := range q.Draws {
		s, err := t.sample(step.Sample)
		switch {
		case err != nil:
			return nil, false, err
		case step.New != nil && s != nil && step.New.Collected:
			moved = true // another job was the first
			continue
		case step.New != nil && s != nil:
			return nil, false, refuse(CodeSample, "there is a sample %s already", step.Sample)
		case step.New != nil:
			continue
		case s == nil:
			return nil, false, refuse(CodeSample, "%s has no sample %s", t.l.address, step.Sample)
		}
		samples[s.ID] = s
		moved = moved || !s.same(step.Spent)
	}
	return samples, moved, nil
}

func (t *tx) debit(q *Request, samples map[string]*Sample) (*Ticket, error) {
	a, err := t.account(q.Account)
	if err == nil && a == nil {
		q.Opening.Keeps = columnSet(q.Keeps)
		a, err = t.open(q.Account, q.Opening)
	}
	if err != nil {
		return nil, err
	}
	if err := t.collectedOnly(a, q); err != nil {
		return nil, err
	}
	for _, s := range samples {
		if err := s.usable(a.ID); err != nil {
			return nil, err
		}
	}
	cost, uses, err := a.Price(q, samples)
	if err != nil {
		return nil, err
	}
	if err := a.Admit(cost, q.Own); err != nil {
		return nil, err
	}
	if err := admitKept(a, q.Keeps); err != nil {
		return nil, err
	}
	whole := together(q, uses)
	draws, err := drawsOf(q, uses)
	if err != nil {
		return nil, err
	}
	k := &Ticket{Ledger: t.state.ledger, Release: t.state.seq + 1, Cost: cost, Uses: uses, Columns: q.Columns, token: 1, content: q.Content, lease: q.Lease}
	if k.lease <= 0 {
		k.lease = DefaultLease
	}
	if err := t.use(a.ID, k.Release, draws, uses); err != nil {
		return nil, err
	}
	for _, step := range q.Draws {
		if step.New != nil && !step.New.Collected {
			k.keeps = append(k.keeps, step.Sample)
		}
	}
	if err := t.noteFolder(k.Release, a.ID, q.Host, q.Folder); err != nil {
		return nil, err
	}
	if err := t.exec("INSERT INTO dprelease_releases (id, account, plan, state, holder, token, lease_until) VALUES (?, ?, ?, ?, ?, ?, ?)",
		k.Release, a.ID, q.Plan, Debited, t.holding(k.lease), k.token, t.at.Add(k.lease).UnixMicro()); err != nil {
		return nil, err
	}
	rs, err := t.rawReleases(q.Plan)
	if err == nil {
		err = t.commit(planKey(q.Plan), planRow(rs))
	}
	if err != nil {
		return nil, err
	}
	a.Debits++
	for i := range a.Spent {
		a.Spent[i] = new(big.Rat).Add(a.Spent[i], cost[i])
	}
	r, err := t.append(kindDebit, &debitBody{Account: a.ID, Plan: q.Plan, Job: q.Job, Digest: q.Digest, Again: q.Again,
		Epsilon: whole.Epsilon, Delta: whole.Delta, Cost: ratTexts(cost), Releases: q.Charges, Draws: draws, Keeps: columnSet(q.Keeps)}, a)
	if err != nil {
		return nil, err
	}
	k.Seq, k.Head, k.Account = r.Seq, r.Hash, *a
	return k, nil
}

const releaseColumns = "id, account, plan, content, state, archive_digest, holder, token, lease_until"

func scanRelease(s scanner) (*Release, error) {
	var r Release
	var content, archive sql.NullString
	var until int64
	if err := s.Scan(&r.ID, &r.Account, &r.Plan, &content, &r.State, &archive, &r.holder, &r.token, &until); err != nil {
		return nil, err
	}
	r.Content, r.archive, r.until = content.String, archive.String, time.UnixMicro(until)
	return &r, nil
}

// releasesOf finds the releases of a plan, and those that an earlier version knew by one
// of the former digests, the oldest first. They are held to the chain: none is missing,
// and each is in the state in which the chain left it.
func (t *tx) releasesOf(plan string, former ...string) ([]*Release, error) {
	rs, err := t.rawReleases(plan)
	if err == nil {
		err = t.holds(planKey(plan), planRow(rs), "the list of releases of this job")
	}
	if err != nil {
		return nil, err
	}
	for _, digest := range former {
		more, err := t.formerly(digest)
		if err != nil {
			return nil, err
		}
		for _, r := range more {
			if !slices.ContainsFunc(rs, func(o *Release) bool { return o.ID == r.ID }) {
				rs = append(rs, r)
			}
		}
	}
	slices.SortFunc(rs, func(a, b *Release) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range rs {
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
	rows, err := t.rows("SELECT "+releaseColumns+" FROM dprelease_releases WHERE plan = ? ORDER BY id", plan)
	if err != nil {
		return nil, err
	}
	return scanReleases(rows)
}

func scanReleases(rows *sql.Rows) ([]*Release, error) {
	defer rows.Close()
	var out []*Release
	for rows.Next() {
		r, err := scanRelease(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	return out, nil
}

// held reads the release of a ticket and refuses a holder that was overtaken.
func (t *tx) held(k *Ticket) (*Release, error) {
	r, err := t.release(k.Release)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, refuse(CodeRolledBack, "the debit of this run is gone from %s", t.l.address)
	case r.State != Debited || r.token != k.token:
		return nil, refuse(CodeLease, "this run was taken for dead and another one has taken its place; it publishes nothing")
	}
	return r, nil
}

// Renew says that the run is alive.
func (l *Ledger) Renew(ctx context.Context, k *Ticket) error {
	return l.write(ctx, func(t *tx) error {
		if _, err := t.held(k); err != nil {
			return err
		}
		return t.exec("UPDATE dprelease_releases SET holder = ?, lease_until = ? WHERE id = ?", t.holding(k.lease), t.at.Add(k.lease).UnixMicro(), k.Release)
	})
}

// holding names the holder of a lease. A test that sets the clock sets that of the
// lease as well.
func (t *tx) holding(lease time.Duration) string {
	if t.l.options.clock != nil {
		name, _, _ := strings.Cut(holding(lease), "@")
		return name
	}
	return holding(lease)
}

// Drop says that the run has ended without a seal. The debit stays.
func (l *Ledger) Drop(ctx context.Context, k *Ticket) error {
	return l.write(ctx, func(t *tx) error {
		if _, err := t.held(k); err != nil {
			return err
		}
		if err := t.forgetFolder(k.Release); err != nil {
			return err
		}
		return t.exec("UPDATE dprelease_releases SET lease_until = 0 WHERE id = ?", k.Release)
	})
}

// Keep renews the ticket's lease until stop is called. The context that it
// returns ends when the lease is lost.
func (l *Ledger) Keep(ctx context.Context, k *Ticket) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(k.lease / 3)
		defer tick.Stop()
		failing := time.Time{}
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := l.Renew(ctx, k)
			var known *Error
			switch {
			case err == nil:
				failing = time.Time{}
				continue
			case ctx.Err() != nil:
				return
			case errors.As(err, &known) && known.Code == CodeLocked && (failing.IsZero() || time.Since(failing) < k.lease):
				if failing.IsZero() {
					failing = time.Now()
				}
				continue
			}
			cancel(err)
			return
		}
	}()
	return ctx, func() { cancel(context.Canceled); <-done }
}

// Seal makes the bytes of a release durable, under the content that was read.
//
// # Contract
//
// Afterwards these bytes, and no others, are what this plan released from this
// content. It fails for a holder that was overtaken, and where the same plan was
// released from the same content already. Proof: ledger.proof.md.
//
// The rows of every sample that the release keeps must be given; they become
// durable, and the samples usable, in the same transaction.
//
// The ticket's columns are remembered: no other account can then be charged for them
// unless a person says so (same.go).
func (l *Ledger) Seal(ctx context.Context, k *Ticket, content string, files []File, kept ...Rows) error {
	if content == "" || k.content != "" && k.content != content {
		return refuse(CodeChanged, "the table changed while it was read; nothing was published, and the budget is spent")
	}
	archive, err := pack(files)
	if err != nil {
		return err
	}
	digest := digestOf(archive)
	return l.write(ctx, func(t *tx) error {
		r, err := t.held(k)
		if err != nil {
			return err
		}
		others, err := t.releasesOf(r.Plan)
		if err != nil {
			return err
		}
		for _, o := range others {
			if o.Content == content {
				return refuse(CodeReleased, "the same releases were made from the same data already; these are not published, and their budget is spent")
			}
		}
		if _, err := t.same(k.Account.Key, k.Columns, content); err != nil {
			return err
		}
		if err := t.noteColumns(k.Account.ID, k.Columns); err != nil {
			return err
		}
		sums := make([]Sum, len(files))
		for i, f := range files {
			sums[i] = Sum{Path: f.Path, SHA256: digestOf(f.Data)}
		}
		rows, err := t.keep(k, kept)
		if err != nil {
			return err
		}
		t.untimed()
		if err := t.exec("UPDATE dprelease_releases SET state = ?, content = ?, archive_digest = ?, archive = ? WHERE id = ?",
			Sealed, content, digest, archive, k.Release); err != nil {
			return err
		}
		return t.record(r.Plan, kindSeal, &sealBody{Release: k.Release, Content: content, Archive: digest, Files: sums, Samples: rows})
	})
}

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
		return t.row("SELECT archive FROM dprelease_releases WHERE id = ?", release).Scan(&archive)
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
		if err := t.exec("UPDATE dprelease_releases SET state = ? WHERE id = ?", Published, release); err != nil {
			return err
		}
		return t.record(r.Plan, kindPublish, &publishBody{Release: release})
	})
}

// Spend is one debit, to be shown.
type Spend struct {
	Release int64    `json:"release"` // the number of its record
	Account int64    `json:"account"`
	At      string   `json:"at"`
	By      string   `json:"by,omitempty"`
	Job     string   `json:"job"`
	Digest  string   `json:"digest"`
	State   string   `json:"state"`
	Again   bool     `json:"again,omitempty"`
	Epsilon float64  `json:"epsilon"`
	Delta   float64  `json:"delta"`
	Cost    []string `json:"cost"` // exact, in the account's units
	Charges []Charge `json:"releases"`
	Draws   []Draw   `json:"draws,omitempty"` // the kept samples that it made or used
}

// Spends returns the debits of an account, the oldest first; of all accounts where
// account is 0.
func (l *Ledger) Spends(ctx context.Context, account int64) (out []Spend, err error) {
	err = l.read(ctx, func(t *tx) error {
		rows, err := t.rows("SELECT r.id, r.account, r.state, c.body FROM dprelease_releases r JOIN dprelease_records c ON c.seq = r.id WHERE CAST(? AS BIGINT) = 0 OR r.account = ? ORDER BY r.id", account, account)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var s Spend
			var text string
			var b debitBody
			if err := rows.Scan(&s.Release, &s.Account, &s.State, &text); err != nil {
				return err
			}
			if decode(text, &b) != nil {
				return refuse(CodeTampered, "the debit %d cannot be read", s.Release)
			}
			s.At, s.By, s.Job, s.Digest, s.Again, s.Epsilon, s.Delta, s.Cost, s.Charges, s.Draws = b.At, b.By, b.Job, b.Digest, b.Again, b.Epsilon, b.Delta, b.Cost, b.Releases, b.Draws
			out = append(out, s)
		}
		return errors.Join(rows.Err(), rows.Close())
	})
	return out, err
}
