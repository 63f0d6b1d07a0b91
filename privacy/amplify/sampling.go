package amplify

import "math"

// Rate is n/N rounded up: the inclusion probability of a record when n of N are drawn without replacement.
// It is 1 for arguments that describe no such draw.
func Rate(n, of int64) float64 {
	if n <= 0 || of <= 0 || n >= of {
		return 1
	}
	a, b := float64(n), float64(of)
	q := a / b
	if n < 1<<53 && of < 1<<53 && math.FMA(q, b, -a) == 0 {
		return q
	}
	return math.Min(1, math.Nextafter(math.Nextafter(q, 1), 1))
}

// WithReplacementRate is 1 − (1 − 1/N)^n rounded up: the probability that a record is drawn at least once in n draws of one of N.
func WithReplacementRate(n, of int64) float64 {
	if n <= 0 || of <= 1 {
		return 1
	}
	return math.Min(1, up(-math.Expm1(float64(n)*math.Log1p(-1/float64(of)))))
}

// Epsilon is ε' = log(1 + q(e^ε − 1)), rounded up: the guarantee of the population where a mechanism spends eps on a sample that
// holds each unit with probability at most q.
//
// # Contract
//
// The draw is secret and independent of the data, and every unit is in the sample with probability at most q. Each row of the
// sampling table (P3) names the relation:
//   - Poisson under add-remove: the mechanism's guarantee is under add-remove;
//   - Poisson under replace-one: under both (see [PoissonReplaceDelta] for delta);
//   - n of N without replacement, under replace-one or add-remove (N the public minimum): under replace-one.
//
// Proof: sampling.proof.md.
func Epsilon(q, eps float64) float64 {
	if !rate(q) || !(eps >= 0) {
		return math.Inf(1)
	}
	if q == 1 || eps == 0 || math.IsInf(eps, 1) {
		return eps
	}
	return math.Min(eps, math.Max(up(amplified(q, eps)), least))
}

// amplified is log(1 + q(e^ε − 1)) unrounded.
func amplified(q, eps float64) float64 {
	if eps < 700 {
		return math.Log1p(q * math.Expm1(eps))
	}
	// e^{−ε} is below 1e-304 here. Two large logarithms may cancel: their rounding is moved outward.
	l := math.Log(math.Max(q, tiny))
	x := l + eps
	x += 4e-16 * (eps - l)
	if x < 30 {
		return math.Log1p(math.Exp(x))
	}
	return x + math.Log1p(math.Exp(-x))
}

// SampleEpsilon inverts [Epsilon]: the largest eps a mechanism may spend on the sample, rounded down, so that the population is
// guaranteed target.
func SampleEpsilon(q, target float64) float64 {
	if !rate(q) || !(target > 0) {
		return 0
	}
	if q == 1 || math.IsInf(target, 1) {
		return target
	}
	var x float64
	if target < 1 {
		x = math.Log1p(math.Expm1(target) / q)
		if math.IsInf(x, 1) { // expm1/q overflows only for a subnormal rate
			x = math.Log(math.Expm1(target)) - math.Log(q)
		}
	} else {
		x = target - math.Log(q) + math.Log1p(-(1-q)*math.Exp(-target))
	}
	x = math.Max(down(x), target) // amplification never hurts
	return settle(x, target, func(e float64) float64 { return Epsilon(q, e) })
}

// Delta is q·δ, rounded up: the delta that goes with [Epsilon], except under Poisson and replace-one ([PoissonReplaceDelta]) and
// with replacement ([WithReplacementDelta]).
func Delta(q, delta float64) float64 {
	if !rate(q) || !(delta >= 0) {
		return 1
	}
	if q == 1 || delta == 0 {
		return probability(delta)
	}
	return probability(math.Min(delta, math.Max(up(q*delta), least)))
}

// SampleDelta inverts [Delta], rounded down and at most 1.
func SampleDelta(q, target float64) float64 {
	if !rate(q) || !(target > 0) {
		return 0
	}
	if q == 1 {
		return probability(target)
	}
	x := math.Min(1, math.Max(down(target/q), target))
	return settle(x, target, func(d float64) float64 { return Delta(q, d) })
}

// Profile amplifies a whole profile: given δ_M(ε), an upper bound on the mechanism's delta on the sample, it returns the upper bound
// ε' ↦ q·δ_M(log(1 + (e^ε' − 1)/q)) on the population's.
//
// # Contract
//
// That of [Epsilon]. Proof: sampling.proof.md.
func Profile(q float64, delta func(eps float64) float64) func(eps float64) float64 {
	return func(eps float64) float64 {
		if !rate(q) || !(eps >= 0) {
			return 1
		}
		return Delta(q, delta(SampleEpsilon(q, eps)))
	}
}

// Beta is e^{ε'−ε} for ε' = log(1 + q(e^ε − 1)), that is q + (1−q)e^{−ε}: the weight of the replaced record in the rules that need
// two guarantees. It lies in [q, 1].
func Beta(q, eps float64) float64 {
	return math.Min(1, q+(1-q)*math.Exp(-eps))
}

// PoissonReplaceDelta is the delta of Poisson sampling under replace-one, at ε' = [Epsilon](q, eps):
// q·[(1−β)·δ_add-remove(ε) + β·δ_replace-one(ε)] with β = e^{ε'−ε}.
//
// # Contract
//
// The two deltas bound the same mechanism at the same eps under the two relations. The number of units in the population is public;
// the size of the sample is not. Proof: sampling.proof.md.
func PoissonReplaceDelta(q, eps, addRemove, replaceOne float64) float64 {
	if !rate(q) || !(eps >= 0) || !(addRemove >= 0) || !(replaceOne >= 0) {
		return 1
	}
	if q == 1 {
		return probability(replaceOne)
	}
	b := Beta(q, eps)
	if addRemove == 0 && replaceOne == 0 {
		return 0
	}
	// 1−β is evaluated as (1−q)(1−e^{−ε}), which does not cancel.
	d := q * (-(1-q)*math.Expm1(-eps)*addRemove + b*replaceOne)
	// A mean of two numbers is no more than the larger, whatever rounding says.
	return math.Min(probability(math.Max(up(d), least)), Delta(q, math.Max(addRemove, replaceOne)))
}

// PoissonReplacePure is the pure epsilon of Poisson sampling under replace-one for a mechanism that is addRemove- and
// replaceOne-differentially private under the two relations. It is at most [Epsilon](q, max) and less where the replaced record
// counts for more than an absent one.
//
// # Contract
//
// That of [PoissonReplaceDelta]. Proof: sampling.proof.md.
func PoissonReplacePure(q, addRemove, replaceOne float64) float64 {
	if !rate(q) || !(addRemove >= 0) || !(replaceOne >= 0) {
		return math.Inf(1)
	}
	// Replacing is at most a removal and an addition.
	r := math.Min(replaceOne, scale(2, addRemove))
	return math.Min(climb(q, r, addRemove), Epsilon(q, math.Max(r, addRemove)))
}
