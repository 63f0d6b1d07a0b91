package pld

import "math"

// sum is a sum of independent lattice losses with one step h.
type sum struct {
	parts []lattice
	h     float64
}

// cumulants are k(θ) = log Σ p·e^(θl) of one part and its first two derivatives.
func (l *lattice) cumulants(theta float64) (k, mean, variance float64) {
	const chunk = 16
	peak := math.Inf(-1)
	step := theta * l.h
	base := theta * l.first()
	for i := 0; i < len(l.p); i += chunk {
		m := 0.0
		for _, p := range l.p[i:min(i+chunk, len(l.p))] {
			m = math.Max(m, p)
		}
		if m > 0 {
			peak = math.Max(peak, math.Log(m)+base+step*float64(i))
		}
	}
	if math.IsInf(peak, -1) {
		return peak, l.first(), 0
	}
	ratio := math.Exp(step)
	grows := math.Abs(step)*chunk > 300
	var s0, s1, s2, shift float64
	// Moments about the first cell that matters keep their digits.
	for pass := 0; pass < 2; pass++ {
		s0, s1, s2 = 0, 0, 0
		for i := 0; i < len(l.p); i += chunk {
			e := base + step*float64(i) - peak
			if e < -800-float64(chunk)*math.Abs(step) {
				continue
			}
			w := math.Exp(e)
			for j := i; j < min(i+chunk, len(l.p)); j++ {
				if grows {
					w = math.Exp(base + step*float64(j) - peak)
				}
				if p := l.p[j]; p > 0 {
					x := float64(j) - shift
					c := w * p
					s0 += c
					s1 += c * x
					s2 += c * x * x
				}
				w *= ratio
			}
		}
		if pass == 0 {
			shift = math.Round(s1 / s0)
		}
	}
	m := s1 / s0
	return peak + math.Log(s0), l.first() + (shift+m)*l.h, math.Max(0, (s2/s0-m*m)*l.h*l.h)
}

// cumulants of the sum.
func (s *sum) cumulants(theta float64) (k, mean, variance float64) {
	for i := range s.parts {
		a, b, c := s.parts[i].cumulants(theta)
		n := s.parts[i].n
		k, mean, variance = k+n*a, mean+n*b, variance+n*c
	}
	return k, mean, variance
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

// guess is the tilt θ whose saddle-point estimate of the profile at eps = K'(θ) is
// exp(logDelta), and that eps. A guess only: nothing is certified with it.
func (s *sum) guess(logDelta float64) (theta, eps float64) {
	value := func(t float64) (float64, float64) {
		k, m, v := s.cumulants(t)
		sd := math.Sqrt(v)
		// E_θ[e^(-θ(Y-eps))(1-e^(eps-Y))+] for a normal Y about eps.
		return k - t*m + math.Log(halfMills(t*sd)-halfMills((t+1)*sd)), m
	}
	_, _, v := s.cumulants(0)
	if v == 0 {
		lo, _ := s.span()
		return 0, lo
	}
	lo, hi := 0.0, 1/math.Sqrt(v)
	f0, m0 := value(0)
	if !(f0 > logDelta) {
		return 0, m0
	}
	var fh, mh, fl, ml = 0.0, 0.0, f0, m0
	for i := 0; ; i++ {
		fh, mh = value(hi)
		if !(fh > logDelta) || i > 60 {
			break
		}
		lo, fl, ml = hi, fh, mh
		hi *= 2
	}
	for i := 0; i < 12 && hi-lo > 1e-3*hi; i++ {
		// log δ is close to a parabola in θ: interpolate in √.
		mid := (lo + hi) / 2
		if d := math.Sqrt(f0-fh) - math.Sqrt(math.Max(0, f0-fl)); i%3 != 2 && d > 0 {
			w := (math.Sqrt(f0-logDelta) - math.Sqrt(math.Max(0, f0-fl))) / d
			mid = lo + math.Max(0.02, math.Min(0.98, w))*(hi-lo)
		}
		f, m := value(mid)
		if math.Abs(f-logDelta) < 1e-3 {
			return mid, m
		}
		if f > logDelta {
			lo, fl, ml = mid, f, m
		} else {
			hi, fh, mh = mid, f, m
		}
	}
	_ = ml
	return hi, mh
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
	lo, hi := 0.0, (eps-m)/v
	for i := 0; i < 60; i++ {
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
