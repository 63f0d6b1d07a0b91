package pld

import "math"

// chernoff is the y where Chernoff's bound on P_θ(Y ≥ y) (sign 1) or P_θ(Y ≤ y)
// (sign -1) is e^-digits, or an end of the support.
func (s *sum) chernoff(theta, sign, digits float64) float64 {
	k0, _, v := s.cumulants(theta)
	first, last := s.span()
	end := last
	if sign < 0 {
		end = first
	}
	if v == 0 {
		return end
	}
	// bound(t) = K(θ+t) - K(θ) - t·y at the best y = K'(θ+t).
	at := func(t float64) (bound float64, ok bool) {
		k, m, _ := s.cumulants(theta + sign*t)
		if math.IsInf(k, 0) || math.IsNaN(k) {
			return 0, false
		}
		return k - k0 - sign*t*m, true
	}
	lo, hi := 0.0, math.Sqrt(2*digits/v)
	for i := 0; ; i++ {
		b, ok := at(hi)
		if !ok || i > 200 {
			return end
		}
		if b <= -digits {
			break
		}
		if i > 50 {
			return end // the bound stays above: an atom sits on the end
		}
		lo, hi = hi, hi*2
	}
	for range 12 {
		mid := (lo + hi) / 2
		if b, _ := at(mid); b <= -digits {
			hi = mid
		} else {
			lo = mid
		}
	}
	// Any t and y with K(θ+t)-K(θ)-t·y = -digits will do.
	k, _, _ := s.cumulants(theta + sign*hi)
	y := (k - k0 + digits) / (sign * hi)
	return math.Max(first, math.Min(last, y))
}

// outside bounds the masses below lo and above hi under the tilt.
func (s *sum) outside(theta, lo, hi, first, last float64) (below, above float64) {
	k0, mean, v := s.cumulants(theta)
	below, above = 1, 1
	if lo <= first {
		below = 0
	}
	if hi >= last {
		above = 0
	}
	if v == 0 {
		return below, above
	}
	for _, y := range []float64{lo, hi} {
		t := (y - mean) / v
		for _, x := range []float64{t / 2, t, 2 * t} {
			k, _, _ := s.cumulants(theta + x)
			if b := math.Exp(k-k0-x*y) * (1 + 1e-6); x > 0 && y == hi && b < above {
				above = b
			} else if x < 0 && y == lo && b < below {
				below = b
			}
		}
	}
	return below, above
}

// tilts are values of θ whose means cover [lo, hi] in steps of a few deviations.
func (s *sum) tilts(lo, hi float64) []float64 {
	out := []float64{0}
	for _, sign := range []float64{1, -1} {
		theta := 0.0
		for range 60 {
			_, mean, v := s.cumulants(theta)
			sd := math.Sqrt(v)
			if v == 0 || math.IsNaN(v) || sign > 0 && mean+3*sd >= hi || sign < 0 && mean-3*sd <= lo {
				break
			}
			theta += sign * 4.5 / sd
			out = append(out, theta)
		}
	}
	return out
}
