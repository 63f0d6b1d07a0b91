package privacy

import (
	"math"

	"github.com/dprelease/dprelease/privacy/amplify"
)

// runBasic evaluates by closed profiles, basic composition and the rules of P3
// and P5.
func runBasic(e Event, rel Relation, at Point, q query, _ Options) (bracket, *Unsupported) {
	at0 := ""
	s, shuffled := e.(Shuffled)
	if shuffled = shuffled && rel == ReplaceOne; shuffled {
		// Shuffling is post-processing, so the local guarantee of each user stands. Method
		// "shuffle" has the amplified one.
		e, at0 = s.Event, "shuffled.event"
	}
	ts := within(terms(e, at0), rel)
	p, u := basicTerms(ts, 1)
	if u != nil {
		return bracket{}, u
	}
	if inner, changed := undrawn(ts); changed {
		// No sampled composition costs more than what was run on the samples (P28).
		if whole, u := basicTerms(inner, 1); u == nil {
			p = p.capped(whole)
		}
	}
	p.exact = p.exact && !shuffled
	if q == epsilonQuery {
		b := p.epsilon(at.Delta)
		if !p.exact {
			b.lower = 0
		}
		b.lower *= 1 - 1e-8 // the profile itself was rounded up
		return b, nil
	}
	d := p.delta(at.Epsilon)
	if p.exact {
		return bracket{lower: d * (1 - 1e-8), upper: d}, nil
	}
	return bracket{lower: 0, upper: d}, nil
}

func refuse(at, reason string) *Unsupported { return &Unsupported{Path: at, Reason: reason} }

// basic builds the profile of e when k units change at once.
func basic(e Event, rel Relation, at string, k float64) (profile, *Unsupported) {
	return basicTerms(within(terms(e, at), rel), k)
}

// related is a term with the relation under which it must hold.
type related struct {
	term
	rel Relation
}

func within(ts []term, rel Relation) []related {
	out := make([]related, len(ts))
	for i, t := range ts {
		out[i] = related{t, rel}
	}
	return out
}

// undrawn replaces each draw, and the draws inside it, by the events on the sample, under
// the relation that holds there. It leaves draws with replacement.
func undrawn(ts []related) (out []related, changed bool) {
	for _, t := range ts {
		s, ok := t.event.(Sampling)
		if !ok {
			out = append(out, t)
			continue
		}
		under, ok := onSample(s, t.rel)
		if !ok || drawable(s, t.rel, "") != nil {
			out = append(out, t)
			continue
		}
		e, _ := unshuffled(s.Inner())
		inner := terms(e, t.path()+".event")
		for i := range inner {
			if inner[i].runs > maxRuns/t.runs {
				return ts, false
			}
			inner[i].runs *= t.runs
		}
		more, _ := undrawn(within(inner, under))
		out, changed = append(out, more...), true
	}
	return out, changed
}

func basicTerms(all []related, k float64) (profile, *Unsupported) {
	var parts []part
	var squares, steps, rounded []float64
	var near closeness
	plain, one, changed := make([]term, len(all)), true, false
	for i, t := range all {
		plain[i] = t.term
		changed = changed || t.changed
		one = one && t.rel == all[0].rel
	}
	ts, joined, u := worst(plain, math.MaxInt)
	if u != nil {
		return profile{}, u
	}
	if joined && one {
		all = within(ts, all[0].rel)
	} else if joined {
		return profile{}, refuse("", "shuffles under two relations are not joined")
	}
	for _, t := range all {
		rel := t.rel
		if g, ok := t.event.(DiscreteGaussian); ok {
			if mu := lattice(g, rel); mu > 0 {
				steps = append(steps, mu*math.Sqrt(float64(t.runs)))
				near = near.add(g, float64(t.runs)*k, 15)
				rounded = append(rounded, ratioUp(g.Sensitivity.Under(rel), replacedSigma(g.Sigma))*math.Sqrt(float64(t.runs)))
				continue
			}
		}
		if mu := spread(t.event, rel); mu > 0 {
			squares = append(squares, mu*math.Sqrt(float64(t.runs)))
			continue
		}
		p, u := basicTerm(t.event, rel, t.at, k)
		if u != nil {
			return profile{}, u
		}
		parts = append(parts, part{p, t.runs})
	}
	if len(squares) > 0 {
		// Gaussian noises on the same data are one Gaussian of the joint query.
		parts = append(parts, part{gaussianProfile(amplify.GroupEpsilon(k, norm(squares))), 1})
	}
	if len(steps) > 0 {
		parts = append(parts, part{discreteProfile(amplify.GroupEpsilon(k, norm(steps)), amplify.GroupEpsilon(k, norm(rounded)), near), 1})
	}
	out := composeProfiles(parts)
	out.exact = out.exact && !joined && !changed
	return out, nil
}

// add accounts for runs more discrete Gaussian draws on each coordinate of g, compared up to reach standard deviations.
func (c closeness) add(g DiscreteGaussian, runs, reach float64) closeness {
	if g.Sigma < minSigma || math.IsInf(c.ratio, 1) {
		return closeness{math.Inf(1), 1}
	}
	one := nearGaussian(g.Sigma, reach)
	draws := runs * math.Max(1, float64(g.Coordinates))
	return closeness{above(c.ratio+draws*one.ratio, 1e-14), above(c.tail+draws*one.tail, 1e-14)}
}

// discreteProfile is the profile of discrete Gaussian noises whose joint shift is mu. It is
// the smallest of the zCDP bound and the profiles of the Gaussians that they are close to:
// those shift by rounded, and each of near widens their profile.
func discreteProfile(mu, rounded float64, near ...closeness) profile {
	z := zcdpProfile(above(mu*mu/2, 1e-15))
	if math.IsInf(near[0].ratio, 1) {
		return z
	}
	g := gaussianProfile(rounded)
	at := z.at
	z.at = func(eps float64) float64 {
		least := at(eps)
		for _, c := range near {
			least = math.Min(least, c.widen(g.delta, eps))
		}
		return least
	}
	return z
}

// norm is the Euclidean norm, rounded up.
func norm(x []float64) float64 {
	var n float64
	for _, v := range x {
		n = math.Hypot(n, v)
	}
	if len(x) == 1 {
		return above(n, 4e-16)
	}
	return above(n, 4e-16*float64(len(x)+2))
}

// basicTerm builds the profile of a single event.
func basicTerm(e Event, rel Relation, at string, k float64) (profile, *Unsupported) {
	here := join(at, e.kind())
	if u := unknownShift(e, rel, here); u != nil {
		return profile{}, u
	}
	switch e := e.(type) {
	case bounded:
		return e.basic(rel, here, k)
	case Sampling:
		p, u := basicDraw(e, rel, here)
		if u != nil {
			return profile{}, u
		}
		return p.group(k), nil
	}
	return profile{}, refuse(here, "has no closed profile")
}

// laplaceProfile is 1 − e^{(ε−ε0)/2} below ε0 = sensitivity/scale.
func laplaceProfile(eps0 float64) profile {
	return closed(func(eps float64) float64 { return above(-math.Expm1((eps-eps0)/2), 1e-14) }, eps0)
}

// discreteLaplaceProfile returns the profile of a shift by s lattice steps: the Laplace
// profile at the points ε = (s−2j)/scale, linear in e^ε between them. A shift that is
// spread over several coordinates is dominated (discrete_laplace.proof.md).
func discreteLaplaceProfile(scale, s float64) profile {
	return closed(func(eps float64) float64 {
		// One rounding each, so that nothing is lost where ε is many steps of 1/scale and
		// its distance to a point is a fraction of one.
		j := math.Max(0, math.Floor(math.FMA(-eps, scale, s)/2))
		below := math.FMA(eps, scale, 2*j-s) / scale      // ε less the point above it
		share := math.Expm1(below) / math.Expm1(-2/scale) // 0 at the upper point, 1 at the lower
		share = math.Min(1, math.Max(0, share))
		d := -(1-share)*math.Expm1(-j/scale) - share*math.Expm1(-(j+1)/scale)
		return above(d, 1e-13)
	}, ratioUp(s, scale))
}

// responseProfile returns the profile of k-ary randomized response.
func responseProfile(e RandomizedResponse) profile {
	return closed(func(eps float64) float64 {
		return above(-math.Expm1(eps-e.Eps0)/(1+float64(e.K-1)*math.Exp(-e.Eps0)), 1e-14)
	}, e.Eps0)
}

// approxProfile returns the profile of any (ε, δ) mechanism.
func approxProfile(e Approx) profile {
	p := closed(func(eps float64) float64 { return amplify.ApproxDelta(e.Eps, e.Delta, eps) }, math.Inf(1))
	p.knee, p.floor = e.Eps, e.Delta
	if e.Delta == 0 {
		p.pure = e.Eps
	}
	return p
}

// zcdpProfile converts rho-zCDP at the best order.
func zcdpProfile(rho float64) profile {
	p := closed(func(eps float64) float64 { return zcdpDelta(rho, eps) }, math.Inf(1))
	if rho == 0 {
		p.pure = 0
	}
	p.exact, p.cost = false, 4
	return p
}

// zcdpDelta is the improved conversion (Canonne, Kamath and Steinke 2020) of the
// curve rho·α, min over α of e^{(α−1)(αρ−ε)}·(1−1/α)^α/(α−1): its logarithm has the
// derivative (2α−1)ρ − ε + log(1−1/α), which grows with α. Any α is sound.
func zcdpDelta(rho, eps float64) float64 {
	// The slope grows with a = α − 1 and is concave, so Newton's steps from the left of
	// its zero stay there. log(1+1/a) > 1/(a+½) gives a start that is.
	a := (eps+math.Sqrt(eps*eps+8*rho))/(4*rho) - 0.5
	if a = math.Min(1e300, math.Max(1e-8, a)); math.IsNaN(a) { // no noise at all is needed for rho 0
		a = 1e300
	}
	for range 40 {
		step := -((2*a+1)*rho - eps - math.Log1p(1/a)) / (2*rho + 1/(a*(a+1)))
		if !(step > 1e-9*a) || math.IsInf(step, 1) {
			break
		}
		a += step
	}
	l := a*((a+1)*rho-eps) - (a+1)*math.Log1p(1/a) - math.Log(a)
	l += 4e-16 * (a*((a+1)*rho+eps) + 1000)
	if !(l < 0) {
		return 1
	}
	return math.Max(5e-324, above(math.Exp(l), 1e-12))
}
