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

// Step returns the step of a job's series: nil where the job has none.
func (p *Planned) Step() *SeriesStep {
	if s := planned.StepOf(p.Job); s != nil {
		return &SeriesStep{s, p}
	}
	return nil
}

// SeriesStep is one step of a series, with its prices.
type SeriesStep struct {
	*planned.Step
	plan *Planned
}

// sum adds a price over all releases.
func (s *SeriesStep) sum(of func(*planned.Series) *big.Rat) *big.Rat {
	total := new(big.Rat)
	for _, r := range s.plan.Releases() {
		total.Add(total, of(r.Series))
	}
	return total
}

// Largest prices a unit that is in one period: the largest price of any period.
func (s *SeriesStep) Largest() *big.Rat {
	most := new(big.Rat)
	for p := range s.Periods {
		if x := s.sum(func(r *planned.Series) *big.Rat { return r.Slices[p] }); x.Cmp(most) > 0 {
			most = x
		}
	}
	return most
}

// Most prices what the job promises.
func (s *SeriesStep) Most() *big.Rat {
	return s.sum(func(r *planned.Series) *big.Rat { return r.Most })
}

// Life prices a unit that is in all periods.
func (s *SeriesStep) Life() *big.Rat {
	return s.sum(func(r *planned.Series) *big.Rat { return r.Life })
}

// Pure reports whether prices are in ε; else they are in ρ.
func (s *SeriesStep) Pure() bool { return s.plan.Releases()[0].Series.Pure }

// AtMost returns in how many periods a unit may be for the guarantee to hold.
func (s *SeriesStep) AtMost() int { return planned.UnitsIn(&s.plan.Job.Series[0]).AtMost }

// Apart returns how far apart these periods lie at least.
func (s *SeriesStep) Apart() int { return planned.UnitsIn(&s.plan.Job.Series[0]).Apart }

// Held returns what holds a unit to them.
func (s *SeriesStep) Held() Held { return heldBy(s.plan.Job) }

// Text says in a sentence what the series costs.
func (s *SeriesStep) Text() string {
	setup := s.setup()
	return setup.Text()
}

// setup makes the text that the ledger keeps of a series that begins.
func (s *SeriesStep) setup() SeriesSetup {
	u := planned.UnitsIn(&s.plan.Job.Series[0])
	out := SeriesSetup{Job: s.plan.Job.Name, Periods: s.Periods, AtMost: u.AtMost, Apart: u.Apart, Revised: u.Revised,
		Held: heldBy(s.plan.Job), Pure: s.Pure(), Costs: [3]string{ledger.Up(s.Largest()), ledger.Up(s.Most()), ledger.Up(s.Life())}}
	for _, r := range s.plan.Releases() {
		out.Releases = append(out.Releases, r.start)
	}
	return out
}

// request puts the step into the words of the ledger. What it says that the step costs holds for a series that begins, and for
// a step that is measured once more. // P31
func (s *SeriesStep) request() (q ledger.Request, err error) {
	one := ledger.Step{Node: s.Plans[0], Begins: ledger.KindSeries, Steady: true, Does: step.Event{At: int64(s.At) + 1}}
	one.Parts = s.Parts()
	setup, err := json.Marshal(s.setup())
	if err != nil {
		return q, err
	}
	one.Facts = string(setup)
	for _, r := range s.plan.Releases() {
		one.Does.Bill.Delta += rational.Down(r.Job.Guarantee.Delta)
		one.Does.Measured = append(one.Does.Measured, r.Series.Bill())
	}
	relation := s.plan.Job.Dataset.Relation
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
