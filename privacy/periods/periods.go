package periods

import (
	"fmt"
	"math/big"

	"github.com/dprelease/dprelease/internal/calculus/series"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Series is one release of a series (P31): run t adds up the figures of its periods with the factors of row t of a matrix of
// whole numbers, and adds fresh noise by its calls.
type Series struct {
	Matrix [][]int64       // row t has the factors of periods 0 to t
	Calls  []privacy.Event // what a run draws: all discrete Gaussian noise, priced in ρ, or all discrete Laplace noise, in ε
	AtMost int             // periods in which one unit counts, over all runs
	Apart  int             // the least distance of two of them
	// Revised says that a slice may have other rows in a later run. Capped says that no unit counts in more periods than AtMost.
	Revised, Capped bool
}

// Prices hold the costs of all releases of a series together, in ε where Pure, else in ρ.
type Prices struct {
	Slices []*big.Rat // a unit in one period alone, by period
	Most   *big.Rat   // a unit in as many periods as each release says: what a job promises
	Life   *big.Rat   // a unit in all periods, of which only those count that a cap leaves
	Pure   bool
}

// Price prices all runs of a series, for every period and for a life.
//
// # Contract
//
// All releases have the same periods. Each price is computed from the whole numbers of the matrices and the parameters
// of the noise. Proof: periods.proof.md. // P31
func Price(all []Series, rel privacy.Relation) (*Prices, error) {
	return price(all, rel, func(s *terms) (one []int64, most, life int64) {
		charge, column := s.matrix.Charge, s.matrix.Column
		if s.pure {
			charge, column = s.matrix.Pure, s.matrix.PureColumn
		}
		for p := range s.matrix.Periods() {
			one = append(one, column(p))
		}
		most = charge(series.Units{AtMost: s.AtMost, Apart: s.Apart, Revised: s.Revised})
		if s.Capped {
			return one, most, most
		}
		return one, most, charge(series.Units{AtMost: s.matrix.Periods(), Apart: 1, Revised: s.Revised})
	})
}

// PriceRun prices one run once more, whose bytes were lost.
//
// # Contract
//
// As for [Price]. Proof: periods.proof.md. // P31
func PriceRun(all []Series, rel privacy.Relation, run int) (*Prices, error) {
	return price(all, rel, func(s *terms) (one []int64, most, life int64) {
		for _, c := range s.matrix.Run(run) {
			c = max(c, -c)
			if life += c; !s.pure {
				c *= c
			}
			one = append(one, c)
		}
		if !s.pure {
			life *= life
		}
		return one, life, life
	})
}

// Event returns the event of a price. What a loss distribution would say of the noise holds for one period and unchanged
// slices alone, so it is an amount.
func (p *Prices) Event(price *big.Rat) privacy.Event {
	if p.Pure {
		return privacy.Pure{Eps: rational.Up(price)}
	}
	return privacy.ZCDP{Rho: rational.Up(price)}
}

// terms are the whole numbers of a release.
type terms struct {
	Series
	matrix series.Matrix
	pure   bool
	unit   *big.Rat // the price of a factor of 1
}

// price adds up what charges says of each release, times the price of its noise.
func price(all []Series, rel privacy.Relation, charges func(*terms) (one []int64, most, life int64)) (*Prices, error) {
	out := &Prices{Most: new(big.Rat), Life: new(big.Rat)}
	for i, s := range all {
		t, err := s.read(rel)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			out.Pure = t.pure
		}
		one, most, life := charges(t)
		for len(out.Slices) < len(one) && i == 0 {
			out.Slices = append(out.Slices, new(big.Rat))
		}
		if t.pure != out.Pure || len(one) != len(out.Slices) {
			return nil, wrong("series", "has releases with other periods, or with other noise")
		}
		for p, c := range one {
			out.Slices[p].Add(out.Slices[p], new(big.Rat).Mul(t.unit, new(big.Rat).SetInt64(c)))
		}
		out.Most.Add(out.Most, new(big.Rat).Mul(t.unit, new(big.Rat).SetInt64(most)))
		out.Life.Add(out.Life, new(big.Rat).Mul(t.unit, new(big.Rat).SetInt64(life)))
	}
	if len(all) == 0 {
		return nil, wrong("series", "has no release")
	}
	return out, nil
}

func (s *Series) read(rel privacy.Relation) (*terms, error) {
	m, err := series.NewMatrix(s.Matrix)
	if err != nil {
		return nil, wrong("series.matrix", "%v", err)
	}
	if s.AtMost < 1 || s.Apart < 0 || len(s.Calls) == 0 {
		return nil, wrong("series", "says neither in how many periods a unit counts nor what a run draws")
	}
	t := &terms{Series: *s, matrix: m, unit: new(big.Rat)}
	for i, c := range s.Calls {
		one, pure, err := unitPrice(c, rel)
		if err != nil || i > 0 && pure != t.pure {
			return nil, wrong(fmt.Sprintf("series.calls[%d]", i), "has no finite size, or is noise of another kind than the calls before it")
		}
		t.pure = pure
		t.unit.Add(t.unit, one)
	}
	return t, nil
}

// unitPrice prices a noise call for a unit in one period whose only factor is 1: Δ²/2σ² in ρ, or Δ/b in ε.
func unitPrice(call privacy.Event, rel privacy.Relation) (price *big.Rat, pure bool, err error) {
	if err := privacy.Validate(call); err != nil {
		return nil, false, err
	}
	var size, shift float64
	switch e := call.(type) {
	case privacy.DiscreteGaussian:
		size, shift = e.Sigma, e.Sensitivity.Under(rel)
	case privacy.DiscreteLaplace:
		size, shift, pure = e.Scale, e.Sensitivity.Under(rel), true
	default:
		return nil, false, wrong(privacy.Name(call), "is no noise of a series")
	}
	b, delta := new(big.Rat).SetFloat64(size), new(big.Rat).SetFloat64(shift)
	if b == nil || b.Sign() <= 0 || delta == nil || delta.Sign() <= 0 {
		return nil, false, wrong(privacy.Name(call), "has no finite size")
	}
	one := delta.Quo(delta, b)
	if !pure {
		one.Mul(one, one).Mul(one, big.NewRat(1, 2))
	}
	return one, pure, nil
}

func wrong(path, format string, args ...any) error {
	return &privacy.Error{Path: path, Message: fmt.Sprintf(format, args...)}
}
