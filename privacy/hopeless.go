package privacy

import "math"

// An epsilon beyond this protects nobody, and its distribution spans more losses
// than are worth laying out.
const hopelessEpsilon = 1e6

// unlessHopeless spares a costly method an expression whose epsilon is beyond use
// according to the cheap ones. That withholds a bound, it never changes one.
func unlessHopeless(run method) method {
	return func(e Event, rel Relation, at Point, q query, o Options) (bracket, *Unsupported) {
		probe := Point{Delta: at.Delta}
		limit := float64(hopelessEpsilon)
		if q == deltaQuery {
			// Where even δ = ½ needs an epsilon far above the one that was asked about,
			// delta is 1 for all purposes.
			probe = Point{Delta: 0.5}
			limit = 1e5 + 10*at.Epsilon
		}
		least := math.Inf(1)
		known := false
		for _, cheap := range []method{runBasic, runRenyi} {
			if b, u := cheap(e, rel, probe, epsilonQuery, o); u == nil && !math.IsNaN(b.upper) {
				known = known || !math.IsInf(b.upper, 1)
				least = math.Min(least, b.upper)
			}
		}
		if known && least > limit {
			return bracket{}, refuse("", "the other methods find an epsilon so large that a distribution is not worth laying out")
		}
		return run(e, rel, at, q, o)
	}
}
