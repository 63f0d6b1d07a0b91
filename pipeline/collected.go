package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// withAccount reads from the ledger of a job. It makes none: where there is none,
// or no account, nothing is read.
func withAccount(ctx context.Context, j *job.Job, read func(l *ledger.Ledger, a *ledger.Account) error) error {
	at, err := LedgerOf(ctx, j)
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, at, ledger.Options{ReadOnly: true})
	var known *ledger.Error
	// A run brings an older ledger up to date while it is planned.
	for n := 0; n < 20 && errors.As(err, &known) && known.Code == ledger.CodeVersion && sleep(ctx, 25*time.Millisecond) == nil; n++ {
		l, err = ledger.Open(ctx, at, ledger.Options{ReadOnly: true})
	}
	switch {
	case errors.As(err, &known) && known.Code == ledger.CodeMissing:
		return nil
	case err != nil:
		return ledgerFailure(ctx, err)
	}
	defer l.Close()
	a, err := l.Account(ctx, accountOf(j))
	if err == nil && a != nil {
		err = read(l, a)
	}
	if err != nil {
		return ledgerFailure(ctx, err)
	}
	return nil
}

// collection is the draw that made a table itself a sample. It was made once, for
// all jobs on the table: the ledger knows what they spent on it (P4).
func collection(ctx context.Context, j *job.Job, outer privacy.Sampling) (*draw, job.Problems, error) {
	design, err := samplers.NewCollected(j.Dataset.Size, j.Dataset.Collected.Population)
	if err != nil {
		return nil, job.Problems{j.Problem("dataset.collected", err.Error(), "")}, nil
	}
	rule, err := privacy.NewReuse(outer, j.Dataset.Relation)
	if err != nil {
		return nil, job.Problems{j.Problem("dataset.collected", err.Error(), "")}, nil
	}
	d := &draw{name: "collected", design: design, kept: &keptDraw{rule: rule, id: ledger.CollectedID(accountOf(j))}}
	err = withAccount(ctx, j, func(l *ledger.Ledger, _ *ledger.Account) (err error) {
		d.kept.sample, err = l.Sample(ctx, d.kept.id)
		return err
	})
	if err != nil || d.kept.sample == nil {
		return d, nil, err
	}
	before, err := d.kept.sample.Sampling()
	if err != nil {
		return nil, nil, ledgerFailure(ctx, err)
	}
	if before.With(nil) != outer.With(nil) {
		return nil, job.Problems{j.Problem("dataset.collected.population", "or dataset.size is not what earlier jobs on this data set said", "one table is one sample of one population; another one is another dataset.id")}, nil
	}
	return d, nil, nil
}

// cost is what an event on the table costs the population.
func (p *Plan) cost(event, together privacy.Event, inside privacy.Relation, onTable, target privacy.Point) (privacy.Answer, error) {
	if p.table == nil {
		return charged(event, together, inside, target)
	}
	a, err := charged(event, together, inside, onTable)
	if err != nil {
		return a, err
	}
	u, err := p.table.useOf(p.job, privacy.Point{Epsilon: a.Epsilon, Delta: a.Delta})
	if err != nil {
		return a, err
	}
	return differenceOf(p.job, u), nil
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
	k := p.table.kept
	k.step = step
	if k.use, err = p.table.useOf(p.job, step); err != nil {
		return a, err
	}
	return differenceOf(p.job, k.use), nil
}
