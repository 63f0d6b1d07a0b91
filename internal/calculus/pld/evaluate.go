package pld

import "math"

// reader reads bounds on the profile of a sum off its tilted law.
type reader struct {
	t     *tilted
	inf   float64 // mass of infinite loss
	side  side
	slack float64 // what rounding may have hidden of the loss of the sum
}

// share is the part of log masses at y: log of e^(K-θy).
func (t *tilted) logWeight(y float64) float64 { return t.k - t.theta*y }

// weightNorm bounds the Euclidean norm of e^(-θx)(1-e^-x) over n lattice points x > 0:
// a function with one hump, so its sum of squares is at most integral and peak.
func weightNorm(theta, h, n float64) float64 {
	peak := math.Exp(2 * logPeak(theta))
	n *= peak
	if a := 2 * theta; a > 0 {
		n = math.Min(n, 2/(a*(a+1)*(a+2)*h)+peak)
	}
	return math.Sqrt(n)
}

// extra is the correction of the finite part at eps, in units of e^(K-θ·eps): positive for an
// upper bound, negative for a lower one.
func (r *reader) extra(eps float64) float64 {
	t := r.t
	// The error of the masses meets the weights e^(-θx)(1-e^-x), by Cauchy and Schwarz.
	error := t.fault2 * weightNorm(t.theta, t.h, float64(len(t.r)))
	if r.side == upper {
		end := t.y0 + float64(len(t.r))*t.h
		return error + t.beyond*math.Exp(-t.theta*math.Max(0, end-eps))
	}
	// The wrapped mass may sit where e^(-θx)(1-e^-x) is largest.
	return -error - t.wrapped*math.Exp(logPeak(t.theta))
}

func (r *reader) total(logScale, finite float64) float64 {
	finite = math.Max(0, finite)
	if r.side == upper {
		d := math.Exp(logScale) * finite
		if finite > 0 && d < 1e-290 {
			d = d*(1+1e-6) + 5e-324
		}
		return math.Min(1, d*math.Exp(r.t.growth)+r.inf)
	}
	return math.Max(0, math.Exp(logScale-r.t.growth)*finite*(1-1e-13)) + r.inf
}

// delta is the bound on the profile at eps, wherever eps lies.
func (r *reader) delta(eps float64) (bound, off float64) {
	t := r.t
	if r.side == upper {
		eps -= r.slack
	} else {
		eps += r.slack
	}
	extra := r.extra(eps)
	finite := extra
	ratio := math.Exp(-t.theta * t.h)
	i := max(0, int(math.Ceil((eps-t.y0)/t.h)))
	w := 0.0
	for j := i; j < min(len(t.r), t.top+1); j++ {
		y := t.y0 + float64(j)*t.h - eps
		if y <= 0 {
			continue
		}
		if (j-i)%64 == 0 || w == 0 {
			w = math.Exp(-t.theta * y)
		}
		finite -= t.r[j] * w * math.Expm1(-y)
		w *= ratio
	}
	if r.side == upper && eps < t.y0 && t.wrapped > t.beyond {
		return 1, 1 // left of the window: nothing is known
	}
	log := t.logWeight(eps)
	return r.total(log, finite), math.Exp(log) * math.Abs(extra)
}

// epsilon is the least eps (upper) at which the bound falls to delta, found by a walk
// down the window; ok is false where it lies left of the window or delta is below
// what can be certified.
func (r *reader) epsilon(delta float64) (eps float64, ok bool) {
	t := r.t
	if !(r.total(math.Inf(-1), 0) <= delta) {
		return math.Inf(1), r.side == upper
	}
	// a = Σ mass·e^(-θ(y-y_i)), d = the same with the factor 1-e^(y_i-y), over y > y_i.
	a, d := 0.0, 0.0
	tilt, dot := math.Exp(-t.theta*t.h), math.Exp(-t.h)
	gap := -math.Expm1(-t.h)
	previous := -1.0
	for i := min(len(t.r)-1, t.top); i >= 0; i-- {
		y := t.y0 + float64(i)*t.h
		total := r.total(t.logWeight(y), d+r.extra(y))
		if !(total <= delta) {
			if previous < 0 {
				return math.Inf(1), r.side == upper // beyond the window
			}
			// Linear in e^eps between the points: a chord.
			x := (total - delta) / (total - previous)
			eps = y + math.Log1p(x*math.Expm1(t.h))
			if r.side == upper {
				return eps + r.slack + 4*unit*math.Abs(eps), true
			}
			return eps - r.slack - 4*unit*math.Abs(eps), true
		}
		previous = total
		// Step down to y - h.
		a += t.r[i]
		d = tilt * (gap*a + dot*d)
		a *= tilt
	}
	return t.y0, false
}

// wave reads bounds on the profile of a sum off a series.
type wave struct {
	t     *series
	inf   float64
	side  side
	slack float64
}

// at is the bound on the profile at index i of the window.
func (r *wave) at(i float64) (bound, off float64) {
	t := r.t
	y := t.y0 + i*t.h
	sum, off := t.finite(i)
	log := t.k - t.theta*y
	if r.side == upper {
		end := t.y0 + t.n*t.h
		off += t.beyond * math.Exp(-t.theta*math.Max(0, end-y))
		sum = math.Max(0, sum) + off
		d := math.Exp(log) * sum
		if d < 1e-290 {
			d = d*(1+1e-6) + 5e-324
		}
		return math.Min(1, d*math.Exp(t.growth)+r.inf), math.Exp(log) * off
	}
	sum -= off + t.wrapped*math.Exp(logPeak(t.theta))
	return math.Max(0, math.Exp(log-t.growth)*sum) + r.inf, math.Exp(log) * off
}

func (r *wave) epsilon(delta float64) (eps float64, ok bool) {
	t := r.t
	if !(r.inf <= delta) {
		return math.Inf(1), r.side == upper
	}
	hi := math.Min(t.top, t.n-2)
	below, _ := r.at(hi)
	if !(below <= delta) {
		return math.Inf(1), r.side == upper
	}
	// Down from the right: far to the left the budgets of error swamp a lower bound.
	lo, above, stride := hi, below, math.Ceil(t.n/32)
	for above <= delta {
		if lo == 0 {
			return t.y0, false
		}
		hi, below = lo, above
		lo = math.Max(0, lo-stride)
		above, _ = r.at(lo)
	}
	// Any bracket with the bound above delta at lo and not above it at hi will do.
	for hi-lo > 1 {
		mid := math.Floor((lo + hi) / 2)
		if v, _ := r.at(mid); !(v <= delta) {
			lo, above = mid, v
		} else {
			hi, below = mid, v
		}
	}
	x := (above - delta) / (above - below)
	eps = t.y0 + lo*t.h + math.Log1p(x*math.Expm1(t.h))
	if r.side == upper {
		return eps + r.slack + 4*unit*math.Abs(eps), true
	}
	return eps - r.slack - 4*unit*math.Abs(eps), true
}

// delta bounds the profile at eps by its value at the lattice point below (upper) or
// above (lower), and by the chord between them.
func (r *wave) delta(eps float64) (bound, off float64) {
	t := r.t
	if r.side == upper {
		eps -= r.slack
	} else {
		eps += r.slack
	}
	i := math.Floor((eps - t.y0) / t.h)
	if i < 0 {
		if r.side == upper {
			return 1, 1
		}
		i = 0
	}
	if i >= t.n-2 {
		if r.side == upper {
			return r.at(t.n - 2)
		}
		return r.inf, 0
	}
	x := math.Expm1(math.Max(0, eps-t.y0-i*t.h)) / math.Expm1(t.h)
	x = math.Min(1, x)
	v, off := r.at(i)
	next, more := r.at(i + 1)
	return v*(1-x) + next*x, off*(1-x) + more*x
}
