package rdp

import "math"

// WithoutReplacementGaussian is the curve of the Gaussian mechanism on a fixed-size sample without replacement, from its privacy
// profile (P42).
//
// # Contract
//
// Replace-one relation, noiseMultiplier the standard deviation divided by the replace-one L2 sensitivity of the query on the sample
// (any record replaced by any other of the domain); gamma = n/N. The sample stays secret. Or a Poisson sample of that rate under
// replace-one, and the larger of the sensitivities under both relations. Proof: worgaussian.proof.md.
func WithoutReplacementGaussian(gamma, noiseMultiplier float64) Curve {
	if !(gamma > 0 && gamma < 1) || !(noiseMultiplier > 0) || math.IsInf(noiseMultiplier, 1) {
		return PoissonGaussian(gamma, noiseMultiplier) // nothing or everything is released, or there is no bound
	}
	base, m := Gaussian(noiseMultiplier), &sampledGaussian{q: gamma, s: noiseMultiplier}
	f := fixedSize{m, m.cells(-m.middle()-farTail, 0), m.cells(0, m.middle()+farTail)}
	return domain(func(alpha float64) float64 {
		limit := base(alpha)
		if math.IsInf(alpha, 1) || math.IsInf(limit, 1) {
			return limit
		}
		return math.Min(outward(f.logMoment(alpha)/(alpha-1)), limit)
	})
}

// fixedSize bounds the moment of a draw of fixed size. With u = q(R − 1), R the likelihood ratio, it is the moment of a Poisson draw
// less the part of it with u < 0, and more by what the other direction adds where u > 0.
type fixedSize struct {
	*sampledGaussian
	below, above []cell
}

// farTail is the number of standard deviations after which cells end.
const farTail = 9

// middle is the distance, in standard deviations, of the middle between the two means from either.
func (m *sampledGaussian) middle() float64 { return 1 / m.s / 2 }

// cell is an interval of outputs; near and far are u at its lower and upper end.
type cell struct {
	mass, unit float64 // the probability of the cell without and with the unit
	share      float64 // of the mass, at the upper end, if it is spread over both ends so that the mean output stays
	near, far  float64
}

// cells cuts the outputs between two distances from the middle.
func (m *sampledGaussian) cells(from, to float64) []cell {
	const n = 96
	out, width := make([]cell, n), (to-from)/n
	for i := range out {
		x, y := from+float64(i)*width, from+float64(i+1)*width
		a, b := x+m.middle(), y+m.middle()
		c := cell{mass: between(a, b), unit: between(a-1/m.s, b-1/m.s), near: m.q * math.Expm1(x/m.s), far: m.q * math.Expm1(y/m.s)}
		mean := math.Exp(-a*a/2) * -math.Expm1((a-b)*(a+b)/2) / math.Sqrt(2*math.Pi) / c.mass
		if c.share = math.Min(1, math.Max(0, (mean-a)/width+1e-9)); !(c.mass > 1e-290) {
			c.share = math.NaN() // a number that has lost its digits: the bounds that need it fall away
		}
		out[i] = c
	}
	return out
}

// between is the probability of a standard normal number in [a, b].
func between(a, b float64) float64 {
	if a < 0 && b <= 0 {
		a, b = -b, -a
	}
	return (math.Erfc(a/math.Sqrt2) - math.Erfc(b/math.Sqrt2)) / 2
}

// logMoment is log(1 + E_Q[L^α + L^{1−α} − L − 1; L > 1]), L = 1 + u.
func (f fixedSize) logMoment(alpha float64) float64 {
	logA := f.logMGF(alpha) * (1 + margin)
	more := f.mirrored(alpha) * (1 + margin)
	if logA > 30 {
		return logA + math.Log1p(more*math.Exp(-logA))
	}
	for _, c := range f.below {
		// u is convex in the output and the remainder falls in u and is convex, so this is too little.
		if part := c.mass * remainder(alpha, c.near+c.share*(c.far-c.near)); part > 0 {
			more -= part * (1 - margin)
		}
	}
	return math.Log1p(math.Expm1(logA) + more)
}

// mirrored is at least E_Q[L^{1−α} − 1 + (α−1)u; u > 0]: the least of three bounds.
func (f fixedSize) mirrored(alpha float64) float64 {
	a, sum := alpha-1, 0.0
	for _, c := range f.above {
		linear := a * f.q * c.unit
		if chord := c.mass * ((1-c.share)*remainder(-a, c.near) + c.share*remainder(-a, c.far)); chord < linear {
			linear = chord
		}
		sum += linear
	}
	sum += a * f.q * math.Erfc(farTail/math.Sqrt2) / 2
	quadratic := alpha * a / 2 * f.q * f.q * math.Expm1(1/f.s/f.s) * math.Erfc(-3*f.middle()/math.Sqrt2) / 2
	return math.Min(sum, quadratic)
}

// remainder is (1+u)^b − 1 − bu, which is not negative for b outside of [0, 1].
func remainder(b, u float64) float64 {
	if math.Abs(u)*math.Max(math.Abs(b), 1) >= 0.3 {
		return math.Expm1(b*math.Log1p(u)) - b*u
	}
	sum, term := 0.0, b*u
	for k := 2.0; k < 60; k++ {
		term *= (b - k + 1) / k * u
		sum += term
		if math.Abs(term) < 1e-18*math.Abs(sum) {
			break
		}
	}
	return sum
}
