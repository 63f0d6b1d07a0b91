package pld

import (
	"math"
	"slices"
)

// sum is a sum of independent lattice losses with one step h.
type sum struct {
	parts []lattice
	h     float64
	work  *effort
}

// chunk is a number of cells of a lattice that are looked at together.
const chunk = 16

// peaks returns the logarithm of the largest mass of each chunk, found once: a query asks for
// many tilts.
func (l *lattice) peaks() []float64 {
	if l.logs == nil {
		for i := 0; i < len(l.p); i += chunk {
			l.logs = append(l.logs, math.Log(slices.Max(l.p[i:min(i+chunk, len(l.p))])))
		}
	}
	return l.logs
}

// cumulants are k(θ) = log Σ p·e^(θl) of one part and its first two derivatives.
func (l *lattice) cumulants(theta float64) (k, mean, variance float64) {
	peak, heavy := math.Inf(-1), 0
	step := theta * l.h
	base := theta * l.first()
	for j, log := range l.peaks() {
		if v := log + base + step*float64(j*chunk); v > peak {
			peak, heavy = v, j*chunk
		}
	}
	if math.IsInf(peak, -1) {
		return peak, l.first(), 0
	}
	ratio := math.Exp(step)
	grows := math.Abs(step)*chunk > 300
	// Moments about the heaviest chunk keep their digits.
	shift := float64(heavy)
	var s0, s1, s2 float64
	for i := 0; i < len(l.p); i += chunk {
		e := base + step*float64(i) - peak
		if e < -800-chunk*math.Abs(step) {
			continue
		}
		w := math.Exp(e)
		for j, p := range l.p[i:min(i+chunk, len(l.p))] {
			if grows {
				w = math.Exp(base + step*float64(i+j) - peak)
			}
			if p > 0 {
				x := float64(i+j) - shift
				c := w * p
				s0 += c
				c *= x
				s1 += c
				s2 += c * x
			}
			w *= ratio
		}
	}
	m := s1 / s0
	return peak + math.Log(s0), l.first() + (shift+m)*l.h, math.Max(0, (s2/s0-m*m)*l.h*l.h)
}

// cumulants of the sum.
func (s *sum) cumulants(theta float64) (k, mean, variance float64) {
	if s.work != nil {
		s.work.work += 3 * float64(s.cells())
	}
	for i := range s.parts {
		a, b, c := s.parts[i].cumulants(theta)
		n := s.parts[i].n
		k, mean, variance = k+n*a, mean+n*b, variance+n*c
	}
	return k, mean, variance
}

// cells is the number of lattice points of all parts.
func (s *sum) cells() int {
	n := 0
	for i := range s.parts {
		n += len(s.parts[i].p)
	}
	return n
}

// span is the smallest and largest finite loss of the sum.
func (s *sum) span() (lo, hi float64) {
	for i := range s.parts {
		lo += s.parts[i].n * s.parts[i].first()
		hi += s.parts[i].n * s.parts[i].last()
	}
	return lo, hi
}

// infinite is the probability that some part has infinite loss.
func (s *sum) infinite() float64 {
	log := 0.0
	for i := range s.parts {
		log += s.parts[i].n * math.Log1p(-math.Min(1, s.parts[i].inf))
	}
	return -math.Expm1(log)
}

// infiniteQ is the same for the second distribution and minus infinity.
func (s *sum) infiniteQ() float64 {
	log := 0.0
	for i := range s.parts {
		log += s.parts[i].n * math.Log1p(-math.Min(1, s.parts[i].infQ))
	}
	return -math.Expm1(log) * (1 + 1e-12)
}

// bound is Chernoff's bound on the profile, δ(eps) ≤ e^(K(θ)-θ·eps)·peak(θ) + mass of
// infinite loss, solved for the best θ: at delta (without the infinite mass) it holds
// at the eps returned. The tilt is the one of the answer, near enough.
func (s *sum) bound(delta float64) (theta, eps float64) {
	logDelta := math.Log(delta)
	_, _, v := s.cumulants(0)
	_, last := s.span()
	if v == 0 {
		return 0, last
	}
	best, bestTheta := last, 0.0
	// value is K - θK' - log δ, which falls in θ; the best θ is where it is zero.
	value := func(t float64) float64 {
		k, m, _ := s.cumulants(t)
		if e := (k + logPeak(t) - logDelta) / t; e < best {
			best, bestTheta = e, t
		}
		return k - t*m - logDelta
	}
	f0 := -logDelta
	lo, hi, fl := 0.0, math.Min(math.Sqrt(2*math.Max(f0, 0.1)/v), 40/s.h), f0
	fh := value(hi)
	// Beyond 40 per cell only the largest loss has weight: nothing is to be gained.
	for fh > 0 && hi*s.h < 40 {
		lo, fl = hi, fh
		hi *= 2
		fh = value(hi)
	}
	for i := 0; i < 20 && hi-lo > 0.02*hi && fh < 0; i++ {
		// About a parabola in θ: interpolate in the root.
		mid := (lo + hi) / 2
		if a, b := math.Sqrt(f0-fl), math.Sqrt(f0-fh); i%3 != 2 && b > a && f0 > fl {
			mid = lo + math.Max(0.05, math.Min(0.95, (math.Sqrt(f0)-a)/(b-a)))*(hi-lo)
		}
		f := value(mid)
		if math.Abs(f) < 0.02 {
			break
		}
		if f > 0 {
			lo, fl = mid, f
		} else {
			hi, fh = mid, f
		}
	}
	return bestTheta, math.Min(best, last)
}

// logPeak is the log of the largest value of e^(-θx)(1-e^-x) over x ≥ 0.
func logPeak(theta float64) float64 {
	if theta == 0 {
		return 0
	}
	return -theta*math.Log1p(1/theta) - math.Log1p(theta)
}

// halfMills is e^(x²/2)·Φ(-x), x ≥ 0.
func halfMills(x float64) float64 {
	if x < 5 {
		return math.Exp(x*x/2) * upperTail(x)
	}
	return 1 / (math.Sqrt(2*math.Pi) * (x + millsRest(x)))
}

// saddle is the tilt θ ≥ 0 with K'(θ) near eps.
func (s *sum) saddle(eps float64) float64 {
	_, m, v := s.cumulants(0)
	if m >= eps || v == 0 {
		return 0
	}
	lo, hi := 0.0, math.Min((eps-m)/v, 40/s.h)
	for hi*s.h < 40 {
		if _, m, v := s.cumulants(hi); m >= eps || v == 0 {
			break
		}
		lo, hi = hi, 2*hi
	}
	for i := 0; i < 25 && hi-lo > 1e-2*hi; i++ {
		mid := (lo + hi) / 2
		if _, m, _ := s.cumulants(mid); m < eps {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
