package privacy

import (
	"errors"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/calculus/pld"
	"github.com/dprelease/dprelease/privacy/amplify"
)

// runDistribution evaluates by privacy-loss distributions (P7).
func runDistribution(e Event, rel Relation, at Point, q query, o Options) (bracket, *Unsupported) {
	if q == epsilonQuery && at.Delta == 0 {
		return bracket{}, refuse("", "delta 0 asks for pure privacy, which method basic answers exactly")
	}
	d, u := distribution(e, rel, "", false)
	if u == nil && d.profiled {
		u = refuse("", "one run known by its profile only, which the other methods evaluate directly")
	}
	if u != nil {
		return bracket{}, u
	}
	opt := pld.Options{UpperOnly: o.Quick || !d.attained, Laws: o.laws}
	var i pld.Interval
	var err error
	if q == epsilonQuery {
		i, err = pld.Epsilon(d.mech, at.Delta, opt)
	} else {
		i, err = pld.Delta(d.mech, at.Epsilon, opt)
	}
	b := bracket{lower: i.Lower, upper: i.Upper}
	if q == deltaQuery && b.upper == 0 {
		b.upper = 5e-324 // it underflowed; method basic knows where δ is 0
	}
	if !d.attained {
		b.lower = 0
		if d.witness != nil && !o.Quick {
			b.lower = certifiedBelow(d.witness, at, q)
		}
	}
	switch {
	case errors.Is(err, pld.ErrWide):
		b.warning = "pld: the bracket is sound but wider than 1 %: " + err.Error()
	case err != nil:
		return bracket{}, refuse("", err.Error())
	}
	return b, nil
}

// certifiedBelow is the lower bound of a pair that some neighbours have.
func certifiedBelow(m pld.Mechanism, at Point, q query) float64 {
	var i pld.Interval
	var err error
	if q == epsilonQuery {
		i, err = pld.Epsilon(m, at.Delta, pld.Options{})
	} else {
		i, err = pld.Delta(m, at.Epsilon, pld.Options{})
	}
	if err != nil && !errors.Is(err, pld.ErrWide) || !(i.Lower >= 0) {
		return 0
	}
	return i.Lower * (1 - 1e-9) // the rate was rounded up
}

// lossPair is a pair of privacy-loss distributions that dominates the event.
type lossPair struct {
	mech pld.Mechanism
	// attained says that some neighbours have exactly this pair, so that its lower bound
	// holds for the truth.
	attained bool
	// witness is a pair that some neighbours have exactly, where mech only dominates. Its
	// lower bound holds for the truth. Nil where none is known.
	witness pld.Mechanism
	// profiled says that the pair was built from a profile, which method basic evaluates
	// directly. The pair helps in compositions only.
	profiled bool
	// alone says that this holds for one run, not for a composition.
	alone bool
}

// maxInner limits compositions inside a draw. Their whole distribution is built, and a
// plain composition needs only one end of it.
const maxInner = 10_000

// distribution builds the pair of e; inside says that a sample is drawn around it.
func distribution(e Event, rel Relation, at string, inside bool) (lossPair, *Unsupported) {
	out := lossPair{attained: true}
	var parts, witnesses []pld.Mechanism
	var squares []float64
	ts := terms(e, at)
	// Package pld joins the others itself, on both sides.
	ts, joined, u := worst(ts, math.MaxInt)
	if u != nil {
		return lossPair{}, u
	}
	changed := slices.ContainsFunc(ts, func(t term) bool { return t.changed })
	out.attained = !joined && !changed
	for _, t := range ts {
		if mu := spread(t.event, rel); mu > 0 {
			squares = append(squares, mu*math.Sqrt(float64(t.runs)))
			continue
		}
		p, u := distributionTerm(t.event, rel, t.at)
		if u != nil {
			return lossPair{}, u
		}
		single := len(ts) == 1 && t.runs == 1
		out.attained = out.attained && p.attained && (!p.alone || single)
		out.alone = p.alone
		out.profiled = p.profiled && single
		if inside && t.runs > maxInner {
			return lossPair{}, refuse(t.path(), "too many runs on one draw of a sample")
		}
		if p.attained && !p.alone {
			p.witness = p.mech
		}
		if t.runs > 1 {
			p.mech = pld.Repeat(t.runs, p.mech)
			if p.witness != nil {
				p.witness = pld.Repeat(t.runs, p.witness)
			}
		}
		parts = append(parts, p.mech)
		if p.witness != nil {
			witnesses = append(witnesses, p.witness)
		}
	}
	if len(squares) > 0 {
		g := pld.Gaussian(below(1 / norm(squares)))
		parts, witnesses = append(parts, g), append(witnesses, g)
	}
	if len(witnesses) == len(parts) && !joined && !changed {
		out.witness = pld.Compose(witnesses...)
	}
	if len(parts) == 1 {
		out.mech = parts[0]
	} else {
		out.mech = pld.Compose(parts...)
	}
	return out, nil
}

// fewAtoms is the number of lattice steps up to which discrete Laplace noise is treated as discrete.
const fewAtoms = 256

// distributionTerm builds the pair of a single event.
func distributionTerm(e Event, rel Relation, at string) (lossPair, *Unsupported) {
	here := join(at, e.kind())
	if u := unknownShift(e, rel, here); u != nil {
		return lossPair{}, u
	}
	switch e := e.(type) {
	case paired:
		return e.pair(rel, here)
	case Sampling:
		return distributionDraw(e, rel, here)
	}
	return lossPair{}, refuse(here, "has no privacy-loss distribution")
}

// maxDiscreteSigma is the largest sigma that is treated as discrete.
const maxDiscreteSigma = 1e3

// pair is discrete Gaussian noise on one coordinate, or on several that move by one step
// each.
func (e DiscreteGaussian) pair(rel Relation, here string) (lossPair, *Unsupported) {
	s := e.Sensitivity.Under(rel)
	switch {
	case e.Coordinates > 1 && wholeSquare(s) <= 3:
		// Squares of whole numbers that add up to at most 3 are ones. Coordinates that do
		// not move add nothing.
		n := min(int64(wholeSquare(s)), e.Coordinates)
		return lossPair{mech: pld.Repeat(n, pld.DiscreteGaussian(e.Sigma, 1)), attained: true}, nil
	case e.Coordinates > 1:
		return lossPair{},
			refuse(here, "discrete Gaussian noise on several coordinates has a distribution only where it is close to the continuous one")
	case s > 1e4 || e.Sigma > maxDiscreteSigma:
		return lossPair{}, refuse(here, "the noise spans too many lattice steps to be treated as discrete")
	}
	// A larger whole shift dominates a smaller one, an integer query moves by whole
	// steps, and a replacement is a removal and an addition.
	shift := math.Floor(s)
	if once := e.Sensitivity.Under(AddRemove); rel == ReplaceOne && once > 0 {
		shift = math.Min(shift, 2*math.Floor(once))
	}
	return lossPair{mech: pld.DiscreteGaussian(e.Sigma, int64(shift)), attained: true}, nil
}

// pair is the worst pair with this profile, in both directions.
func (p profile) pair() pld.Mechanism { return pld.FromProfile(p.everywhere) }

// everywhere is the profile at any eps: below 0 by that of the other direction.
func (p profile) everywhere(eps float64) float64 {
	if eps < 0 {
		return -math.Expm1(eps) + math.Exp(eps)*p.delta(-eps)
	}
	return p.delta(eps)
}

// distributionDraw is P7 for everything that was run on one draw.
func distributionDraw(s Sampling, rel Relation, here string) (lossPair, *Unsupported) {
	if u := drawable(s, rel, here); u != nil {
		return lossPair{}, u
	}
	inner := here + ".event"
	switch s := s.(type) {
	case Poisson:
		if rel == ReplaceOne {
			return poissonReplacePair(s, here)
		}
		p, u := distribution(s.Event, AddRemove, inner, true)
		if u != nil {
			return lossPair{}, u
		}
		return lossPair{mech: pld.Poisson(s.Rate, p.mech), attained: p.attained && !p.alone}, nil
	case WithoutReplacement:
		p, u := distribution(s.Event, ReplaceOne, inner, true)
		if u != nil {
			return lossPair{}, u
		}
		m := pld.WithoutReplacement(amplify.Rate(s.Take, s.Of), p.mech)
		// One run attains it where everybody but the changed record is equal; the two
		// halves of the profile belong to different neighbours, so that a composition
		// need not. Under add-remove the true rate is below Take/Of.
		out := lossPair{mech: m, attained: p.attained && rel == ReplaceOne, alone: true}
		witness := p.mech
		if p.alone {
			witness = p.witness
		}
		if out.attained && witness != nil {
			// Everybody but the changed record is equal: the mixture against the plain
			// mechanism, as under Poisson sampling.
			out.witness = pld.Poisson(amplify.Rate(s.Take, s.Of), witness)
		}
		return out, nil
	case Multistage:
		d := design(s)
		p, u := distribution(s.Event, ReplaceOne, inner, true)
		if u != nil {
			return lossPair{}, u
		}
		return lossPair{mech: pld.Mixture(d.Above(), pld.WithoutReplacement(d.Last(), p.mech))}, nil
	}
	p, u := basicDraw(s, rel, here)
	if u != nil {
		return lossPair{}, u
	}
	return lossPair{mech: p.pair(), profiled: true}, nil
}

// poissonReplacePair is Poisson sampling under replace-one (poisson_replace.proof.md).
func poissonReplacePair(s Poisson, here string) (lossPair, *Unsupported) {
	inner, shuffled := unshuffled(s.Event)
	at := here + ".event"
	if sigma := cell(inner); sigma > 0 {
		one := pld.Poisson(s.Rate, pld.DiscreteGaussian(sigma, 1))
		return lossPair{mech: pld.Compose(one, pld.Reverse(one)), attained: true}, nil
	}
	r, u := distribution(inner, ReplaceOne, at, true)
	if u == nil {
		a, missing := distribution(inner, AddRemove, at, true)
		if missing != nil || shuffled {
			// Whether the changed record is in the sample counts as published.
			return lossPair{mech: pld.Mixture(s.Rate, r.mech)}, nil
		}
		out := lossPair{mech: pld.PoissonReplace(s.Rate, a.mech, r.mech)}
		if scalar, twice := scalarNoise(inner); scalar {
			out.attained, out.alone = a.attained && r.attained, !twice
		}
		return out, nil
	}
	// What has a profile and no distribution.
	p, u := basicDraw(s, ReplaceOne, here)
	if u != nil {
		return lossPair{}, u
	}
	return lossPair{mech: p.pair(), profiled: true}, nil
}

// scalarNoise reports whether one number with noise attains the pairs of e under both
// relations at once, and whether its replace-one sensitivity is twice the other, so
// that the two directions agree.
func scalarNoise(e Event) (scalar, twice bool) {
	if squares := onlyGaussian(e, AddRemove, ""); squares > 0 {
		return true, onlyGaussian(e, ReplaceOne, "") >= 2*squares*(1-1e-12)
	}
	ts := terms(e, "")
	if len(ts) != 1 || ts[0].runs != 1 {
		return false, false
	}
	s, ok := sensitivityOf(ts[0].event)
	if g, discrete := ts[0].event.(DiscreteGaussian); discrete {
		ok = g.Coordinates <= 1
		s = Sensitivity{math.Floor(s.Under(AddRemove)), math.Floor(s.Under(ReplaceOne))}
	}
	return ok, ok && s.Under(ReplaceOne) >= 2*s.Under(AddRemove)
}

// cell is the sigma of one discrete Gaussian draw on a vector of whole numbers in which a
// unit changes at most one cell, by 1, and a replaced unit changes no cell by 2. The
// sensitivities show that: the L2 norm of a change is below √2 only where at most one entry
// is ±1. cell is 0 for anything else.
func cell(e Event) float64 {
	ts := terms(e, "")
	if len(ts) != 1 || ts[0].runs != 1 {
		return 0
	}
	g, ok := ts[0].event.(DiscreteGaussian)
	if !ok || g.Coordinates < 2 || g.Sigma > maxDiscreteSigma || wholeSquare(g.Sensitivity.Under(AddRemove)) != 1 ||
		wholeSquare(g.Sensitivity.Under(ReplaceOne)) > 3 {
		return 0
	}
	return g.Sigma
}

// wholeSquare is the largest squared norm that a vector of whole numbers can have
// within an L2 sensitivity of s, exactly, up to 10⁶.
func wholeSquare(s float64) float64 {
	if !(s < 1e3) {
		return 1e6
	}
	n := math.Floor(s * s)
	for math.FMA(s, s, -n) < 0 {
		n--
	}
	for math.FMA(s, s, -(n+1)) >= 0 {
		n++
	}
	return n
}
