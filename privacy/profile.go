package privacy

import (
	"math"
	"math/big"

	"github.com/dprelease/dprelease/privacy/amplify"
)

// profile is an upper bound on a privacy profile δ(ε), ε >= 0, in both
// directions, for one relation.
type profile struct {
	at   func(eps float64) float64 // non-increasing
	pure float64                   // an epsilon at which delta is 0; +Inf if none is known
	// knee is an epsilon from which on the profile is flat, such as pure or the epsilon of
	// an (ε, δ) point; +Inf where none is known.
	knee float64
	// floor is delta from the knee on.
	floor float64
	cost  float64 // evaluations of closed forms in one evaluation
	exact bool    // attained by the event on some pair of neighbours
}

// delta evaluates the profile.
func (p profile) delta(eps float64) float64 {
	if eps >= p.pure {
		return 0
	}
	if eps >= p.knee {
		return p.floor
	}
	d := p.at(eps)
	if !(d >= 0 && d <= 1) {
		return 1
	}
	return d
}

// epsilon is a bracket of the smallest epsilon with δ(ε) <= delta: the upper end
// satisfies it, and the profile exceeds delta at the lower end.
func (p profile) epsilon(delta float64) bracket {
	if delta <= 0 {
		return bracket{lower: 0, upper: p.pure}
	}
	if p.delta(0) <= delta {
		return bracket{lower: 0, upper: 0}
	}
	lo, hi := 0.0, p.pure
	if p.floor <= delta {
		hi = math.Min(hi, p.knee)
	}
	if math.IsInf(hi, 1) {
		hi = 1
		for p.delta(hi) > delta {
			lo = hi
			if hi *= 4; hi > 1e300 {
				return bracket{lower: lo, upper: math.Inf(1)}
			}
		}
	}
	// The knee itself may be the answer: profiles jump there by rounding.
	if hi == p.knee && p.delta(hi*(1-1e-12)) > delta {
		return bracket{lower: hi * (1 - 1e-12), upper: hi}
	}
	for lo == 0 && hi > 1e-300 { // find the magnitude first
		if mid := hi / 1024; p.delta(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	for range 60 {
		mid := lo + (hi-lo)/2
		if hi-lo <= 1e-13*hi || mid <= lo || mid >= hi {
			break
		}
		if p.delta(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	return bracket{lower: lo, upper: hi}
}

// closed is a profile in closed form.
func closed(at func(float64) float64, pure float64) profile {
	return profile{at: at, pure: pure, knee: pure, cost: 1, exact: true}
}

// gaussianProfile is the profile of a shift by mu standard deviations.
func gaussianProfile(mu float64) profile {
	pure := math.Inf(1)
	if mu == 0 {
		pure = 0
	}
	return closed(func(eps float64) float64 { return gaussianDelta(mu, eps) }, pure)
}

// capped is the pointwise smaller of two profiles.
func (p profile) capped(limit profile) profile {
	out := p
	out.at = func(eps float64) float64 { return math.Min(p.delta(eps), limit.delta(eps)) }
	out.pure, out.cost = math.Min(p.pure, limit.pure), p.cost+limit.cost
	if limit.knee < p.knee && limit.floor <= p.floor {
		out.knee, out.floor = limit.knee, limit.floor
	}
	return out
}

// larger is the pointwise larger of two profiles.
func larger(a, b profile) profile {
	return profile{
		at:    func(eps float64) float64 { return math.Max(a.delta(eps), b.delta(eps)) },
		pure:  math.Max(a.pure, b.pure),
		knee:  math.Max(a.knee, b.knee),
		floor: math.Max(a.floor, b.floor),
		cost:  a.cost + b.cost,
	}
}

// group is the profile when k units change at once, from the one for one unit.
func (p profile) group(k float64) profile {
	if k == 1 {
		return p
	}
	pure, knee := amplify.GroupEpsilon(k, p.pure), amplify.GroupEpsilon(k, p.knee)
	out := profile{pure: pure, knee: knee, cost: 2*p.cost + 1}
	if !math.IsInf(knee, 1) {
		out.floor = amplify.GroupDelta(k, knee, func(float64) float64 { return p.floor })
	}
	out.at = func(eps float64) float64 {
		d := math.Min(amplify.GroupDelta(k, eps, p.delta), amplify.PureDelta(pure, eps))
		if !math.IsInf(knee, 1) {
			d = math.Min(d, amplify.ApproxDelta(knee, out.floor, eps))
		}
		return d
	}
	return out
}

// part is a profile and how often it is composed.
type part struct {
	profile
	runs int64
}

// sumUp is Σ runs·x, computed exactly and rounded up once.
func sumUp(n int, item func(i int) (x float64, runs int64)) float64 {
	if n == 1 {
		if x, runs := item(0); runs == 1 {
			return x
		}
	}
	total, t, r := new(big.Rat), new(big.Rat), new(big.Rat)
	for i := range n {
		x, runs := item(i)
		if math.IsInf(x, 1) || math.IsNaN(x) {
			return math.Inf(1)
		}
		total.Add(total, t.Mul(t.SetFloat64(x), r.SetInt64(runs)))
	}
	return ratUp(total)
}

// ratUp is the smallest float64 that is not below r.
func ratUp(r *big.Rat) float64 {
	f, exact := r.Float64()
	if exact || math.IsInf(f, 0) {
		return f
	}
	if new(big.Rat).SetFloat64(f).Cmp(r) < 0 {
		f = math.Nextafter(f, math.Inf(1))
	}
	return f
}

// maxCost limits how much work one evaluation of a composed profile may be.
const maxCost = 20_000

// composeProfiles is basic composition: δ(ε) <= 1 − Π(1 − δ_i(ε_i)) for every split of ε
// over the parts. It tries two splits and takes the better one.
//
// # Contract
//
// All parts are for the same relation, on the same data, each with a profile that
// holds whatever the others answered. Proof: composition.proof.md.
func composeProfiles(parts []part) profile {
	if len(parts) == 1 && parts[0].runs == 1 {
		return parts[0].profile
	}
	c := composition{parts: parts, weights: make([]float64, len(parts))}
	var cost float64
	var kneeAll float64
	for i, p := range parts {
		cost += p.cost
		if math.IsInf(p.knee, 1) {
			c.elastic = append(c.elastic, i)
			kneeAll = math.Inf(1)
		}
		// Weights come from the epsilon at a reference delta.
		w := p.epsilon(1e-6 / float64(p.runs)).upper
		if math.IsInf(w, 1) {
			w = p.knee
		}
		if math.IsInf(w, 1) || w <= 0 {
			w = 1e-300
		}
		c.weights[i] = w
	}
	c.kneed = sumUp(len(parts), func(i int) (float64, int64) {
		if math.IsInf(parts[i].knee, 1) {
			return 0, 1
		}
		return parts[i].knee, parts[i].runs
	})
	c.both = 2*cost <= maxCost
	out := profile{at: c.delta, knee: math.Max(kneeAll, c.kneed), cost: cost}
	if kneeAll == 0 {
		out.floor = c.atKnees(c.kneed)
	}
	if c.both {
		out.cost = 2 * cost
	}
	out.pure = sumUp(len(parts), func(i int) (float64, int64) { return parts[i].pure, parts[i].runs })
	return out
}

type composition struct {
	parts   []part
	weights []float64
	elastic []int   // parts without a knee
	kneed   float64 // Σ of the knees of the others
	both    bool
}

// splitMargin keeps the shares' sum at or below ε in spite of rounding.
const splitMargin = 1e-13

func (c *composition) delta(eps float64) float64 {
	best := 1.0
	tried := false
	if len(c.elastic) < len(c.parts) && eps >= c.kneed {
		best, tried = c.atKnees(eps), true
	}
	if !tried || c.both {
		best = math.Min(best, c.proportional(eps))
	}
	return best
}

// atKnees spends each knee in full and shares the rest among the other parts.
func (c *composition) atKnees(eps float64) float64 {
	var total float64
	for _, i := range c.elastic {
		total += c.weights[i] * float64(c.parts[i].runs)
	}
	rest := (eps - c.kneed) * (1 - splitMargin)
	var keep float64 // Σ runs·log(1 − δ_i)
	for i, p := range c.parts {
		e := p.knee
		if math.IsInf(e, 1) {
			e = math.Max(0, rest*(c.weights[i]/total))
		}
		keep += float64(p.runs) * math.Log1p(-p.delta(e))
	}
	return fail(keep)
}

// proportional shares ε in proportion to the weights.
func (c *composition) proportional(eps float64) float64 {
	var total float64
	for i, p := range c.parts {
		total += c.weights[i] * float64(p.runs)
	}
	var keep float64
	for i, p := range c.parts {
		keep += float64(p.runs) * math.Log1p(-p.delta(eps*(1-splitMargin)*(c.weights[i]/total)))
	}
	return fail(keep)
}

// fail is 1 − e^keep, rounded up.
func fail(keep float64) float64 {
	if math.IsNaN(keep) {
		return 1
	}
	return math.Min(1, above(-math.Expm1(keep), 1e-12))
}
