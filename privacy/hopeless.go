package privacy

import "math"

// An epsilon beyond this protects nobody, and its distribution spans more losses
// than are worth laying out.
const hopelessEpsilon = 1e6

const tooHopeless = "the other methods find an epsilon so large that a distribution is not worth laying out"

// hopeless reports whether the cheap methods find an epsilon that is beyond use. Then the
// costly method does not run, which withholds a bound and changes none. least is the
// smallest epsilon that they have found so far, +Inf for none.
func hopeless(least float64, e Event, rel Relation, at Point, q query, o Options) bool {
	limit := float64(hopelessEpsilon)
	if q == deltaQuery {
		// Where even δ = ½ needs an epsilon far above the one that was asked about,
		// delta is 1 for all purposes.
		limit = 1e5 + 10*at.Epsilon
		at = Point{Delta: 0.5}
	}
	if math.IsInf(least, 1) {
		for _, m := range methods[:2] { // basic and rdp
			if b, u := m.run(e, rel, at, epsilonQuery, o); u == nil && b.upper < least {
				least = b.upper
			}
			if least <= limit {
				return false
			}
		}
	}
	return least > limit && !math.IsInf(least, 1)
}
