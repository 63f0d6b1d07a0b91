package median

import "math"

// Rounding (smooth.proof.md, 4): the search works with a beta that is smaller by
// guard(beta), and its result is raised.
const (
	raise   = 1 + 0x1p-40
	minBeta = 0x1p-17
)

func guard(beta float64) float64 { return 0x1p-38 * (2 + 1/beta) }

// table is the sorted values with what stands before and after them.
type table struct {
	sorted       []float64
	lower, upper float64
}

// at is the value in place j, counted from 1.
func (t table) at(j int) float64 {
	switch {
	case j < 1:
		return t.lower
	case j > len(t.sorted):
		return t.upper
	}
	return t.sorted[j-1]
}

// smoothSensitivity bounds the quantile in place m of t.
//
// # Contract
//
// The sorted values lie in [lower, upper]; floor is public and positive, at least
// (upper − lower)·2^-42; beta ≥ 2^-17. The result bounds the local sensitivity of the
// quantile from above and is β-smooth, under both relations. But for rounding it
// is max(floor, S), S the smooth sensitivity of P13,
//
//	S = max_k e^{−kβ}·max_{t=0..k+1} (y_{m+t} − y_{m+t−k−1}).
//
// Proof: smooth.proof.md.
func (t table) smoothSensitivity(m int, beta, floor float64) float64 {
	s := search{table: t, m: m, beta: beta - guard(beta), best: floor / raise}
	s.prune()
	s.weigh()
	s.divide(0, s.right, 0, s.left)
	return math.Max(floor, s.best*raise)
}

// search maximises (y_{m+v} − y_{m−u})·e^{−(u+v−1)β} over 0 ≤ u ≤ left,
// 0 ≤ v ≤ right.
type search struct {
	table
	m           int
	beta        float64
	best        float64
	left, right int
	weight      []float64 // e^{−(j−1)β} for j = u + v
}

// prune finds how far from m the maximum may lie. No pair that is k+1 places wide
// is worth more than e^{−kβ} times the whole range; once that is no more than what
// has been found, all wider pairs are out.
func (s *search) prune() {
	centre, whole := s.at(s.m), s.upper-s.lower
	n := len(s.sorted)
	for k := 0; k <= n; k++ {
		w := math.Exp(-float64(k) * s.beta)
		if w*whole <= s.best {
			s.left, s.right = min(s.m, k), min(n+1-s.m, k)
			return
		}
		one := math.Max(centre-s.at(s.m-k-1), s.at(s.m+k+1)-centre)
		both := s.at(s.m+(k+2)/2) - s.at(s.m-(k+1)/2) // a pair of the same width, about m
		s.best = math.Max(s.best, w*math.Max(one, both))
	}
	// Beyond its ends the table is flat.
	s.left, s.right = s.m, n+1-s.m
}

func (s *search) weigh() {
	s.weight = make([]float64, s.left+s.right+1)
	for j := range s.weight {
		s.weight[j] = math.Exp(-float64(j-1) * s.beta)
	}
}

// divide searches rows v in [v0, v1], whose best u lies in [u0, u1]: the best u
// never grows with v, so the middle row tells its neighbours where to look.
func (s *search) divide(v0, v1, u0, u1 int) {
	for v0 <= v1 {
		v := (v0 + v1) / 2
		top, bestU, bestHere := s.at(s.m+v), u0, -1.0
		for u := u0; u <= u1; u++ {
			if x := (top - s.at(s.m-u)) * s.weight[u+v]; x > bestHere {
				bestHere, bestU = x, u
			}
		}
		s.best = math.Max(s.best, bestHere)
		s.divide(v0, v-1, bestU, u1)
		v0, u1 = v+1, bestU
	}
}
