package noisetest

import "math"

// FalseAlarm is the probability with which each check fails although the sampler is
// right. A test of a thousand checks fails in one of a million runs.
const FalseAlarm = 1e-9

// T is the part of testing.TB that the checks use.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// CheckCells compares counts, out of n draws each, with the exact probabilities
// of their cells.
//
// The count of one cell is Bin(n, p). By Chernoff's bound, which holds for every
// n and p, P(n·KL(count/n ‖ p) ≥ c) ≤ 2·e^{−c}: e^{−c} for each side. With
// c = ln(2·cells/FalseAlarm) the union over the cells is below FalseAlarm. The
// cells need not be disjoint nor independent.
func CheckCells(t T, name string, n int, counts []int, probs []float64) {
	t.Helper()
	if n == 0 || len(counts) == 0 || len(counts) != len(probs) {
		t.Errorf("%s: nothing to compare", name)
		return
	}
	limit := math.Log(2 * float64(len(probs)) / FalseAlarm)
	for i, p := range probs {
		q := float64(counts[i]) / float64(n)
		if stat := float64(n) * divergence(q, p); !(stat <= limit) {
			t.Errorf("%s: cell %d: %d of %d, expected %.1f (statistic %.1f > %.1f)",
				name, i, counts[i], n, p*float64(n), stat, limit)
		}
	}
}

// divergence returns the divergence of a coin of q from one of p.
func divergence(q, p float64) float64 {
	term := func(a, b float64) float64 {
		if a == 0 {
			return 0
		}
		return a * math.Log(a/b)
	}
	return term(q, p) + term(1-q, 1-p)
}
