package job

import (
	"fmt"
	"math/big"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Guarantee is the amount that the job asks for or allows: one exact (ε, δ) point, or one exact ρ (P28). In a
// release Epsilon is then the ε that ρ implies at Delta, rounded up; in a limit Epsilon and Delta
// have no meaning.
type Guarantee = rational.Amount

// ShownDelta is the δ at which a ρ is translated where the job says none, and where it
// decides nothing: the budget is a ρ as well.
var ShownDelta = big.NewRat(1, 1_000_000)

// Translate finds the ε that ρ stands for at δ.
func Translate(g *Guarantee, rel privacy.Relation) error {
	if !rel.Valid() {
		return nil // told already
	}
	a, err := privacy.EpsilonAt(privacy.ZCDP{Rho: rational.Up(g.Rho)}, rel, rational.Down(g.Delta))
	if eps := new(big.Rat).SetFloat64(a.Epsilon); err == nil && eps != nil && eps.Sign() > 0 {
		g.Epsilon = eps
		return nil
	}
	return fmt.Errorf("stands for no ε at this δ")
}

// InRho is a guarantee in ρ, with the ε that it stands for at δ.
func InRho(rho, delta *big.Rat, rel privacy.Relation) (Guarantee, error) {
	g := Guarantee{Rho: rho, Delta: delta}
	if delta == nil || delta.Sign() == 0 {
		g.Delta = ShownDelta
	}
	return g, Translate(&g, rel)
}

// Rest is the part of budget.spend that its sharing releases divide: budget.spend less every
// other guarantee of the job. It returns false where nothing is left.
func (j *Job) Rest() (Guarantee, bool) {
	s := j.Budget.Spend
	rest := Guarantee{Epsilon: new(big.Rat), Delta: new(big.Rat).Set(orZero(s.Delta))}
	amount := rest.Epsilon.Set(orZero(s.Epsilon))
	if s.Rho != nil {
		rest.Rho = new(big.Rat).Set(s.Rho)
		amount = rest.Rho
	}
	take := func(g Guarantee) {
		if s.Rho != nil && g.Rho != nil {
			amount.Sub(amount, g.Rho)
		} else if s.Rho == nil {
			amount.Sub(amount, orZero(g.Epsilon))
		}
		rest.Delta.Sub(rest.Delta, orZero(g.Delta))
	}
	for _, r := range j.Releases {
		if !r.Shares {
			take(r.Guarantee)
		}
		if r.Keys != nil && r.Keys.From == "" && !r.Tallied() {
			take(r.Keys.Guarantee)
		}
	}
	if s.Rho != nil && rest.Delta.Sign() < 0 {
		rest.Delta.SetInt64(0) // a δ beside a ρ only says where the ρ is translated
	}
	return rest, amount.Sign() > 0 && rest.Delta.Sign() >= 0
}

// Divide returns the job with the shares of a whole that belong to parts: one part, of any
// size above 0, for each release that shares, in their order. δ is divided evenly. A share
// is rounded down to four digits, so that it can be read, and shares never add up
// to more than the whole.
func (j *Job) Divide(whole Guarantee, parts []*big.Rat) (*Job, error) {
	out := *j
	out.Releases = append([]Release(nil), j.Releases...)
	sum := new(big.Rat)
	for _, p := range parts {
		sum.Add(sum, p)
	}
	part := func(of, p, in *big.Rat) *big.Rat {
		return shortened(new(big.Rat).Mul(of, new(big.Rat).Quo(p, in)))
	}
	at := 0
	for i := range out.Releases {
		r := &out.Releases[i]
		if !r.Shares {
			continue
		}
		g := Guarantee{Delta: part(whole.Delta, big.NewRat(1, 1), big.NewRat(int64(len(parts)), 1))}
		if whole.Rho == nil {
			g.Epsilon = part(whole.Epsilon, parts[at], sum)
		} else {
			var err error
			if g, err = InRho(part(whole.Rho, parts[at], sum), g.Delta, j.Dataset.Relation); err != nil {
				return nil, err
			}
		}
		r.Guarantee = g
		at++
	}
	return &out, nil
}

// shortened rounds a positive number down to four digits.
func shortened(r *big.Rat) *big.Rat {
	if r.Sign() <= 0 {
		return new(big.Rat)
	}
	ten, unit, most := big.NewRat(10, 1), big.NewRat(1, 1), big.NewRat(10_000, 1)
	for scaled := new(big.Rat).Set(r); scaled.Cmp(most) >= 0; scaled.Quo(scaled, ten) {
		unit.Mul(unit, ten)
	}
	for scaled := new(big.Rat).Mul(r, ten); scaled.Cmp(most) < 0; scaled.Mul(scaled, ten) {
		unit.Quo(unit, ten)
	}
	steps := new(big.Rat).Quo(r, unit)
	return unit.Mul(unit, new(big.Rat).SetInt(new(big.Int).Quo(steps.Num(), steps.Denom())))
}

func orZero(r *big.Rat) *big.Rat {
	if r == nil {
		return new(big.Rat)
	}
	return r
}
