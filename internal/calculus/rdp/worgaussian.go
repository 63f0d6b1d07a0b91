package rdp

import (
	"math"
	"sync"
)

// WithoutReplacementGaussian is the tighter curve of the Gaussian mechanism on a fixed-size sample without replacement (Wang, Balle
// and Kasiviswanathan 2019, Theorem 27): the j-th moment of |P/Q − 1| is bounded through its even neighbours instead of by 2·E(P/Q)^j.
//
// # Contract
//
// Replace-one relation, noiseMultiplier the standard deviation divided by the replace-one L2 sensitivity of the query on the sample
// (any record replaced by any other of the domain); gamma = n/N. The sample stays secret. Proof: wor.proof.md.
func WithoutReplacementGaussian(gamma, noiseMultiplier float64) Curve {
	if !(gamma >= 0 && gamma <= 1) || !(noiseMultiplier > 0) {
		return noBound
	}
	base := Gaussian(noiseMultiplier)
	if gamma == 1 || math.IsInf(noiseMultiplier, 1) {
		return base
	}
	if gamma == 0 {
		return domain(func(float64) float64 { return 0 })
	}
	m := &centralMoments{s: noiseMultiplier, memo: map[float64]float64{}}
	doubled := func(j float64) float64 { return math.Ln2 + j/m.s*((j-1)/m.s)/2 }
	// Half the sum of the logarithms at the even neighbours: the Cauchy–Schwarz bound at odd j.
	paired := func(j float64) float64 {
		lo, hi := 2*math.Floor(j/2), 2*math.Ceil(j/2)
		if lo == hi {
			return math.Log(4) + m.log(lo)
		}
		return math.Log(4) + (m.log(lo)+m.log(hi))/2
	}
	least := func(j float64) float64 { return math.Min(doubled(j), paired(j)) }
	return sampled(base, gamma, func(n float64) float64 {
		b := &blockSum{n: n, logRatio: math.Log(gamma), g: least, envelopes: []func(float64) float64{doubled, paired}}
		return log1pExp(b.log(2))
	})
}

// centralMoments evaluates log E_Q[(P/Q − 1)^l] for even l, P = N(1, s²), Q = N(0, s²), by the trapezoid rule. The integrand is never negative,
// unlike the forward differences of e^{(l−1)ε(l)} it equals, which lose every digit for large s or l.
type centralMoments struct {
	s    float64
	mu   sync.Mutex
	memo map[float64]float64
}

func (m *centralMoments) log(l float64) float64 {
	if l/m.s > farthestPeak {
		return math.Inf(1)
	}
	m.mu.Lock()
	v, ok := m.memo[l]
	m.mu.Unlock()
	if ok {
		return v
	}
	v = m.integrate(l)
	m.mu.Lock()
	m.memo[l] = v
	m.mu.Unlock()
	return v
}

// height is log E_Q[(P/Q)^l], about the size of the right-hand peak. It is kept out of the nodes, which would otherwise lose their digits
// to it.
func (m *centralMoments) height(l float64) float64 { return l / m.s * ((l - 1) / m.s) / 2 }

// at is −t²/2 + l·log|e^w − 1| − height with w = t/s − 1/(2s²).
func (m *centralMoments) at(l, t float64) float64 {
	w := t/m.s - 1/m.s/m.s/2
	if w > 1 {
		d := t - l/m.s
		return -d*d/2 + l*math.Log1p(-math.Exp(-w))
	}
	if w == 0 {
		return math.Inf(-1)
	}
	return -t*t/2 + l*math.Log(math.Abs(math.Expm1(w))) - m.height(l)
}

// integrate sums the nodes around the two maxima, one on either side of the zero of e^w − 1. Either side is log-concave, so each walk
// away from a maximum only falls.
func (m *centralMoments) integrate(l float64) float64 {
	const h = 0.4
	zero := 1 / m.s / 2
	reach := math.Sqrt(2*l) + l/m.s + zero + 2
	var vals []float64
	best := math.Inf(-1)
	for side := 1.0; side >= -1; side -= 2 {
		peak := math.Round(m.peak(l, zero, side*reach) / h)
		for step := -1.0; step <= 1; step += 2 {
			i := peak
			if step > 0 {
				i++
			}
			for ; (i*h-zero)*side > 0; i += step {
				v := m.at(l, i*h)
				vals = append(vals, v)
				best = math.Max(best, v)
				if v < best-nodeFloor && math.Abs(i-peak) > 2 {
					break
				}
			}
		}
	}
	return m.height(l) + logSumExp(vals) + math.Log(h) - 0.5*math.Log(2*math.Pi)
}

// peak bisects for the zero of −t + (l/s)/(1 − e^{−w}), which falls in t on either side of zero.
func (m *centralMoments) peak(l, zero, reach float64) float64 {
	near, far := 0.0, reach
	for i := 0; i < 60 && math.Abs(far-near) > 0.05; i++ {
		d := (near + far) / 2
		slope := -(zero + d) - l/m.s/math.Expm1(-d/m.s)
		if slope*reach > 0 {
			near = d
		} else {
			far = d
		}
	}
	return zero + (near+far)/2
}
