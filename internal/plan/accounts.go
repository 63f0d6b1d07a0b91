package plan

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

// LimitOf is the limit that a job says of its account.
func LimitOf(j *job.Job) ledger.Limit {
	return j.Budget.Limit.Limit()
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
