package ledger

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
)

// Series says of a debit that it is for one step of a series (P31), and what steps cost. The first step
// pays for all.
type Series struct {
	Steps []PeriodStep // all of them, in their order
	// Releases are all that the series measures: the ledger prices them itself. Whole and Redraw are what the job says that
	// the whole series costs, and measuring this step once more where its bytes were lost.
	Releases []periods.Series
	Whole    Prices
	Redraw   Prices
	Setup    []byte // JSON, public: what later steps need to know. It is stored with the debit of the first step
	// Alike says that a unit that is in several slices is paid for in all of them, so these may hold the same rows.
	Alike bool
	Pins  []Pin // what decides which unit is in which slice, and how often it counts
}

// PeriodStep names one step of a series: its slice, and its plan.
type PeriodStep struct {
	Is   string `json:"is"`
	Plan string `json:"plan"`
}

// alike lists the slices that may hold the rows of one another.
func (s *Series) alike() (out []string) {
	if s != nil && s.Alike {
		for _, one := range s.Whole.Slices {
			out = append(out, spelled(one.Is))
		}
	}
	return out
}

// Prices are costs that several slices are charged at once.
type Prices struct {
	Slices []SlicePrice
	Life   Price // of a unit that is in all slices: it is not the sum over them
}

// SlicePrice is the price of one slice.
type SlicePrice struct {
	Is string
	Price
}

// Price holds the cost of something, as the job says it.
type Price struct {
	Charged privacy.Point
}

// seriesDebit is the part of a step's debit that is about its series.
type seriesDebit struct {
	Slices []charged    `json:"slices,omitempty"` // what they are charged; none for a step that is paid for
	Steps  []PeriodStep `json:"steps,omitempty"`  // of the first step: all steps that it pays for
	Setup  string       `json:"setup,omitempty"`  // of the first step
	Of     int64        `json:"of,omitempty"`     // of all others, and of a redraw: the debit of the first step
}

// paidSeries is a series that was paid for, as the chain has it. The tree of digests commits to it.
type paidSeries struct {
	Debit   int64        `json:"debit"`
	Account int64        `json:"account"`
	Steps   []PeriodStep `json:"steps"`
	Setup   string       `json:"setup"`
}

// seriesKey is the key of a series in the tree of digests.
func seriesKey(debit int64) string { return fmt.Sprintf("series\n%d", debit) }

// step finds the step of a plan in a slice, -1 for none.
func (s *paidSeries) step(plan, is string) int {
	return slices.IndexFunc(s.Steps, func(p PeriodStep) bool { return p.Plan == plan && spelled(p.Is) == spelled(is) })
}

// paid reports whether an earlier step paid for this one.
func (s *seriesDebit) paid() bool { return len(s.Slices) == 0 }

// costs prices a series in the units of an account, by the ledger's own figures: one run once more, or for run < 0 all of
// it. What the job says is compared, slice by slice.
func (s *Series) costs(a *Account, run int, ask pricer) (slices []SliceCost, life privacy.Cost, err error) { // P38
	says, own := s.Whole, (*periods.Prices)(nil)
	if run < 0 {
		own, err = periods.Price(s.Releases, a.Relation)
	} else {
		says = s.Redraw
		own, err = periods.PriceRun(s.Releases, a.Relation, run)
	}
	if err != nil || run < 0 && len(own.Slices) != len(s.Steps) {
		return nil, nil, refuse(CodeBill, "the bill of the series has no price, or other periods than its steps: %v", err)
	}
	claims, used := map[string]privacy.Point{}, 0
	for _, c := range says.Slices {
		claims[spelled(c.Is)] = c.Charged
	}
	price := func(amount *big.Rat, claim privacy.Point) (privacy.Cost, error) {
		e := own.Event(amount)
		point, err := a.held(privacy.Bill{Event: e, Delta: claim.Delta}, []privacy.Relation{a.Relation}, claim, "a period of the series", ask)
		if err != nil {
			return nil, err
		}
		return a.Cost(e, point)
	}
	for i, amount := range own.Slices {
		if amount.Sign() == 0 {
			continue
		}
		is := s.Steps[i].Is
		claim, ok := claims[spelled(is)]
		if !ok {
			return nil, nil, refuse(CodeBill, "the bill of the series does not list %s", is)
		}
		used++
		c, err := price(amount, claim)
		if err != nil {
			return nil, nil, err
		}
		slices = append(slices, SliceCost{is, c})
	}
	if used != len(says.Slices) {
		return nil, nil, refuse(CodeBill, "the bill of the series does not list each of its slices once")
	}
	life, err = price(own.Life, says.Life.Charged)
	return slices, life, err
}

// Admits charges prices to a copy of an account, whose slices are those that its ledger would read. It is for a
// forecast: only the slice of its key is compared with the limit of a slice.
func (a *Account) Admits(s *Series, own, ownLife *Limit) (privacy.Cost, error) {
	costs, life, err := s.costs(a, -1, privacy.Bill.Price)
	if err != nil {
		return nil, err
	}
	for _, c := range costs {
		if err := cmp.Or(a.keep(own, a.nothing(), c.Cost, "the job"), a.keep(&a.Limit, a.nothing(), c.Cost, "")); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(a.keepLife(a.Lifetime, life, ""), a.keepLife(ownLife, life, "the job")); err != nil {
		return nil, err
	}
	before := a.Spent
	for _, c := range costs {
		if c.Is == a.Slice.Is {
			a.Charge(c.Cost)
		} else {
			a.Largest = largest(a.Largest, c.Cost)
		}
	}
	a.Slices = max(a.Slices, int64(len(costs)))
	a.Spent = sumOf(before, life)
	return life, nil
}

// debitSeries debits one step of a series: all slices for the first step, nothing for a later one, and the
// price of a redraw where the plan of the step was debited before.
//
// # Contract
//
// A ticket for a step means that every slice of the series, future ones included, was debited its share,
// durably, and the life of a unit the price for all slices; that the step before has its bytes; and that no
// step is measured twice for one price. Proof: series.proof.md.
func (t *tx) debitSeries(a *Account, q *Request) (privacy.Cost, *seriesDebit, error) {
	out := &seriesDebit{}
	s := q.Series
	at := slices.IndexFunc(s.Steps, func(p PeriodStep) bool { return p.Plan == q.Plan })
	if at < 0 {
		return nil, nil, fmt.Errorf("ledger: the plan is no step of its series")
	}
	lost := t.books.plans[q.Plan]
	if at > 0 {
		before, err := t.releasesOf(s.Steps[at-1].Plan)
		if err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(before, (*Release).released) {
			return nil, nil, refuse(CodeSeries, "the step before %s was not measured", a.Slice)
		}
	}
	if at > 0 || len(lost) > 0 {
		first, err := t.seriesOf(s.Steps[0].Plan)
		if err != nil {
			return nil, nil, err
		}
		out.Of = first.Debit
	}
	run := -1
	switch {
	case len(lost) > 0:
		run = at
	case at == 0:
		out.Steps, out.Setup = s.Steps, string(s.Setup)
	default:
		return a.nothing(), out, nil
	}
	costs, life, err := s.costs(a, run, remembered)
	if err != nil {
		return nil, nil, err
	}
	all, err := inBuckets(costs)
	if err != nil {
		return nil, nil, err
	}
	names, flat := make([]string, len(all)), []sliceCost(nil)
	for i, b := range all {
		names[i], flat = b.name, append(flat, b.costs...)
	}
	if _, err := t.buckets(a.ID, names...); err != nil {
		return nil, nil, err
	}
	if err := cmp.Or(a.keepLife(a.Lifetime, life, ""), a.keepLife(q.OwnLife, life, "the job")); err != nil {
		return nil, nil, err
	}
	// The limits of a slice are asked slice by slice, while the record is entered.
	t.books.charged = func(a *Account, cost privacy.Cost) error {
		before := differenceOf(a.InSlice.Spent, cost)
		return cmp.Or(a.asked(q.Own, false, a.keep(&a.Limit, before, cost, "")), a.keep(q.Own, before, cost, "the job"))
	}
	out.Slices = grouped(flat)
	return life, out, nil
}

// enter charges the slices of a series. The account stands for the slice of the step before and after.
func (s *seriesDebit) enter(b *books, a *Account, life privacy.Cost) error {
	is, before := a.Slice.Is, a.Spent
	costs, err := (&chargeBody{Charges: s.Slices}).costs()
	if err == nil {
		err = a.fits(costs)
	}
	if err != nil {
		return err
	}
	for _, c := range costs {
		for i, x := range c.Cost {
			if x.Cmp(life[i]) > 0 {
				return fmt.Errorf("a series that costs one slice more than a life")
			}
		}
	}
	all, err := inBuckets(costs)
	if err != nil {
		return err
	}
	for _, c := range all {
		after, err := a.chargeBucket(b.slices[a.ID][c.name], c.costs, b.charged)
		if err != nil {
			return err
		}
		b.setBucket(a.ID, c.name, after)
	}
	a.Spent = sumOf(before, life)
	return b.inSlice(a, is)
}

// admit holds a debit to the series that it is a step of.
//
// # Contract
//
// Without an error the debit begins a series and charges each slice of it, or it is a step of a series that a debit
// of the same account began, in the slice for which that one paid; the step before it has its bytes, and a step
// that was debited before charges again. Proof: series.proof.md.
func (s *seriesDebit) admit(b *books, seq int64, r *debitBody) error {
	if s.Of == 0 {
		if s.Setup == "" || len(s.Steps) == 0 || s.Steps[0].Plan != r.Plan || spelled(s.Steps[0].Is) != spelled(r.Slice) {
			return fmt.Errorf("a step of a series that nobody began")
		}
		costs, err := (&chargeBody{Charges: s.Slices}).costs()
		if err != nil {
			return err
		}
		open, plans := map[string]bool{}, map[string]bool{}
		for _, c := range costs {
			open[spelled(c.Is)] = true
		}
		for _, p := range s.Steps {
			if !open[spelled(p.Is)] || plans[p.Plan] {
				return fmt.Errorf("a series that does not charge each of its slices")
			}
			delete(open, spelled(p.Is))
			plans[p.Plan] = true
		}
		if len(open) > 0 || len(b.plans[r.Plan]) > 0 {
			return fmt.Errorf("a series that begins twice, or charges a slice that it does not have")
		}
		b.series[seq] = &paidSeries{seq, r.Account, s.Steps, s.Setup}
		b.changed.series = append(b.changed.series, b.series[seq])
		return nil
	}
	first := b.series[s.Of]
	if first == nil || first.Account != r.Account || s.Setup != "" || len(s.Steps) > 0 || first.step(r.Plan, r.Slice) < 0 {
		return fmt.Errorf("a step of a series that was not paid for")
	}
	at := first.step(r.Plan, r.Slice)
	if at > 0 && !slices.ContainsFunc(b.plans[first.Steps[at-1].Plan], (*Release).released) {
		return fmt.Errorf("a step of a series before the one before it")
	}
	if s.paid() == (len(b.plans[r.Plan]) > 0 || at == 0) {
		return fmt.Errorf("a step of a series that is measured again and does not pay, or pays and is not")
	}
	return nil
}

// seriesOf reads the series that a plan is the first step of, and holds it to the chain. It is nil where nobody began it.
func (t *tx) seriesOf(plan string) (*paidSeries, error) {
	rs, err := t.releasesOf(plan)
	if err != nil || len(rs) == 0 {
		return nil, err
	}
	var text string
	var body debitBody
	if err := t.row("SELECT body FROM dprelease_records WHERE seq = ?", rs[0].ID).Scan(&text); err != nil {
		return nil, err
	}
	if decode(text, &body) != nil || body.Series == nil {
		return nil, t.tampered("what the first step says of its series is gone")
	}
	s := &paidSeries{rs[0].ID, body.Account, body.Series.Steps, body.Series.Setup}
	if err := t.holds(seriesKey(s.Debit), s, "what the first step says of its series"); err != nil {
		return nil, err
	}
	t.books.series[s.Debit] = s
	return s, nil
}

// SeriesStep is a step of a series as the ledger knows it.
type SeriesStep struct {
	Release  *Release // the one with bytes, nil where there is none
	Debited  bool     // it was paid for, whether or not there are bytes
	Busy     bool     // a run is at work on it
	Standing Standing
}

// SeriesSteps reads the steps of a series, by their plans, and what the debit of the first one said of the
// series; setup is nil where none was debited.
func (l *Ledger) SeriesSteps(ctx context.Context, plans []string) (steps []SeriesStep, setup []byte, err error) {
	err = l.read(ctx, func(t *tx) error {
		steps = make([]SeriesStep, len(plans))
		if t.at, err = t.now(); err != nil {
			return err
		}
		for i, p := range plans {
			rs, err := t.releasesOf(p)
			if err != nil {
				return err
			}
			s := &steps[i]
			s.Debited, s.Standing = len(rs) > 0, standing(rs, SeriesContent, t.at)
			s.Release, s.Busy = s.Standing.Found, s.Standing.Busy
		}
		first, err := t.seriesOf(plans[0])
		if first != nil {
			setup = []byte(first.Setup)
		}
		return err
	})
	return steps, setup, err
}

// SeriesContent is the content under which the step of a series is sealed: there is one measurement of a step,
// whatever its slice holds later. The digest of the slice lies within the sealed bytes, and in no record.
const SeriesContent = "series"

// SeriesOf lists the series that were paid for from an account: what the first debits say of them, in order.
func (l *Ledger) SeriesOf(ctx context.Context, a *Account) (setups [][]byte, err error) {
	err = l.read(ctx, func(t *tx) error {
		return eachBody(t, "WHERE kind = '"+kindDebit+"'", func(_ Record, b debitBody) {
			if b.Account == a.ID && b.Series != nil && b.Series.Setup != "" {
				setups = append(setups, []byte(b.Series.Setup))
			}
		})
	})
	return setups, err
}
