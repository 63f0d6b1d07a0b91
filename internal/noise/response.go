package noise

import "errors"

// RandomizedResponse returns category with probability num/den, else one of the
// k − 1 other categories, each as likely.
//
// # Contract
//
// Categories are 0..k−1. P(category) = num/den and P(other) =
// (1 − num/den)/(k − 1), exactly. It is ε-locally differentially private for
// e^ε = max(r, 1/r), r = num·(k − 1)/(den − num); the caller rounds num/den
// towards 1/k (P17), and keeps 1/k ≤ num/den < 1. Proof:
// randomized_response.proof.md.
func RandomizedResponse(s *Source, category, k int, num, den uint64) (int, error) {
	if s == nil {
		return 0, errNoSource
	}
	if k < 2 || den == 0 || num > den {
		return 0, errors.New("noise: randomized response needs at least 2 categories and a keep probability in [0, 1]")
	}
	if category < 0 || category >= k {
		return 0, errors.New("noise: a category lies outside the declared range")
	}
	if s.Uint64n(den) < num {
		return category, s.err
	}
	other := int(s.Uint64n(uint64(k - 1)))
	if other >= category {
		other++
	}
	return other, s.err
}
