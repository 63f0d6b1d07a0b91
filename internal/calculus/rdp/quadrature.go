package rdp

import "math"

// nodeFloor is the distance (in nats) below the largest node at which a node of the quadrature is dropped.
const nodeFloor = 42

// maxNodes bounds the work of one integral. It is never reached for the step sizes used here; a region that long would be answered
// by the unsampled curve.
const maxNodes = 200000

// farthestPeak is the distance up to which nodes are told apart by a float64 with room to spare. Integrals that reach farther are not
// evaluated; the cap by the unsampled curve answers.
const farthestPeak = 1e12

// logMGFIntegral is log A(α) by the trapezoid rule on A − 1 = E[(1+u)^α − 1 − αu], u = q(e^{(2z−1)/(2s²)} − 1), E[u] = 0. The integrand
// is never negative (Bernoulli), so nothing cancels however small q or large s; and it is analytic in a strip, so the rule
// converges geometrically: the step below leaves a relative error under 1e-16 (poissongaussian.proof.md).
func (m *sampledGaussian) logMGFIntegral(alpha float64) float64 {
	f := newIntegrand(m.q, m.s, alpha)
	if f.peak > farthestPeak {
		return math.Inf(1)
	}
	h := 0.5
	if alpha != math.Floor(alpha) {
		h = math.Min(h, 0.45*m.s)
	}
	log := f.trapezoid(h)
	if alpha > 1000 {
		// The exponents are of the size of α; cover their last bits.
		log += 4e-15 * alpha
	}
	return log1pExp(log)
}

// integrand is −t²/2 + log[(1+u)^α − 1 − αu] as a function of t = z/s.
type integrand struct {
	q, s, alpha, a float64
	half           float64 // 1/(2s²)
	peak           float64 // α/s: the centre of the part in which the record was sampled every time
	height         float64 // α(α−1)/(2s²): about the size of that part
	base           float64 // subtracted from every node, so that a huge height costs no digits
}

func newIntegrand(q, s, alpha float64) *integrand {
	a := alpha - 1
	return &integrand{q: q, s: s, alpha: alpha, a: a, half: 1 / s / s / 2, peak: alpha / s, height: alpha / s * (a / s) / 2}
}

func (f *integrand) at(t float64) float64 {
	w := t/f.s - f.half
	u := math.Inf(1)
	if w < 700 {
		u = f.q * math.Expm1(w)
	}
	if u > 1 && w > 1 {
		// log(1+u) = w + rest; −t²/2 + α·w is rewritten around the peak so that two huge numbers do not cancel.
		rest := math.Log(f.q + (1-f.q)*math.Exp(-w))
		d := t - f.peak
		return (f.height - f.base) - d*d/2 + f.alpha*rest + f.correction(w+rest)
	}
	if math.Abs(u)*math.Max(f.alpha, 1) < 0.4 {
		return -f.base - t*t/2 + f.logRemainder(u)
	}
	l := math.Log1p(u)
	if f.a*l < -0.5 {
		// u < 0 and (1+u)^α is small enough to add up directly.
		return -f.base - t*t/2 + math.Log(math.Expm1(f.alpha*l)-f.alpha*u)
	}
	return -f.base - t*t/2 + f.alpha*l + f.correction(l)
}

// correction is log{ [(1+u)^α − 1 − αu] / (1+u)^α } with l = log(1+u): the factor is 1 − e^{−al} + a·e^{−al}(e^{−l} − 1).
func (f *integrand) correction(l float64) float64 {
	al := f.a * l
	switch {
	case al > 45:
		return 0
	case math.Abs(al) < 0.3 && math.Abs(l) < 0.3:
		// Both parts are small and nearly cancel: sum the series in u and divide the power out.
		return f.logRemainder(math.Expm1(l)) - f.alpha*l
	}
	e := math.Exp(-al)
	return math.Log(-math.Expm1(-al) + f.a*e*math.Expm1(-l))
}

// logRemainder is log Σ_{k≥2} C(α,k)u^k for small u.
func (f *integrand) logRemainder(u float64) float64 {
	if u == 0 {
		return math.Inf(-1)
	}
	sum, term := 1.0, 1.0
	for k := 2.0; k < 400; k++ {
		term *= (f.alpha - k) / (k + 1) * u
		sum += term
		if math.Abs(term) < 1e-18*math.Abs(sum) {
			break
		}
	}
	return math.Log(f.alpha) + math.Log(f.a) + 2*math.Log(math.Abs(u)) - math.Ln2 + math.Log(sum)
}

// trapezoid is log of h·Σ f(ih)·(2π)^{−1/2}. The nodes are found by walking away from the lowest and the highest stationary point
// (there is at most one more in between, a minimum) until the integrand has dropped by nodeFloor.
func (f *integrand) trapezoid(h float64) float64 {
	low, high := f.stationary()
	if f.at(high) >= f.at(low) {
		f.base = f.height
	}
	g := &grid{f: f, h: h, best: math.Max(f.at(low), f.at(high))}
	a, b := math.Round(low/h), math.Round(high/h)
	g.walk(a, -1, math.Inf(-1))
	last := g.walk(a+1, 1, math.Inf(1))
	if b > last {
		g.walk(b, 1, math.Inf(1))
		if b-1 > last {
			g.walk(b-1, -1, last)
		}
	}
	if g.over {
		return math.Inf(1)
	}
	return f.base + logSumExp(g.vals) + math.Log(h) - 0.5*math.Log(2*math.Pi)
}

// grid collects nodes; best is the largest value seen.
type grid struct {
	f    *integrand
	h    float64
	best float64
	over bool
	vals []float64
}

// walk visits nodes i, i+step, … up to (not including) stop, and returns the last index visited. It ends after three falling nodes in a
// row far below the best. One such node is not enough: the integrand has a double zero at u = 0, which a node can hit.
func (g *grid) walk(i, step, stop float64) float64 {
	prev := math.Inf(1)
	for n, low := 0, 0; i != stop; n++ {
		if n > maxNodes {
			g.over = true
			return i
		}
		v := g.f.at(i * g.h)
		g.vals = append(g.vals, v)
		g.best = math.Max(g.best, v)
		if v < g.best-nodeFloor && v <= prev {
			low++
		} else {
			low = 0
		}
		if low >= 3 {
			return i
		}
		prev = v
		i += step
	}
	return i - step
}

// stationary returns the smallest and the largest solution of t = (α/s)·p(t), p the posterior probability that the record was
// sampled. The right side increases in t, so iterating from either end climbs or falls to it monotonically.
func (f *integrand) stationary() (low, high float64) {
	logOdds := math.Log(f.q) - math.Log1p(-f.q)
	next := func(t float64) float64 {
		return f.peak / (1 + math.Exp(-(t/f.s - f.half + logOdds)))
	}
	low, high = 0, f.peak
	for i := 0; i < 60; i++ {
		n := next(low)
		if n-low < 0.25 {
			low = n
			break
		}
		low = n
	}
	for i := 0; i < 60; i++ {
		n := next(high)
		if high-n < 0.25 {
			high = n
			break
		}
		high = n
	}
	return low, high
}
