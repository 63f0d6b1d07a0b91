package series

import (
	"math/rand/v2"
	"testing"
)

func matrix(t *testing.T, rows ...[]int64) Matrix {
	t.Helper()
	m, err := NewMatrix(rows)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The counterexamples that P31 names, each with the charge that was claimed once and the
// true one.
func TestCounterexamplesOfTheRule(t *testing.T) {
	m := matrix(t, []int64{2}, []int64{2, 2}, []int64{-2, 2, 1})
	if frozen, revised := m.Charge(Units{AtMost: 2}), m.Charge(Units{AtMost: 2, Revised: true}); frozen != 20 || revised != 36 {
		t.Errorf("revised rows: %d frozen and %d revised, want 20 and 36", frozen, revised)
	}
	// A late row pushes out a counted one: two periods over all runs, whatever the cap says.
	m = matrix(t, []int64{1}, []int64{0, 2}, []int64{2, 0, 1})
	if one, two := m.Charge(Units{AtMost: 1}), m.Charge(Units{AtMost: 2, Revised: true}); one != 5 || two < 8 {
		t.Errorf("a late row: %d for one period, %d for two", one, two)
	}
	m = Independent(3)
	if stays, moves := m.Charge(Units{AtMost: 1}), m.Charge(Units{AtMost: 2}); stays != 1 || moves != 2 {
		t.Errorf("a unit that moves: %d, and %d if it stays", moves, stays)
	}
	m = matrix(t, []int64{1}, []int64{1, 1})
	if sum, life := m.Column(0)+m.Column(1), m.Life(false); sum != 3 || life != 5 {
		t.Errorf("a life: %d, and the slices add up to %d", life, sum)
	}
}

// random returns a small matrix with entries of both signs.
func random(r *rand.Rand, n int) Matrix {
	rows := make([][]int64, n)
	for t := range rows {
		rows[t] = make([]int64, t+1)
		for s := range rows[t] {
			rows[t][s] = r.Int64N(9) - 4
		}
		rows[t][t] = 1 + r.Int64N(4)
	}
	m, err := NewMatrix(rows)
	if err != nil {
		panic(err)
	}
	return m
}

// allowed calls f with every set of at most k of n periods that are apart.
func allowed(n, k, apart int, f func(set []int)) {
	for bits := range 1 << n {
		var set []int
		ok := true
		for s := range n {
			if bits>>s&1 == 1 {
				ok = ok && (len(set) == 0 || s-set[len(set)-1] >= apart)
				set = append(set, s)
			}
		}
		if ok && len(set) <= k {
			f(set)
		}
	}
}

// total adds up g over the pairs of a set.
func total(g [][]int64, set []int) (sum int64) {
	for _, s := range set {
		for _, r := range set {
			sum += g[s][r]
		}
	}
	return sum
}

// The search is exact, and the bound that stands in its place is never below the truth and
// never above k times the largest sum of k entries of a row.
func TestChargeIsTheWorstSet(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	bounds, exact := 0, 0
	for range 300 {
		n, apart := 2+r.IntN(8), 1+r.IntN(4)
		k := 1 + r.IntN(n)
		m := random(r, n)
		for _, revised := range []bool{false, true} {
			g := gram(m.rows, n, revised)
			truth, loose := int64(0), int64(0)
			allowed(n, k, apart, func(set []int) { truth = max(truth, total(g, set)) })
			got := m.Charge(Units{AtMost: k, Apart: apart, Revised: revised})
			if got != truth {
				t.Fatalf("%v, %d periods, %d apart, revised %v: %d, truth %d", m, k, apart, revised, got, truth)
			}
			within, apart := Units{AtMost: k, Apart: apart}.within(n)
			for s := range g {
				loose = max(loose, int64(k)*pick(g[s], k, 1))
			}
			bound := bounded(g, within, apart)
			if bound < truth || bound > loose {
				t.Fatalf("%v, %d periods, %d apart: bound %d, truth %d, the rule's %d", m, k, apart, bound, truth, loose)
			}
			bounds++
			if bound == truth {
				exact++
			}
		}
	}
	t.Logf("the bound is the truth in %d of %d", exact, bounds)
}

// A unit that moves costs no more than one that is in the periods of both sides.
func TestMovesAreCharged(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 2))
	for range 100 {
		n, apart := 2+r.IntN(4), 1+r.IntN(3)
		k := 1 + r.IntN(n)
		m := random(r, n)
		truth := int64(0)
		allowed(n, k, apart, func(from []int) {
			allowed(n, k, apart, func(to []int) {
				in := make([]bool, n)
				for _, s := range from {
					in[s] = true
				}
				for _, s := range to {
					in[s] = true
				}
				var union []int
				for s, is := range in {
					if is {
						union = append(union, s)
					}
				}
				// Any signs of the differences, each of norm 1.
				for signs := range 1 << len(union) {
					sum := int64(0)
					for run := range n {
						d := int64(0)
						for i, s := range union {
							if s <= run {
								d += m.rows[run][s] * (1 - 2*int64(signs>>i&1))
							}
						}
						sum += d * d
					}
					truth = max(truth, sum)
				}
			})
		})
		if got := m.Charge(Units{AtMost: 2 * k}); got < truth {
			t.Fatalf("%v, %d periods, %d apart: %d, truth %d", m, k, apart, got, truth)
		}
	}
}

func TestMatricesAreChecked(t *testing.T) {
	for name, rows := range map[string][][]int64{
		"no period":         nil,
		"a short row":       {{1}, {1}},
		"a long row":        {{1, 0}},
		"nothing measured":  {{1}, {1, 0}},
		"a negative period": {{-1}},
		"too large":         {{1 << 31}},
		"too large in all":  {{1 << 30}, {0, 1}},
	} {
		if _, err := NewMatrix(rows); err == nil {
			t.Errorf("%s: a matrix", name)
		}
	}
	largest := matrix(t, []int64{1 << 29}, []int64{1 << 28, 1 << 29})
	if c := largest.Charge(Units{AtMost: 2}); c <= 1<<58 {
		t.Errorf("the largest charge overflows: %d", c)
	}
}
