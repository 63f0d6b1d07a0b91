package ledger

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/dprelease/dprelease/privacy"
)

// Charge is the cost of one release of a job on its own. It is printed, never added up.
type Charge struct {
	Name    string  `json:"name"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// Request asks for a debit.
type Request struct {
	Account Key
	Opening Opening // used where the account is not open yet
	Own     *Limit  // the job's own limit; the smaller of it and the account's holds
	OwnLife *Limit  // the same over all slices
	Revise  bool    // publish a slice again although its table was revised: see Revised
	Plan    string
	Columns []Column      // that the job reads
	Tables  []Table       // and what it takes for private and for public
	Keeps   []string      // columns in which the neighbours that the job protects agree (P27)
	Content string        // "" where the data have not been read: only allowed for a plan without a release
	Host    string        // of Folder
	Folder  string        // in which the output is made, empty for none: see Leftovers
	Again   bool          // spend again after a run that was cut off
	Bill    privacy.Bill  // of everything but the kept samples; nothing where there is nothing else
	Charged privacy.Point // what the job says that this costs: the ledger prices it itself (bill.go)
	Job     string
	Digest  string
	Charges []Charge
	// Draws are the kept samples that the job makes or uses, each with a bill of its own.
	Draws []Step
	// Panel says that the table is one wave of a rotation. Bill and Charged are then of
	// all waves.
	Panel *Panel
	// SliceKind is the type as which the values of the column of the slices were read.
	SliceKind SliceKind
	Lease     time.Duration // 0: DefaultLease
	// Series says that the debit is for one step of a series: Bill and Charged are then nothing.
	Series *Series
	// Free says that nothing is drawn: what is released is arithmetic on what was paid for.
	Free bool
	_    struct{}
}

// Debit makes a spend durable, or says why there is none. Nothing may be drawn
// before it returned a ticket (P21).
//
// # Contract
//
// A ticket means that the cost is part of what the account has spent, durably and
// for ever, that the sum keeps within the limit of the account, and that no other
// run holds a ticket for the plan. Proof: ledger.proof.md.
func (l *Ledger) Debit(ctx context.Context, q Request) (s Standing, err error) {
	err = outside(func() error { return l.debit(ctx, &q, &s) })
	if err != nil {
		return Standing{}, err // what was in the making counts for nothing
	}
	return s, nil
}

func (l *Ledger) debit(ctx context.Context, q *Request, s *Standing) error {
	var told error
	err := l.write(ctx, func(t *tx) error {
		if err := t.admitted(); err != nil {
			return err
		}
		rs, err := t.releasesOf(q.Plan)
		if err != nil {
			return err
		}
		*s = standing(rs, q.Content, t.at)
		if s.Found != nil || s.Busy || s.Compare || s.Hopeless() {
			return nil
		}
		if s.Unfinished && !q.Again {
			return s.Refusal()
		}
		ask, err := t.sameData(q.Account, q.Columns, q.Tables, q.Series.alike())
		if told, err = t.recordAnswer(q.Account, q.Job, err); told != nil || err != nil || ask {
			*s = Standing{Compare: ask}
			return err
		}
		if ask, err := t.revised(q); err != nil || ask {
			*s = Standing{Compare: ask}
			return err
		}
		samples, moved, err := t.drawn(q)
		if err != nil || moved {
			*s = Standing{Moved: moved}
			return err
		}
		for _, r := range rs {
			if r.State == Debited {
				if _, err := t.append(&abandonBody{Release: r.ID}); err != nil {
					return err
				}
			}
		}
		*s = Standing{}
		s.Ticket, err = t.debit(q, samples)
		return err
	})
	return cmp.Or(err, told)
}

// drawn reads the kept samples that a job uses, in the transaction of its debit,
// and says whether one of them has moved since the job was planned.
func (t *tx) drawn(q *Request) (samples map[string]*Sample, moved bool, err error) {
	samples = map[string]*Sample{}
	if q.Panel != nil {
		s, err := t.sample(q.Panel.ID)
		if err != nil {
			return nil, false, err
		}
		if s != nil {
			samples[s.ID] = s
		}
	}
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
	if err := a.admitKind(q.SliceKind); err != nil {
		return nil, err
	}
	if err := errors.Join(t.collectedOnly(a, q), t.onePanel(a, q)); err != nil {
		return nil, err
	}
	pins, err := t.pin(q)
	if err != nil {
		return nil, err
	}
	for _, s := range samples {
		if err := s.usable(a.ID, a.Slice.Is); err != nil {
			return nil, err
		}
	}
	var uses []*Use
	var cost privacy.Cost
	var charged privacy.Point
	var series *seriesDebit
	switch {
	case q.Free:
		cost = a.nothing()
	case q.Series != nil:
		cost, series, err = t.debitSeries(a, q)
	default:
		var bill *Priced
		if bill, err = a.priced(q, samples, remembered); err == nil {
			cost, uses, charged = bill.Cost, bill.Uses, bill.Charged
			err = a.Admit(cost, q.Own, q.OwnLife)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := admitKept(a, q.Keeps); err != nil {
		return nil, err
	}
	if q.Free || q.Series != nil && series.paid() {
		q.Charges = nil
	}
	whole := together(charged, uses)
	draws, err := drawsOf(q, uses)
	if err != nil {
		return nil, err
	}
	panel, secret, err := t.panelOf(q, samples, charged, t.state.seq+1, a.ID)
	if err != nil {
		return nil, err
	}
	k := &Ticket{Ledger: t.state.ledger, Release: t.state.seq + 1, Cost: cost, Uses: uses, Columns: q.Columns, Tables: q.Tables, token: 1, job: q.Job, content: q.Content, lease: q.Lease, alike: q.Series.alike()}
	if k.billed, err = q.billed(samples); err != nil {
		return nil, err
	}
	if k.lease <= 0 {
		k.lease = DefaultLease
	}
	for _, step := range q.Draws {
		if step.New != nil && !step.New.Collected {
			k.keeps = append(k.keeps, step.Sample)
		}
	}
	r, err := t.append(&debitBody{Account: a.ID, Plan: q.Plan, Job: q.Job, Digest: q.Digest, Again: q.Again,
		Epsilon: whole.Epsilon, Delta: whole.Delta, Cost: ratTexts(cost), Releases: q.Charges, Draws: draws, Panel: panel, Pins: pins, Keeps: columnSet(q.Keeps), Slice: a.Slice.Is, SliceKind: q.SliceKind, Series: series})
	if err != nil {
		return nil, err
	}
	if secret != nil {
		if err := t.exec("UPDATE dprelease_samples SET sealed = ? WHERE id = ?", secret, q.Panel.ID); err != nil {
			return nil, err
		}
	}
	k.Seq, k.Head, k.Account = r.Seq, r.Hash, *a
	return k, errors.Join(t.hold(k), t.noteFolder(k.Release, a.ID, q.Host, q.Folder))
}
