package rdp

import "math"

// sumOrders is the largest integer order for which the binomial sum is used; above it the quadrature is cheaper.
const sumOrders = 128

// tinyNoise is the noise multiplier below which fractional orders are interpolated between integers instead of integrated: the
// integrand has singularities at distance π·s from the real axis, so the step would have to shrink with s.
const tinyNoise = 0.05

// PoissonGaussian is the exact curve of the Gaussian mechanism on a Poisson sample, at integer and fractional orders.
//
// # Contract
//
// Add-remove relation: every record enters independently with probability rate (or less), and noiseMultiplier is the standard
// deviation divided by the add-remove L2 sensitivity. The sample and its size stay secret. Proof: poissongaussian.proof.md.
func PoissonGaussian(rate, noiseMultiplier float64) Curve {
	if !(rate >= 0 && rate <= 1) || !(noiseMultiplier > 0) {
		return noBound
	}
	base := Gaussian(noiseMultiplier)
	if rate == 1 || math.IsInf(noiseMultiplier, 1) {
		return base
	}
	if rate == 0 {
		return domain(func(float64) float64 { return 0 })
	}
	m := &sampledGaussian{q: rate, s: noiseMultiplier}
	return domain(func(alpha float64) float64 {
		limit := base(alpha)
		if math.IsInf(alpha, 1) || math.IsInf(limit, 1) {
			return limit
		}
		return math.Min(outward(m.logMGF(alpha)/(alpha-1)), limit)
	})
}

// sampledGaussian evaluates log A(α), A(α) = E[((1−q) + q·e^{(2z−1)/(2s²)})^α] under z ~ N(0, s²).
type sampledGaussian struct{ q, s float64 }

func (m *sampledGaussian) logMGF(alpha float64) float64 {
	n := math.Floor(alpha)
	switch {
	case alpha == n && n <= sumOrders:
		return zhuWang(n, m.q, Gaussian(m.s), 0)
	case alpha == n || m.s >= tinyNoise:
		return m.logMGFIntegral(alpha)
	}
	// log A is convex in α and zero at 1.
	var low float64
	if n > 1 {
		low = m.logMGF(n)
	}
	f := alpha - n
	return (1-f)*low + f*m.logMGF(n+1)
}

// logExpm1 is log(e^x − 1) for x >= 0.
func logExpm1(x float64) float64 {
	if x > 40 {
		return x
	}
	return math.Log(math.Expm1(x))
}

// log1pExp is log(1 + e^x).
func log1pExp(x float64) float64 {
	if x > 40 {
		return x
	}
	return math.Log1p(math.Exp(x))
}

// logSumExp is log Σ e^x over xs, −Inf for none.
func logSumExp(xs []float64) float64 {
	top := math.Inf(-1)
	for _, x := range xs {
		top = math.Max(top, x)
	}
	if math.IsInf(top, 0) || math.IsNaN(top) {
		return top
	}
	var sum float64
	for _, x := range xs {
		sum += math.Exp(x - top)
	}
	return top + math.Log(sum)
}
