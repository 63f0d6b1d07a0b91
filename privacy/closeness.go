package privacy

import "math"

// closeness compares two distributions: every likelihood ratio lies within e^±ratio,
// except on events of probability tail.
type closeness struct{ ratio, tail float64 }

// minSigma is the smallest noise that is compared with a rounded Gaussian.
const minSigma = 3

// nearGaussian compares discrete Gaussian noise of parameter sigma on one
// coordinate with a Gaussian of variance sigma² − 1/12 that was rounded to the
// integers, up to t·sigma from the centre (discrete_gaussian.proof.md).
func nearGaussian(sigma, t float64) closeness {
	s2 := sigma*sigma - 1./12
	t2 := t * t
	// log(Z/(s√2π)) − 1/(24s²): what does not depend on the outcome.
	c := -math.Log1p(-1/(12*sigma*sigma))/2 - 1/(24*s2)
	lo := c - t2*t2*sigma*sigma*sigma*sigma/(2880*s2*s2*s2*s2) - t2*sigma*sigma/(288*s2*s2*s2)
	hi := c + 3*math.Exp(-2*math.Pi*math.Pi*sigma*sigma) + t2/(288*s2*s2) + 1/(128*s2*s2)
	return closeness{
		ratio: above(math.Max(math.Abs(lo), math.Abs(hi)), 1e-9) + 1e-30,
		tail:  above(2*tail(t-1/sigma), 1e-9),
	}
}

// replacedSigma is √(sigma² − 1/12), rounded down.
func replacedSigma(sigma float64) float64 {
	return math.Sqrt(sigma*sigma-1./12) * (1 - 1e-15)
}

// widen turns δ of the rounded Gaussians at eps − 2·ratio into one of the discrete
// Gaussians at eps.
func (c closeness) widen(delta func(eps float64) float64, eps float64) float64 {
	x := eps - 2*c.ratio
	d := 1.0
	switch {
	case x >= 0:
		d = delta(x)
	case x > -1:
		d = -math.Expm1(x) + math.Exp(x)*delta(-x)
	}
	return math.Min(1, above(math.Exp(c.ratio)*d+c.tail*(1+math.Exp(eps)), 1e-12))
}

// discreteRun is one kind of discrete Gaussian noise and on how many coordinates,
// all runs together, it was drawn.
type discreteRun struct {
	sigma float64
	draws float64
}

// smoothed replaces discrete Gaussian noise by the Gaussian that it is close to
// after rounding, wherever one draw of a sample, at most, stands around it.
//
// With exact, noise that spans few lattice steps and has a distribution of its own stays
// discrete. A coarse lattice is what smoothing costs most for, and a fine one cannot do
// without: so a count beside a mean costs what both need, and no more.
type smoothed struct {
	runs []discreteRun
	ok   bool

	exact *Relation // the relation under which distributions are asked for
	kept  bool      // some noise stayed discrete
}

// coarse is the noise below which smoothing costs more than rounding does.
const coarse = 64

// stays reports whether x stays discrete.
func (s *smoothed) stays(x DiscreteGaussian) bool {
	if s.exact == nil || x.Sigma >= coarse {
		return false
	}
	_, u := x.pair(*s.exact, "")
	return u == nil
}

// event rewrites e; runs is how often it runs, samples how many draws stand around.
func (s *smoothed) event(e Event, runs float64, samples int) Event {
	switch x := e.(type) {
	case DiscreteGaussian:
		if s.stays(x) {
			s.kept = true
			return e
		}
		if x.Sigma < minSigma || samples > 1 {
			s.ok = false
			return e
		}
		draws := runs * math.Max(1, float64(x.Coordinates))
		if samples == 1 {
			// The changed record, its replacement and the record that takes its place
			// touch at most twice as many coordinates as two neighbours do.
			draws *= 2
		}
		s.runs = append(s.runs, discreteRun{sigma: x.Sigma, draws: draws})
		return Gaussian{Sigma: replacedSigma(x.Sigma), Sensitivity: x.Sensitivity}
	case KeyThreshold:
		if x.Sigma > 0 {
			return s.event(x.beside(), runs, samples)
		}
	case Compose:
		out := make([]Event, len(x.Events))
		for i, p := range x.Events {
			out[i] = s.event(p, runs, samples)
		}
		return Compose{out}
	case Repeat:
		return Repeat{x.N, s.event(x.Event, runs*float64(x.N), samples)}
	case ByGroup:
		// A replaced unit touches what two neighbours do in each of two groups.
		x.Event = s.event(x.Event, 2*runs, samples)
		return x
	case alike:
		x.Event = s.event(x.Event, runs, samples)
		return x
	case Poisson:
		p, _ := thinned(x, "")
		if p.Rate == 1 {
			return s.event(p.Event, runs, samples)
		}
		return p.With(s.event(p.Event, runs, samples+1))
	case Rotation:
		// The noise of every wave is compared.
		x.Event = s.event(x.Event, runs*float64(x.Waves), samples+1)
		return x
	case WithoutReplacement, Multistage:
		d := x.(Sampling)
		return d.With(s.event(d.Inner(), runs, samples+1))
	}
	return e
}

// total is the closeness of everything that was replaced, up to t standard
// deviations in each coordinate.
func (s *smoothed) total(t float64) closeness {
	var c closeness
	for _, r := range s.runs {
		one := nearGaussian(r.sigma, t)
		c.ratio = above(c.ratio+one.ratio*r.draws, 1e-14)
		c.tail = above(c.tail+one.tail*r.draws, 1e-14)
	}
	return c
}

// method is one way to evaluate an expression.
type method func(e Event, rel Relation, at Point, q query, o Options) (bracket, *Unsupported)

// orSmoothed runs a method on the expression. Where that holds discrete Gaussian noise, it
// also runs it with the noise smoothed, all of it or that of fine lattices alone, and takes
// the smallest bound.
func orSmoothed(run method) method {
	return func(e Event, rel Relation, at Point, q query, o Options) (bracket, *Unsupported) {
		b, u := orAllSmoothed(run)(e, rel, at, q, o)
		s := smoothed{ok: true, exact: &rel}
		smooth := s.event(e, 1, 0)
		if !s.ok || !s.kept || len(s.runs) == 0 {
			return b, u
		}
		if w, v := s.answer(run, smooth, rel, at, q, o); v == nil && (u != nil || w.upper < b.upper) {
			return w, nil
		}
		return b, u
	}
}

// orAllSmoothed compares what nothing and what everything smoothed costs.
func orAllSmoothed(run method) method {
	return func(e Event, rel Relation, at Point, q query, o Options) (bracket, *Unsupported) {
		s := smoothed{ok: true}
		smooth := s.event(e, 1, 0)
		if !s.ok || len(s.runs) == 0 {
			return run(e, rel, at, q, o)
		}
		w, v := s.answer(run, smooth, rel, at, q, o)
		if v == nil && drawn(e) && s.total(15).ratio < 1e-5 && !(rel == ReplaceOne && cells(e)) {
			// Nothing to gain from the discrete form, which is slow.
			return w, nil
		}
		b, u := run(e, rel, at, q, o)
		switch {
		case u != nil && v != nil:
			return b, u
		case u != nil || v == nil && w.upper < b.upper:
			return w, nil
		}
		return b, nil
	}
}

// cells reports whether e holds a Poisson sample of a table of counts, which has a
// distribution of its own (poissonReplacePair).
func cells(e Event) bool {
	for _, t := range terms(e, "") {
		if p, ok := t.event.(Poisson); ok && cell(p.Event) > 0 {
			return true
		}
	}
	return false
}

// answer evaluates the smoothed expression and adds what smoothing costs.
func (s *smoothed) answer(run method, smooth Event, rel Relation, at Point, q query, o Options) (bracket, *Unsupported) {
	if q == deltaQuery {
		c := s.total(16)
		var u *Unsupported
		var warning string
		upper := c.widen(func(eps float64) float64 {
			var b bracket
			if b, u = run(smooth, rel, Point{Epsilon: eps}, q, o); u != nil {
				return 1
			}
			warning = b.warning
			return b.upper
		}, at.Epsilon)
		return bracket{upper: upper, warning: warning}, u
	}
	if !(at.Delta > 0) {
		return bracket{}, refuse("", "discrete Gaussian noise has no pure bound")
	}
	var draws float64
	for _, r := range s.runs {
		draws += r.draws
	}
	// A tail that does not matter up to epsilon 80 takes a thousandth of delta.
	c := s.total(math.Sqrt(2*(math.Log(4000*draws)-math.Log(at.Delta)+80)) + 1)
	const share = 1e-3
	b, u := run(smooth, rel, Point{Delta: at.Delta * (1 - 2*share) * math.Exp(-c.ratio)}, q, o)
	if u != nil {
		return b, u
	}
	b.lower = 0
	b.upper = above(b.upper+2*c.ratio, 1e-15)
	if !(c.tail*(1+math.Exp(b.upper)) <= share*at.Delta) {
		return bracket{}, refuse("", "the tails of the discrete Gaussian noise exceed delta")
	}
	return b, nil
}
