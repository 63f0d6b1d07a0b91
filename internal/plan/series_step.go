package plan

import (
	"encoding/json"
	"errors"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/privacy/step"
)

// Series returns what the ledger keeps of the job's series when it begins, with its prices; nil where the job has none.
func (p *Planned) Series() *SeriesSetup {
	step := planned.StepOf(p.Job)
	if step == nil {
		return nil
	}
	u, all := planned.UnitsIn(&p.Job.Series[0]), p.Releases()
	out := &SeriesSetup{Job: p.Job.Name, Periods: step.Periods, AtMost: u.AtMost, Apart: u.Apart, Revised: u.Revised,
		Held: heldBy(p.Job), Pure: all[0].Series.Pure}
	price := func(of func(*planned.Series) *big.Rat) *big.Rat { // of all releases
		total := new(big.Rat)
		for _, r := range all {
			total.Add(total, of(r.Series))
		}
		return total
	}
	most := new(big.Rat) // of a unit that is in one period
	for i := range step.Periods {
		if x := price(func(s *planned.Series) *big.Rat { return s.Slices[i] }); x.Cmp(most) > 0 {
			most = x
		}
	}
	out.Costs = [3]string{ledger.Up(most), ledger.Up(price(func(s *planned.Series) *big.Rat { return s.Most })),
		ledger.Up(price(func(s *planned.Series) *big.Rat { return s.Life }))}
	for _, r := range all {
		out.Releases = append(out.Releases, r.start)
	}
	return out
}

// ledgerSeries puts a step of the series into the words of the ledger. What it says that the step costs holds for a series that
// begins, and for a step that is measured once more. // P31
func (p *Planned) ledgerSeries(s *planned.Step) (q ledger.Request, err error) {
	one := ledger.Step{Node: s.Plans[0], Begins: ledger.KindSeries, Steady: true, Does: step.Event{At: int64(s.At) + 1}}
	one.Parts = s.Parts()
	setup, err := json.Marshal(p.Series())
	if err != nil {
		return q, err
	}
	one.Facts = string(setup)
	for _, r := range p.Releases() {
		one.Does.Bill.Delta += rational.Down(r.Job.Guarantee.Delta)
		one.Does.Measured = append(one.Does.Measured, r.Series.Bill())
	}
	relation := p.Job.Dataset.Relation
	whole, err1 := periods.Price(one.Does.Measured, relation)
	again, err2 := periods.PriceRun(one.Does.Measured, relation, s.At)
	if err := errors.Join(err1, err2); err != nil {
		return q, err
	}
	price := func(amount *big.Rat) (p privacy.Point, err error) {
		a, err := privacy.Bill{Event: whole.Event(amount), Delta: one.Does.Bill.Delta}.Price(relation)
		return privacy.Point{Epsilon: a.Epsilon, Delta: a.Delta}, err
	}
	larger := func(a, b *big.Rat) int { return a.Cmp(b) }
	q.Charged, err1 = price(slices.MaxFunc([]*big.Rat{whole.Life, again.Life}, larger))
	q.One, err2 = price(slices.MaxFunc(slices.Concat(whole.Slices, again.Slices), larger))
	q.Steps = []ledger.Step{one}
	return q, errors.Join(err1, err2)
}
