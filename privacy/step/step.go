package step

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Event is all that one job does at a node.
type Event struct {
	Bill     privacy.Bill     // on the data or the sample; of a panel the bill of all waves; of a series its δ alone
	At       int64            // the wave of a panel, or the step of a series, from 1; 0 for others
	Measured []periods.Series // all releases of a series
}

// State is all that earlier jobs left at a node. Its amounts are exact.
type State struct {
	Spent   rational.Amount // on the sample of a draw: composed first (P4)
	Charged rational.Amount // for all of it together, in ε and δ: amplified once
	Done    []int64         // the waves or steps that were debited, in order
}

// Fresh is the state of a node that no job has used.
func Fresh() State { return State{Spent: rational.Zero(), Charged: rational.Zero()} }

// done adds a wave or step to those that were debited.
func (s State) done(at int64) State {
	if !slices.Contains(s.Done, at) {
		s.Done = append(slices.Clone(s.Done), at)
		slices.Sort(s.Done)
	}
	return s
}

// adds is the state with one more guarantee that was charged.
func (s State) adds(p privacy.Point) State {
	s.Charged = s.Charged.Plus(rational.Exactly(p.Epsilon, p.Delta))
	return s
}

// Price is the price of one step.
type Price struct {
	Before, After State
	Cost          privacy.Cost   // in the units of the account; of a series for a unit that is in all slices
	Slices        []privacy.Cost // of a series, slice by slice: nil for a slice that is charged nothing
	One           privacy.Point  // of a series: the guarantee of its dearest slice
}

// Adds returns the guarantee that the step adds to the account, in ε and δ.
func (p *Price) Adds() rational.Amount { return p.After.Charged.Minus(p.Before.Charged) }

// Account holds all that a step must know of the account that pays for it.
type Account struct {
	Relation privacy.Relation
	Basic    bool // adds up ε and δ; else ρ, or divergences
	// Price prices a bill. Cost puts an event with this guarantee into the units of the account.
	Price func(privacy.Bill, privacy.Relation) (privacy.Answer, error)
	Cost  func(privacy.Event, privacy.Point) (privacy.Cost, error)
}

// Kind is a kind of node.
type Kind interface {
	// Step prices what a job does at the node, by a proved step: it is never negative, and never the price of the node
	// after it less the price before it. Before is what was debited.
	Step(s State, e Event, a Account) (*Price, error)
}

// NoStep is the error of a step that no proof licenses.
type NoStep struct{ Why string }

func (e *NoStep) Error() string {
	return fmt.Sprintf("this has no step price beside what earlier jobs did: %s; "+
		"begin something new at its full price, or use another dataset.id", e.Why)
}

// worst prices a bill under the worst of some relations.
func (a Account) worst(b privacy.Bill, under ...privacy.Relation) (p privacy.Point, err error) {
	if b.Nothing() {
		return p, fmt.Errorf("the bill lists nothing")
	}
	p.Delta = b.Delta
	for _, rel := range under {
		one, err := a.Price(b, rel)
		if err != nil {
			return p, err
		}
		p.Epsilon = math.Max(p.Epsilon, one.Epsilon)
	}
	return p, nil
}

// whole prices a bill that is added to what the account has spent, as it is.
func (a Account) whole(s State, b privacy.Bill) (*Price, error) {
	p, err := a.worst(b, a.Relation)
	if err != nil {
		return nil, err
	}
	out := &Price{Before: s, After: s.adds(p)}
	out.Cost, err = a.Cost(b.Tree(), p)
	return out, err
}

// Data is the node of the data themselves: what is done to them costs the same whatever was done before.
type Data struct{}

// Step prices a bill on the data.
//
// # Contract
//
// The cost is that of the bill (privacy.Bill.Price). Proof: step.proof.md. // P38
func (Data) Step(s State, e Event, a Account) (*Price, error) {
	if !e.Bill.Nothing() && rotates(e.Bill.Tree()) {
		return nil, fmt.Errorf("the bill amplifies by the waves of a panel, and the job is about none")
	}
	return a.whole(s, e.Bill)
}

// rotates reports whether an event amplifies by the waves of a panel.
func rotates(e privacy.Event) bool {
	_, ok := e.(privacy.Rotation)
	return ok || slices.ContainsFunc(privacy.Children(e), rotates)
}

// Draw is the node of a draw that several jobs release from: a sample that is kept, or the draw that made the table.
type Draw struct{ Sampling privacy.Sampling }

// Step prices a bill on the sample.
//
// # Contract
//
// The bill is priced under every relation that the design demands on the sample. A basic account is charged the difference that
// the step makes to what the draw costs in all (P4), from what was charged before; an account in ρ or divergences is
// charged the whole ρ of a pure step. Proof: ../reuse.proof.md, step.proof.md. // P38
func (d Draw) Step(s State, e Event, a Account) (*Price, error) {
	under, err := privacy.SampleRelations(d.Sampling, a.Relation)
	if err != nil {
		return nil, &NoStep{err.Error()}
	}
	own, err := a.worst(e.Bill, under...)
	if err != nil {
		return nil, err
	}
	return d.Spend(s, own, a)
}

// Spend prices a step that spends own on the sample.
//
// # Contract
//
// As for Step, own being what the step spends under every relation that the design demands. Proof: ../reuse.proof.md.
func (d Draw) Spend(s State, own privacy.Point, a Account) (*Price, error) {
	rule, err := privacy.NewReuse(d.Sampling, a.Relation)
	if err != nil {
		return nil, &NoStep{err.Error()}
	}
	adds := rational.Exactly(own.Epsilon, own.Delta)
	if !adds.Finite() {
		return nil, &NoStep{"it has no finite guarantee"}
	}
	out := &Price{Before: s, After: s}
	out.After.Spent = s.Spent.Plus(adds)
	all, err := rule.Epsilon(rational.Up(out.After.Spent.Epsilon))
	if err != nil {
		return nil, &NoStep{err.Error()}
	}
	more, err := rule.Delta(rational.Up(s.Spent.Epsilon), own.Delta)
	if err != nil {
		return nil, &NoStep{err.Error()}
	}
	total := new(big.Rat).SetFloat64(all)
	if total == nil {
		return nil, &NoStep{"it has no finite guarantee"}
	}
	if total.Cmp(s.Charged.Epsilon) < 0 {
		total = s.Charged.Epsilon // nothing is given back
	}
	out.After.Charged = rational.Amount{Epsilon: total, Delta: new(big.Rat).Add(s.Charged.Delta, new(big.Rat).SetFloat64(more))}
	switch {
	case a.Basic:
		d := out.Adds()
		out.Cost = privacy.Cost{d.Epsilon, d.Delta}
	case out.After.Spent.Delta.Sign() != 0:
		return nil, &NoStep{"an account that does not add up ε and δ charges a sample for pure releases only, " +
			"and a release with a δ was made from it"}
	default:
		rho := math.Nextafter(all*all/2*(1+1e-15), math.Inf(1))
		out.Cost, err = a.Cost(privacy.ZCDP{Rho: rho}, privacy.Point{})
	}
	return out, err
}

// Panel is the node of a rotation, whose units were allotted to waves once.
type Panel struct{}

// Step prices a wave.
//
// # Contract
//
// The rotation is the same in all steps. It is charged in full with its first wave; another wave adds nothing; a wave once
// more costs what a unit pays that is known to be in it. Proof: panel.proof.md. // P34, P38
func (Panel) Step(s State, e Event, a Account) (*Price, error) {
	of, ok := e.Bill.Tree().(privacy.Rotation)
	switch {
	case !ok || e.At < 1:
		return nil, fmt.Errorf("the job is about a wave of a panel, and its bill lists more than the panel, or no panel")
	case slices.Contains(s.Done, e.At):
		return a.whole(s, privacy.Bill{Event: of.Event, Delta: e.Bill.Delta})
	case len(s.Done) > 0:
		return a.nothing(s, e.At), nil
	}
	out, err := a.whole(s, e.Bill)
	if err == nil {
		out.After = out.After.done(e.At)
	}
	return out, err
}

// nothing is the price of a part that was paid for.
func (a Account) nothing(s State, at int64) *Price { return &Price{Before: s, After: s.done(at)} }

// Series is the node of a series, whose first step pays for all of its slices.
type Series struct{}

// Step prices a run of a series.
//
// # Contract
//
// What is measured is the same in all steps. The first step is charged every slice of the series, and a life what all slices
// together cost a unit; another step adds nothing; a step that is measured once more costs its row of the matrix. Proof:
// ../periods/periods.proof.md, step.proof.md. // P31, P38
func (Series) Step(s State, e Event, a Account) (*Price, error) {
	var of *periods.Prices
	var err error
	switch {
	case slices.Contains(s.Done, e.At):
		of, err = periods.PriceRun(e.Measured, a.Relation, int(e.At-1))
	case len(s.Done) > 0:
		return a.nothing(s, e.At), nil
	default:
		of, err = periods.Price(e.Measured, a.Relation)
	}
	if err != nil {
		return nil, err
	}
	if e.At < 1 || e.At > int64(len(of.Slices)) {
		return nil, fmt.Errorf("the step is none of the series")
	}
	price := func(amount *big.Rat) (*Price, error) {
		return a.whole(s, privacy.Bill{Event: of.Event(amount), Delta: e.Bill.Delta})
	}
	out, err := price(of.Life)
	if err != nil {
		return nil, err
	}
	out.After = out.After.done(e.At)
	out.Slices = make([]privacy.Cost, len(of.Slices))
	for i, amount := range of.Slices {
		if amount.Sign() == 0 {
			continue
		}
		one, err := price(amount)
		if err != nil {
			return nil, err
		}
		out.Slices[i], out.One.Delta = one.Cost, e.Bill.Delta
		out.One.Epsilon = math.Max(out.One.Epsilon, rational.Up(one.Adds().Epsilon))
	}
	return out, nil
}
