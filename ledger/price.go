package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Step holds all that a job releases from one kept draw.
type Step struct {
	Sample string     // the id
	New    *NewSample // set where this job makes the draw
	// Spent is the plan's figure for the earlier spend on the sample; where another
	// job was faster, there is no debit, and the job is planned again.
	Spent Limit
	// Bill lists what the job releases from the sample. Epsilon and Delta are what the job says that all of it
	// spends there, under every relation that the design demands.
	Bill           privacy.Bill
	Epsilon, Delta float64
	Pins           []Pin // what decides which unit is in the sample, and at which place
}

// NewSample describes a draw that is to be kept.
type NewSample struct {
	Name   string
	Event  privacy.Sampling
	Design string // JSON, public
	// Collected says that the draw made the table: it has no rows to be stored, and
	// other jobs may use it at once.
	Collected bool
}

// Use is one step as it was charged.
type Use struct {
	Sample        string
	Name          string
	Before, After Limit // spent on the sample
	// What the draw costs the population in all. The difference is charged.
	ChargedBefore, ChargedAfter Limit
	Cost                        privacy.Cost // in the account's units
}

// Difference returns what the step adds on the population.
func (u *Use) Difference() Limit { return u.ChargedAfter.Minus(u.ChargedBefore) }

// Use returns what a step costs this account.
//
// # Contract
//
// s is the state of the sample in the transaction of the debit. A basic account is
// charged the difference that the step makes to what the draw costs in all (P4);
// a zcdp or rdp account the whole ρ of a pure step, because the difference is not
// proven there. Never negative, rounded up (P17). Proof:
// ../privacy/reuse.proof.md, ledger.proof.md.
func (a *Account) Use(s *Sample, step Step) (*Use, error) {
	r, err := s.reuse(a.Relation)
	if err != nil {
		return nil, err
	}
	adds := exactly(privacy.Point{Epsilon: step.Epsilon, Delta: step.Delta})
	if !adds.Finite() {
		return nil, refuse(CodeFilter, "what is released from sample %s has no finite guarantee", s.ID)
	}
	u := &Use{Sample: s.ID, Name: s.Name, Before: s.Spent, After: s.Spent.Plus(adds), ChargedBefore: s.Charged}
	total, err1 := r.Epsilon(rational.Up(u.After.Epsilon))
	more, err2 := r.Delta(rational.Up(u.Before.Epsilon), step.Delta)
	if err := errors.Join(err1, err2); err != nil {
		return nil, refuse(CodeFilter, "sample %s cannot be charged: %v", s.ID, err)
	}
	all := new(big.Rat).SetFloat64(total)
	if all == nil {
		return nil, refuse(CodeFilter, "what is released from sample %s has no finite guarantee", s.ID)
	}
	if all.Cmp(s.Charged.Epsilon) < 0 {
		all = s.Charged.Epsilon // nothing is given back
	}
	u.ChargedAfter = Limit{Epsilon: all, Delta: new(big.Rat).Add(s.Charged.Delta, new(big.Rat).SetFloat64(more))}
	u.Cost, err = a.useCost(u, total)
	return u, err
}

// useCost puts a use into the account's units.
func (a *Account) useCost(u *Use, total float64) (privacy.Cost, error) {
	if a.Filter == Basic {
		d := u.Difference()
		return privacy.Cost{d.Epsilon, d.Delta}, nil
	}
	if u.After.Delta.Sign() != 0 {
		return nil, refuse(CodeFilter, "the account of %s adds up with the filter %s, which charges a kept sample for pure releases only; a release with a delta was made from sample %s", a.Key, a.Filter, u.Sample)
	}
	rho := math.Nextafter(total*total/2*(1+1e-15), math.Inf(1))
	return a.Cost(privacy.ZCDP{Rho: rho}, privacy.Point{})
}

// Step returns what a step costs this account. samples are the states of those that are there, by id.
func (a *Account) Step(step Step, samples map[string]*Sample) (*Use, error) {
	s, err := step.of(samples)
	if err != nil {
		return nil, err
	}
	return a.Use(s, step)
}

// of returns the state of the sample that a step is about.
func (step *Step) of(samples map[string]*Sample) (s *Sample, err error) {
	if step.New != nil {
		s = &Sample{ID: step.Sample, Name: step.New.Name, Design: step.New.Design, Spent: zero(), Charged: zero()}
		s.Event, err = eventText(step.New.Event)
		return s, err
	}
	if s = samples[step.Sample]; s == nil {
		return nil, refuse(CodeSample, "sample %s is not there", step.Sample)
	}
	return s, nil
}

// together returns the charged guarantee of a whole job. It is printed, never added up.
func together(charged privacy.Point, uses []*Use) privacy.Point {
	total := exactly(charged)
	total.Epsilon, total.Delta = cmp.Or(total.Epsilon, new(big.Rat)), cmp.Or(total.Delta, new(big.Rat))
	for _, u := range uses {
		total = total.Plus(u.Difference())
	}
	return privacy.Point{Epsilon: rational.Up(total.Epsilon), Delta: rational.Up(total.Delta)}
}

// usable explains why a sample cannot be used by a job of an account, nil where it can.
func (s *Sample) usable(account int64, slice string) error {
	switch {
	case s.Account != account || s.Slice != slice:
		return refuse(CodeSample, "sample %s belongs to another data set, slice, unit of privacy or relation", s.ID)
	case s.closed():
		return refuse(CodeSample, "%s was closed: who is in which wave is no longer known", s.panelName())
	case !s.Ready:
		return refuse(CodeSample, "sample %s was never stored: the job that drew it did not finish", s.ID)
	}
	return nil
}

func (s *Sample) String() string { return fmt.Sprintf("sample %s", s.ID) }
