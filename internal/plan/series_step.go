package plan

import (
	"encoding/json"
	"math/big"

	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Step returns the step of a job's series: nil where the job has none.
func (p *Planned) Step() *SeriesStep {
	at, ok := p.Job.Step()
	if !ok {
		return nil
	}
	s := &SeriesStep{At: at, Plans: StepPlans(p.Job), Periods: p.Job.Series[0].Periods.All(), plan: p}
	return s
}

// SeriesStep is one step of all releases of a job, which share their periods.
type SeriesStep struct {
	At      int
	Periods []string
	Plans   []string // of the steps, as the ledger names them
	plan    *Planned
}

// sum adds a price over all releases.
func (s *SeriesStep) sum(of func(*PlannedSeries) *big.Rat) *big.Rat {
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
		if x := s.sum(func(r *PlannedSeries) *big.Rat { return r.One(p) }); x.Cmp(most) > 0 {
			most = x
		}
	}
	return most
}

// Most prices what the job promises.
func (s *SeriesStep) Most() *big.Rat { return s.sum((*PlannedSeries).Most) }

// Life prices a unit that is in all periods.
func (s *SeriesStep) Life() *big.Rat { return s.sum((*PlannedSeries).Life) }

// Pure reports whether prices are in ε; else they are in ρ.
func (s *SeriesStep) Pure() bool { return s.plan.Releases()[0].Series.question.Pure }

// AtMost returns in how many periods a unit may be for the guarantee to hold.
func (s *SeriesStep) AtMost() int { return unitsOf(&s.plan.Job.Series[0]).AtMost }

// Apart returns how far apart these periods lie at least.
func (s *SeriesStep) Apart() int { return unitsOf(&s.plan.Job.Series[0]).Apart }

// Held returns what holds a unit to them.
func (s *SeriesStep) Held() Held { return heldBy(s.plan.Job) }

// Alike reports whether slices may hold the same rows: a unit that is in several of them is paid for in all in which it
// counts.
func (s *SeriesStep) Alike() bool {
	return s.Held() == HeldByCap || s.AtMost() >= len(s.Periods) && s.Apart() == 1
}

// Text says in a sentence what the series costs.
func (s *SeriesStep) Text() string {
	setup := s.setup()
	return setup.Text()
}

// Setup writes down what the ledger keeps of a series that begins.
func (s *SeriesStep) Setup() ([]byte, error) { return json.Marshal(s.setup()) }

func (s *SeriesStep) setup() SeriesSetup {
	u := unitsOf(&s.plan.Job.Series[0])
	out := SeriesSetup{Job: s.plan.Job.Name, Periods: s.Periods, AtMost: u.AtMost, Apart: u.Apart, Revised: u.Revised, Held: heldBy(s.plan.Job),
		Pure: s.Pure(), Costs: [3]string{ledger.Up(s.Largest()), ledger.Up(s.Most()), ledger.Up(s.Life())}}
	for _, r := range s.plan.Releases() {
		out.Releases = append(out.Releases, r.Series.Start)
	}
	return out
}

// Series puts the step into the words of the ledger. // P31
func (s *SeriesStep) Series() (*ledger.Series, error) {
	out := &ledger.Series{Alike: s.Alike()}
	for i, period := range s.Periods {
		out.Steps = append(out.Steps, ledger.PeriodStep{Is: period, Plan: s.Plans[i]})
	}
	var err error
	if out.Setup, err = s.Setup(); err != nil {
		return nil, err
	}
	delta := 0.0
	for _, r := range s.plan.Releases() {
		delta += rational.Down(r.Job.Guarantee.Delta)
	}
	for _, r := range s.plan.Releases() {
		out.Releases = append(out.Releases, r.Series.Bill())
	}
	relation := s.plan.Job.Dataset.Relation
	whole, err := periods.Price(out.Releases, relation)
	if err != nil {
		return nil, err
	}
	again, err := periods.PriceRun(out.Releases, relation, s.At)
	if err != nil {
		return nil, err
	}
	price := func(amount *big.Rat) (p ledger.Price) {
		var a privacy.Answer
		if err == nil {
			a, err = privacy.Bill{Event: whole.Event(amount), Delta: delta}.Price(relation)
		}
		return ledger.Price{Charged: privacy.Point{Epsilon: a.Epsilon, Delta: a.Delta}}
	}
	prices := func(of *periods.Prices) (p ledger.Prices) {
		for i, amount := range of.Slices {
			if amount.Sign() > 0 {
				p.Slices = append(p.Slices, ledger.SlicePrice{Is: s.Periods[i], Price: price(amount)})
			}
		}
		p.Life = price(of.Life)
		return p
	}
	out.Whole, out.Redraw = prices(whole), prices(again)
	return out, err
}
