package planned

import (
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
)

// AccountOf is the account that a job spends from.
func AccountOf(j *job.Job) ledger.Key {
	k := ledger.Key{Dataset: j.Dataset.ID, Unit: j.Dataset.Unit, Relation: j.Dataset.Relation}
	if s := j.Dataset.Slice; s != nil {
		k.Slice = ledger.Slice{Column: s.Column, Is: s.Is}
	}
	return k
}

// LifetimeOf is the limit that a job says of all slices of its account together, nil where
// it says none.
func LifetimeOf(j *job.Job) *ledger.Limit {
	if j.Budget.Lifetime == nil {
		return nil
	}
	l := j.Budget.Lifetime.Limit()
	return &l
}

// OpeningOf opens an account with a limit.
func OpeningOf(limit ledger.Limit) ledger.Opening {
	o := ledger.Opening{Filter: ledger.Basic, Limit: limit}
	if limit.Rho != nil {
		o.Filter = ledger.ZCDP
	}
	return o
}

// Asks is a request for what a run of the plan costs: that of asks, which proposes steps and prices, with all else from the job.
func (p *Plan) Asks(asks ledger.Request) ledger.Request {
	limit := p.Job.Budget.Limit.Limit()
	q := ledger.Request{Account: AccountOf(p.Job), Opening: OpeningOf(limit), Own: &limit, OwnLife: LifetimeOf(p.Job),
		Job: p.Job.Name, Digest: p.Job.Digest(), Keeps: p.Keeps(), Steps: asks.Steps, Charged: asks.Charged, One: asks.One, Charges: asks.Charges}
	q.Opening.Lifetime = q.OwnLife
	if s := StepOf(p.Job); s != nil {
		q.Alike = s.Alike
	}
	return q
}
