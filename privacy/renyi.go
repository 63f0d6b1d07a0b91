package privacy

import (
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/calculus/rdp"
	"github.com/dprelease/dprelease/privacy/amplify"
)

// runRenyi evaluates by a Rényi curve and the improved conversion (P6, P10).
func runRenyi(e Event, rel Relation, at Point, q query, _ Options) (bracket, *Unsupported) {
	c, u := renyi(e, rel, "")
	if u != nil {
		return bracket{}, u
	}
	if q == epsilonQuery {
		if at.Delta < c.lost || at.Delta == c.lost && c.lost > 0 {
			return bracket{}, refuse("", "the failure probabilities of the (epsilon, delta) points already add up to delta")
		}
		eps, _ := rdp.Epsilon(c.curve, at.Delta-c.lost)
		return bracket{lower: 0, upper: above(eps, 1e-15)}, nil
	}
	d, _ := rdp.Delta(c.curve, at.Epsilon)
	return bracket{lower: 0, upper: above(d, 1e-12) + c.lost}, nil
}

// renyiBound is a curve that holds except with probability lost.
type renyiBound struct {
	curve rdp.Curve
	lost  float64
	// mirror says that an involution of the outputs swaps the worst pair, as with products
	// of Gaussian, Laplace and randomized-response pairs. Zhu and Wang's factor 3 falls
	// away for it (mirror.proof.md).
	mirror bool
}

// renyi builds the curve of e.
func renyi(e Event, rel Relation, at string) (renyiBound, *Unsupported) {
	out := renyiBound{mirror: true}
	var curves []rdp.Curve
	var squares []float64
	ts, _, u := worst(terms(e, at), maxDistinct)
	if u != nil {
		return renyiBound{}, u
	}
	for _, t := range ts {
		if mu := lattice(t.event, rel); mu > 0 {
			squares = append(squares, mu*math.Sqrt(float64(t.runs)))
			continue
		}
		b, u := renyiTerm(t.event, rel, t.at)
		if u != nil {
			return renyiBound{}, u
		}
		out.mirror = out.mirror && b.mirror
		if b.lost > 0 {
			out.lost = above(out.lost+above(b.lost*float64(t.runs), 1e-15), 1e-15)
		}
		c := b.curve
		if t.runs > 1 {
			c = rdp.Repeat(t.runs, c)
		}
		curves = append(curves, c)
	}
	if len(squares) > 0 {
		curves = append(curves, rdp.Gaussian(below(1/norm(squares))))
	}
	if len(curves) == 1 {
		out.curve = curves[0]
	} else {
		out.curve = rdp.Compose(curves...)
	}
	return out, nil
}

// below moves x down by a few units in the last place.
func below(x float64) float64 { return x * (1 - 4e-16) }

// lattice is spread for Gaussian noise and its discrete form, whose Rényi curves
// are the same (Canonne, Kamath and Steinke 2020, Theorem 4).
func lattice(e Event, rel Relation) float64 {
	if g, ok := e.(DiscreteGaussian); ok {
		return ratioUp(g.Sensitivity.Under(rel), g.Sigma)
	}
	return spread(e, rel)
}

// onlyGaussian is the joint shift of continuous Gaussian noises released from the
// same data, or 0 where anything else is released as well.
func onlyGaussian(e Event, rel Relation, at string) float64 {
	var squares []float64
	for _, t := range terms(e, at) {
		mu := spread(t.event, rel)
		if mu == 0 {
			return 0
		}
		squares = append(squares, mu*math.Sqrt(float64(t.runs)))
	}
	return norm(squares)
}

// renyiTerm builds the curve of a single event.
func renyiTerm(e Event, rel Relation, at string) (renyiBound, *Unsupported) {
	here := join(at, e.kind())
	if u := unknownShift(e, rel, here); u != nil {
		return renyiBound{}, u
	}
	switch e := e.(type) {
	case curved:
		return e.renyi(rel, here)
	case Sampling:
		return renyiDraw(e, rel, here)
	}
	return renyiBound{}, refuse(here, "has no Rényi curve")
}

// discreteLaplaceCurve uses that the discrete noise is dominated by the
// continuous one of a slightly larger shift, and by its own pure bound
// (discrete_laplace.proof.md).
func discreteLaplaceCurve(scale, s float64) rdp.Curve {
	pure := ratioUp(s, scale)
	c, limit := rdp.Laplace(below(scale/latticeShift(scale, s))), rdp.Pure(pure)
	return func(alpha float64) float64 { return math.Min(c(alpha), limit(alpha)) }
}

// latticeShift is s + 2t·log cosh(1/(2t)): the continuous shift whose Laplace
// profile dominates that of discrete Laplace noise of scale t shifted by s.
func latticeShift(t, s float64) float64 {
	x := 1 / (2 * t)
	logCosh := x*x/2 + 0*x
	if x > 1e-4 {
		logCosh = x + math.Log1p(math.Exp(-2*x)) - math.Ln2
		if x < 1 {
			sh := math.Sinh(x / 2)
			logCosh = math.Log1p(2 * sh * sh)
		}
	}
	return above(s+2*t*logCosh, 1e-14)
}

// renyiDraw is P6 for everything that was run on one draw, and never more than the curve of
// the amplified pure epsilon, where there is one (P28).
func renyiDraw(s Sampling, rel Relation, here string) (renyiBound, *Unsupported) {
	if u := drawable(s, rel, here); u != nil {
		return renyiBound{}, u
	}
	b, u := renyiSampled(s, rel, here)
	if !pure(s.Inner()) {
		return b, u
	}
	p, none := basicDraw(s, rel, here)
	if none != nil || math.IsInf(p.pure, 1) {
		return b, u
	}
	limit := rdp.Pure(p.pure)
	if u != nil {
		return renyiBound{curve: limit, mirror: true}, nil
	}
	b.curve = least(b.curve, limit)
	return b, nil
}

// least is the smaller of two curves at every order.
func least(a, b rdp.Curve) rdp.Curve {
	return func(alpha float64) float64 { return math.Min(a(alpha), b(alpha)) }
}

// pure reports whether e may have a pure epsilon: that every part of it has one.
func pure(e Event) bool {
	return !slices.ContainsFunc(terms(e, ""), func(t term) bool {
		switch e := t.event.(type) {
		case Gaussian, DiscreteGaussian, ZCDP, LastIterate, KeyThreshold:
			return true
		case Approx:
			return e.Delta > 0
		case KeySelection:
			return e.Delta > 0
		}
		return slices.ContainsFunc(Children(t.event), func(inner Event) bool { return !pure(inner) })
	})
}

// onSample is the relation under which the events on a sample must hold. Under it a draw
// without replacement never costs more than these events (P28). ok is false for a draw with
// replacement, which may take a unit several times.
func onSample(s Sampling, rel Relation) (inner Relation, ok bool) {
	switch s.(type) {
	case Poisson:
		return rel, true
	case WithoutReplacement, Multistage:
		return ReplaceOne, true
	}
	return 0, false
}

// renyiSampled is P6 for everything that was run on one draw.
func renyiSampled(s Sampling, rel Relation, here string) (renyiBound, *Unsupported) {
	inner := here + ".event"
	if drawn(s.Inner()) {
		// A sum over orders of sums over orders takes minutes, so only the inner draw
		// amplifies.
		under, ok := onSample(s, rel)
		if !ok {
			return renyiBound{}, refuse(inner, twoPhase)
		}
		e, _ := unshuffled(s.Inner())
		b, u := renyi(e, under, inner)
		if u == nil && b.lost > 0 {
			u = refuse(inner, pointInSample)
		}
		return b, u
	}
	switch s := s.(type) {
	case Poisson:
		return renyiPoisson(s, rel, here)
	case WithoutReplacement:
		c, u := renyiFixed(s.Event, amplify.Rate(s.Take, s.Of), inner)
		return renyiBound{curve: c}, u
	case Multistage:
		d := design(s)
		c, u := renyiFixed(s.Event, d.Last(), inner)
		if u != nil {
			return renyiBound{}, u
		}
		return renyiBound{curve: rdp.Mixture(d.Above(), c)}, nil
	}
	return renyiBound{}, refuse(here, "has no Rényi bound")
}

// renyiPoisson is Poisson sampling.
func renyiPoisson(s Poisson, rel Relation, here string) (renyiBound, *Unsupported) {
	inner := here + ".event"
	if rel == AddRemove {
		if mu := onlyGaussian(s.Event, AddRemove, inner); mu > 0 {
			return renyiBound{curve: rdp.PoissonGaussian(s.Rate, below(1/mu))}, nil
		}
	}
	e := s.Event
	if rel == ReplaceOne {
		e, _ = unshuffled(e)
	}
	b, u := renyi(e, rel, inner)
	if u == nil && b.lost > 0 {
		u = refuse(inner, pointInSample)
	}
	if u != nil {
		return renyiBound{}, u
	}
	if rel == AddRemove {
		return renyiBound{curve: rdp.Poisson(s.Rate, b.curve, b.mirror)}, nil
	}
	// Of any noise but Gaussian no amplified curve is proven under replace-one. Publishing whether the
	// changed record is in the sample is: something happens with probability Rate.
	c := rdp.Mixture(s.Rate, b.curve)
	if near := renyiGaussian(e, s.Rate, b.curve, inner, AddRemove, ReplaceOne); near != nil {
		c = least(c, near)
	}
	return renyiBound{curve: c}, nil
}

// renyiFixed is sampling at a fixed size: the inner event is under replace-one,
// whatever the relation on the population.
func renyiFixed(e Event, gamma float64, inner string) (rdp.Curve, *Unsupported) {
	if mu := onlyGaussian(e, ReplaceOne, inner); mu > 0 {
		return rdp.WithoutReplacementGaussian(gamma, below(1/mu)), nil
	}
	b, u := renyi(e, ReplaceOne, inner)
	if u == nil && b.lost > 0 {
		u = refuse(inner, pointInSample)
	}
	if u != nil {
		return nil, u
	}
	c := rdp.WithoutReplacement(gamma, b.curve)
	if near := renyiGaussian(e, gamma, b.curve, inner, ReplaceOne); near != nil {
		c = least(c, near)
	}
	return c, nil
}

// renyiGaussian is the curve of discrete and continuous Gaussian noise on a sample of fixed size, or on a Poisson sample under
// replace-one, of discrete noise through the continuous noise that it is close to; base is its curve on the sample. It is nil
// where anything else was released, or noise of few steps.
//
// # Contract
//
// As for rdp.WithoutReplacementGaussian, for vectors too, with the largest sensitivity of those under the relations of between:
// what the changed record, its replacement and whatever else may take the place differ by. Proof: discrete_gaussian.proof.md.
func renyiGaussian(e Event, gamma float64, base rdp.Curve, inner string, between ...Relation) rdp.Curve {
	s, mu := &smoothed{ok: true}, 0.0
	e = s.event(e, 1, 1)
	for _, rel := range between {
		one := onlyGaussian(e, rel, inner)
		if mu = math.Max(mu, one); !s.ok || one == 0 {
			return nil
		}
	}
	c := rdp.WithoutReplacementGaussian(gamma, below(1/mu))
	if len(s.runs) == 0 {
		return c
	}
	return func(alpha float64) float64 {
		// The far outputs are at most √T·e^far: T is made small enough, as far as a float64 holds it.
		far := base(2*alpha) * (2*alpha - 1) / 2
		t := math.Min(2*math.Sqrt(far+80)+mu+1, 36)
		tail := s.total(t - mu).tail
		if !(alpha > 1 && tail > 0) || math.IsInf(far, 1) {
			return math.Inf(1)
		}
		close := (2*alpha-1)*s.total(t).ratio + (alpha-1)*c(alpha)
		return above((close+math.Log1p(math.Exp(math.Log(tail)/2+far-close)))/(alpha-1), 1e-11)
	}
}
