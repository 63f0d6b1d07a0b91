package amplify

import "math"

// maxTerms bounds the binomial sum; a design with more expected copies of one record than this is charged without amplification.
const maxTerms = 1 << 16

// WithReplacementDelta is the delta at ε' = [Epsilon](q, eps), q = [WithReplacementRate](n, of), of n draws of one of `of` records with
// replacement: Σ_k C(n,k) (1/N)^k (1−1/N)^{n−k} δ_{M,k}(ε), rounded up, with everything the summation leaves out charged in full.
//
// # Contract
//
// Replace-one. group(k) bounds the delta at eps of the mechanism on multisets of fixed size n when k members are replaced at once;
// it is non-decreasing in k. Proof: replacement.proof.md.
func WithReplacementDelta(n, of int64, eps float64, group func(k int64) float64) float64 {
	if n < 1 || of < 1 || !(eps >= 0) {
		return 1
	}
	if of == 1 {
		return probability(group(n))
	}
	q := WithReplacementRate(n, of)
	mean := float64(n) / float64(of)
	if mean > maxTerms/4 {
		return q
	}
	logP, sum := float64(n)*math.Log1p(-1/float64(of)), 0.0
	for k := int64(1); ; k++ {
		logP += math.Log(float64(n-k+1)) - math.Log(float64(k)) - math.Log(float64(of-1))
		p := math.Exp(logP)
		d := probability(group(k))
		sum += p * d
		// From here on the terms fall at least geometrically with this ratio, and no delta exceeds 1.
		ratio := float64(n-k) / float64(k+1) / float64(of-1)
		tail := 1.0
		if ratio < 1 {
			tail = p * ratio / (1 - ratio)
		}
		if tail <= 1e-18*sum || tail < 1e-320 || d >= 1 && ratio < 0.5 || k == maxTerms {
			return math.Min(q, probability(up((sum+tail)*(1+sumSlack))))
		}
	}
}

// sumSlack covers the rounding of at most maxTerms accumulated logarithms of size at most 50 each.
const sumSlack = 1e-8
