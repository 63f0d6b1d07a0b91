package amplify

import "math"

// PoissonPoisson is the two-stage Poisson design: every cluster is kept with probability p, every record of a kept cluster with
// probability q, no cluster holds more than m records. With e2 = log(1 + q(e^ε − 1)) the population is guaranteed
// log(1 + (e^{e2} − 1)·p/(p + (1−p)e^{−(m−1)e2})).
//
// # Contract
//
// Add-remove of one record, which joins or leaves a cluster that exists in both data sets or appears with it. The cap m is enforced
// on the data before drawing, without regard to values. The mechanism is eps-differentially private under add-remove on the sample.
// Proof: twostage.proof.md.
func PoissonPoisson(p, q float64, m int64, eps float64) float64 {
	if !rate(p) || !rate(q) || m < 1 || !(eps >= 0) {
		return math.Inf(1)
	}
	e2 := Epsilon(q, eps)
	if math.IsInf(e2, 1) {
		return e2
	}
	return climb(p, e2, scale(float64(m), e2))
}

// PoissonPoissonSample inverts [PoissonPoisson], rounded down.
func PoissonPoissonSample(p, q float64, m int64, target float64) float64 {
	if !rate(p) || !rate(q) || m < 1 || !(target > 0) {
		return 0
	}
	return Invert(target, SampleEpsilon(times(p, q), target), func(e float64) float64 { return PoissonPoisson(p, q, m, e) })
}
