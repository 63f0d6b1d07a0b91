package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
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
	Columns []Column // that the job reads
	Tables  []Table  // and what it takes for private and for public
	Keeps   []string // columns in which the neighbours that the job protects agree (P27)
	Content string   // "" where the data have not been read: only allowed for a plan without a release
	Host    string   // of Folder
	Folder  string   // in which the output is made, empty for none: see Leftovers
	Again   bool     // spend again after a run that was cut off
	// Steps list everything that the job does, node by node: the ledger prices it itself (step.go). Charged is what the job
	// says that all of it costs, and One what a unit pays that is in one slice of a series.
	Steps        []Step
	Charged, One privacy.Point
	Job          string
	Digest       string
	Charges      []Charge
	// SliceKind is the type as which the values of the column of the slices were read.
	SliceKind SliceKind
	Lease     time.Duration // 0: DefaultLease
	// Alike says that a unit that is in several slices of a series is paid for in all of them, so that these may hold the same rows.
	Alike bool
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
		ask, err := t.same(q.Account, q.Columns, q.Tables, q.sharing())
		if told, err = t.recordAnswer(q.Account, q.Job, err); told != nil || err != nil || ask {
			*s = Standing{Compare: ask}
			return err
		}
		if ask, err := t.revised(q); err != nil || ask {
			*s = Standing{Compare: ask}
			return err
		}
		nodes, moved, err := t.stepped(q)
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
		s.Ticket, err = t.debit(q, nodes)
		return err
	})
	return cmp.Or(err, told)
}

func (t *tx) debit(q *Request, nodes map[string]*Node) (*Ticket, error) {
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
	if err := t.goOn(a, q, nodes); err != nil {
		return nil, err
	}
	bill, err := a.priced(q, nodes, remembered)
	if err != nil {
		return nil, err
	}
	if err := t.admit(a, q, bill); err != nil {
		return nil, err
	}
	if err := admitKept(a, q.Keeps); err != nil {
		return nil, err
	}
	k := &Ticket{Ledger: t.state.ledger, Release: t.state.seq + 1, Cost: bill.Cost, Steps: bill.Steps, Columns: q.Columns, Tables: q.Tables,
		token: 1, job: q.Job, content: q.Content, lease: q.Lease, of: q.sharing()}
	if k.billed, err = q.billed(nodes); err != nil {
		return nil, err
	}
	if k.lease <= 0 {
		k.lease = DefaultLease
	}
	steps, secrets, err := t.stepsOf(q, nodes, bill, k.Release, a.ID)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		if s.Begins == KindDraw {
			k.keeps = append(k.keeps, s.Node)
		}
	}
	charges := q.Charges
	if q.Free || len(bill.Slices) == 0 && slices.ContainsFunc(q.Steps, func(s Step) bool { return s.Begins == KindSeries }) {
		charges = nil // it was paid for
	}
	r, err := t.append(&debitBody{Account: a.ID, Plan: q.Plan, Job: q.Job, Digest: q.Digest, Again: q.Again,
		Epsilon: bill.Charged.Epsilon, Delta: bill.Charged.Delta, Cost: bill.Cost, Releases: charges, Steps: steps,
		Keeps: columnSet(q.Keeps), Slice: a.Slice.Is, SliceKind: q.SliceKind})
	if err != nil {
		return nil, err
	}
	for id, secret := range secrets {
		if err := t.exec("UPDATE dprelease_nodes SET sealed = ? WHERE id = ?", secret, id); err != nil {
			return nil, err
		}
	}
	k.Seq, k.Head, k.Account = r.Seq, r.Hash, *a
	return k, errors.Join(t.hold(k), t.noteFolder(k.Release, a.ID, q.Host, q.Folder))
}

// admit holds an account to its limits, and to those of the job. The limits of the slices of a series are asked slice by
// slice, while the record is entered.
func (t *tx) admit(a *Account, q *Request, p *Priced) error {
	if len(p.Slices) == 0 {
		return a.Admit(p.Cost, q.Own, q.OwnLife)
	}
	all, err := inBuckets(p.Slices)
	if err != nil {
		return err
	}
	if err := t.readBuckets(a, all); err != nil {
		return err
	}
	t.books.charged = func(a *Account, cost privacy.Cost) error {
		return a.keepOne(differenceOf(a.InSlice.Spent, cost), cost, q.Own)
	}
	return a.keepAll(p.Cost, q.OwnLife)
}
