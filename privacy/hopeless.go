package privacy

import "math"

// An epsilon beyond this protects nobody, and its distribution spans more losses
// than are worth laying out.
const hopelessEpsilon = 1e6

const tooHopeless = "the other methods find an epsilon so large that a distribution is not worth laying out"

// probe holds the least epsilon of the cheap methods.
type probe struct {
	least float64
	known bool
}

func (p *probe) note(method string, eps float64) {
	if method != "basic" && method != "rdp" || !(eps < math.Inf(1)) {
		return
	}
	if !p.known || eps < p.least {
		p.least = eps
	}
	p.known = true
}

// hopeless reports whether the cheap methods find an epsilon that is beyond use. Then the
// costly method does not run, which withholds a bound and changes none.
func (p probe) hopeless(e Event, rel Relation, at Point, q query, o Options) bool {
	limit := float64(hopelessEpsilon)
	if q == deltaQuery {
		// Where even δ = ½ needs an epsilon far above the one that was asked about,
		// delta is 1 for all purposes.
		limit = 1e5 + 10*at.Epsilon
		at = Point{Delta: 0.5}
	}
	if !p.known {
		for _, m := range methods[:2] { // basic and rdp
			if b, u := m.run(e, rel, at, epsilonQuery, o); u == nil {
				if p.note(m.name, b.upper); p.known && p.least <= limit {
					return false
				}
			}
		}
	}
	return p.known && p.least > limit
}
