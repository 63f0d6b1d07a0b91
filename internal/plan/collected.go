package plan

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// collection is the draw that made a table itself a sample. It was made once, for
// all jobs on the table: the ledger knows what they spent on it (P4).
func collection(ctx context.Context, j *job.Job, outer privacy.Sampling, past Past) (*Draw, job.Problems, error) {
	design, err := samplers.NewCollected(j.Dataset.Size, j.Dataset.Collected.Population)
	if err != nil {
		return nil, job.Problems{j.Problem("dataset.collected", err.Error(), "")}, nil
	}
	rule, err := privacy.NewReuse(outer, j.Dataset.Relation)
	if err != nil {
		return nil, job.Problems{j.Problem("dataset.collected", err.Error(), "")}, nil
	}
	d := &Draw{Name: "collected", Design: design, Kept: &KeptDraw{rule: rule, Id: ledger.CollectedID(AccountOf(j))}}
	if d.Kept.Sample, err = past.Collected(ctx, j, d.Kept.Id); err != nil || d.Kept.Sample == nil {
		return d, nil, err
	}
	before, err := d.Kept.Sample.Sampling()
	if err != nil {
		return nil, nil, failure.OfLedger(ctx, err)
	}
	if before.With(nil) != outer.With(nil) {
		return nil, job.Problems{j.Problem("dataset.collected.population", "or dataset.size is not what earlier jobs on this data set said", "one table is one sample of one population; another one is another dataset.id")}, nil
	}
	return d, nil, nil
}

// cost is what an event on the table costs the population.
func (p *Plan) cost(event, together privacy.Event, inside privacy.Relation, onTable, target privacy.Point) (privacy.Answer, error) {
	if p.Table == nil {
		return charged(event, together, inside, target)
	}
	a, err := charged(event, together, inside, onTable)
	if err != nil {
		return a, err
	}
	u, err := p.Table.useOf(p.Job, privacy.Point{Epsilon: a.Epsilon, Delta: a.Delta})
	if err != nil {
		return a, err
	}
	return differenceOf(p.Job, u), nil
}

// priceTable finds what all draws from a table that is itself a sample cost
// together: composed on the table, and amplified with what earlier jobs did.
func (p *Plan) priceTable(events, promised []privacy.Event, inside privacy.Relation) (privacy.Answer, error) {
	most := noLimit()
	for _, e := range promised {
		a, ok := e.(privacy.Approx)
		eps, delta := new(big.Rat).SetFloat64(a.Eps), new(big.Rat).SetFloat64(a.Delta)
		if !ok || eps == nil || delta == nil {
			return privacy.Answer{}, fmt.Errorf("a draw without a charge on the table")
		}
		most.Epsilon.Add(most.Epsilon, eps)
		most.Delta.Add(most.Delta, delta)
	}
	// A δ is asked for only where it is needed.
	delta := 0.0
	a, err := privacy.EpsilonAt(compose(events), inside, delta)
	if most.Delta.Sign() > 0 && (err != nil || a.Epsilon > job.Up(most.Epsilon)) {
		delta = job.Up(most.Delta)
		a, err = privacy.EpsilonAt(compose(events), inside, delta)
	}
	if err != nil {
		return a, err
	}
	step := privacy.Point{Epsilon: math.Min(a.Epsilon, job.Up(most.Epsilon)), Delta: delta}
	k := p.Table.Kept
	k.Step = step
	if k.Use, err = p.Table.useOf(p.Job, step); err != nil {
		return a, err
	}
	return differenceOf(p.Job, k.Use), nil
}
