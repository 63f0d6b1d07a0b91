package privacy

import (
	"math"
	"math/big"

	"github.com/dprelease/dprelease/internal/calculus/pld"
	"github.com/dprelease/dprelease/privacy/amplify"
)

// BoundedRange is any mechanism that is Eps-bounded-range: between neighbours, the
// logarithms of the ratios of two outcomes' probabilities differ by at most Eps. An
// exponential mechanism with weights e^{t·score} is t·r-bounded-range where the change
// of the score, as a function of the outcome, has a range of at most r (P28).
//
// # Contract
//
// The bound holds for every ordered pair of neighbours under the relation at hand. Where
// Parts is above 1 the mechanism is that many independent selections, and the sum of
// their ranges is at most Eps. Come, where given, is such a bound where a unit comes or goes.
// Proof: bounded_range.proof.md.
type BoundedRange struct {
	Eps float64
	// Parts is the number of selections that the mechanism consists of; 0 stands for one.
	Parts int64
	// Come is the range under add-remove, where that is less than Eps; 0 stands for Eps.
	Come float64
}

// across bounds the range of two such mechanisms on disjoint rows, of which one loses a unit and
// the other gains one, or of one in which a unit is replaced.
func (e BoundedRange) across() (joint BoundedRange, changed, ok bool) {
	twice := 2 * e.Come // exact
	changed = twice > e.Eps
	return BoundedRange{Eps: math.Max(e.Eps, twice)}, changed, e.Come > 0
}

func (BoundedRange) kind() string { return "bounded_range" }

// Epsilon is Eps.
func (e BoundedRange) Epsilon() float64 { return e.Eps }

var boundedRangeKind = declare[BoundedRange](Kind{
	About: "any eps-bounded-range mechanism, such as a selection by the exponential mechanism; or parts independent selections whose " +
		"ranges add up to at most eps",
	Also:    []string{"exponential", "exponential_mechanism", "selection"},
	Fields:  []Field{eps(), number("parts", "parts=", atLeastOne).optional(), number("come", "come=", positive).optional()},
	ordered: true,
})

// basic is the largest profile of a pair of losses (t, t − ε), which is attained for
// each ε′ by another t.
func (e BoundedRange) basic(_ Relation, _ string, k float64) (profile, *Unsupported) {
	eps := amplify.GroupEpsilon(k, e.Eps)
	return closed(func(x float64) float64 { return rangeDelta(eps, x) }, eps), nil
}

// rangeDelta is (1 − e^{(x−ε)/2})²/(1 − e^{−ε}), rounded up, for x in [−ε, ε].
func rangeDelta(eps, x float64) float64 {
	if x >= eps {
		return 0
	}
	if x <= -eps {
		return -math.Expm1(x)
	}
	half := math.Expm1((x - eps) / 2)
	return math.Min(1, above(half*half/-math.Expm1(-eps), 1e-14))
}

// renyi is the supremum over all pairs of losses (t, t − ε), order by order. No one
// pair attains it at all orders, so that it has no mirror image.
func (e BoundedRange) renyi(Relation, string) (renyiBound, *Unsupported) {
	return renyiBound{curve: func(alpha float64) float64 { return rangeDivergence(alpha, e.Eps) }}, nil
}

// rangeDivergence is (α·h(αε) − (α−1)·h((α−1)ε) − h(ε))/(α − 1), where
// h(x) = log(sinh(x/2)/(x/2)), and never more than α·ε²/8 or ε.
func rangeDivergence(alpha, eps float64) float64 {
	if !(alpha > 1) {
		return math.Inf(1)
	}
	limit := math.Min(eps, above(alpha*eps*eps/8, 1e-15))
	a := alpha - 1
	x, y, z := alpha*logSinhc(alpha*eps), a*logSinhc(a*eps), logSinhc(eps)
	d := (x - y - z) / a
	if d += 1e-14 * (x + y + z) / a; d >= 0 { // what the differences may have lost; NaN fails
		return math.Min(limit, d)
	}
	return limit
}

// logSinhc is log(sinh(x/2)/(x/2)) for x >= 0.
func logSinhc(x float64) float64 {
	if x < 1 {
		// sinh(y)/y − 1 = y²/6·(1 + y²/20·(1 + y²/42·(1 + …)))
		s := x * x / 4
		return math.Log1p(s / 6 * (1 + s/20*(1+s/42*(1+s/72*(1+s/110*(1+s/156))))))
	}
	return x/2 + math.Log1p(-math.Exp(-x)) - math.Log(x)
}

// rho is ε²/8, exactly, or what any ε-differentially private mechanism costs where that
// is less (rho.proof.md).
func (e BoundedRange) rho(Relation, string) (*big.Rat, *Unsupported) {
	r := new(big.Rat).SetFloat64(e.Eps)
	r.Mul(r, r).Mul(r, big.NewRat(1, 8))
	if pure := new(big.Rat).SetFloat64(rhoPure(e.Eps)); pure.Cmp(r) < 0 {
		r = pure
	}
	return r, nil
}

// pair is the pair with the density e^{(l−ε)/2}/(2(1−e^{−ε})) of losses, which has the
// profile of method basic. It dominates; in a composition no neighbours attain it.
func (e BoundedRange) pair(Relation, string) (lossPair, *Unsupported) {
	if e.Eps < 1e-300 {
		return lossPair{mech: pld.Approx(e.Eps, 0)}, nil
	}
	// Losses (ε/2, −ε/2), which binary randomized response has, are one pair of them.
	return lossPair{mech: pld.BoundedRange(e.Eps), attained: true, alone: true, witness: pld.Approx(below(e.Eps/2), 0)}, nil
}
