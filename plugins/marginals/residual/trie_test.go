package residual

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A trie folds as the workload does, and Lift is the transpose of Fold, with uneven levels and without the total.
func TestTrie(t *testing.T) {
	uneven := NewAttribute([]Level{{First: []int{0, 2}}, {First: []int{0, 1, 4}}, {First: []int{0, 2, 3, 4, 7}}})
	attributes := []Attribute{Flat(3), uneven, Flat(2), Flat(4)}
	w := NewWorkload(attributes, []Table{{{0, 1}, {1, 2}}, {{1, 3}, {3, 1}}, {{2, 1}}}, true)
	all := Table{{0, 1}, {1, 3}, {2, 1}, {3, 1}}
	trie, rng := NewTrie(w, all), rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	same := func(a, b []float64) bool {
		for i := range a {
			if math.Abs(a[i]-b[i]) > 1e-9 {
				return false
			}
		}
		return len(a) == len(b)
	}
	numbers, seen := random(w.Cells(all)), 0
	values, dot := make([][]float64, len(w.Residuals)), 0.0
	trie.Fold(numbers, func(i int, margin []float64) {
		seen++
		r := w.Residuals[i]
		if !same(margin, Fold(w, all, r, numbers)) {
			t.Errorf("the margin of %v is %v", r, margin)
		}
		values[i] = random(len(margin))
		for c, x := range margin {
			dot += x * values[i][c]
		}
	})
	if seen != len(w.Residuals) {
		t.Errorf("%d of %d residuals", seen, len(w.Residuals))
	}
	for c, x := range trie.Lift(values) {
		dot -= x * numbers[c]
	}
	if math.Abs(dot) > 1e-9 {
		t.Errorf("Lift is off by %v", dot)
	}
}
