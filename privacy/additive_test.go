package privacy

import (
	"math"
	"testing"
)

// Every Poisson sample of four records with values -1, 0 and 1, discrete Laplace noise on the sum: the largest ratio of likelihoods of
// neighbours never exceeds the target, and comes near it.
func TestSampleBudgetAdditive(t *testing.T) {
	for _, q := range []float64{0.01, 0.1, 0.5, 0.9} {
		for _, target := range []float64{0.01, 0.3, 1, 3} {
			b, err := SampleBudgetAdditive(Poisson{Rate: q}, ReplaceOne, Point{target, 0}, 0.5)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := SampleBudget(Poisson{Rate: q}, ReplaceOne, Point{target, 0})
			if err != nil || b.Delta != 0 || b.Epsilon < plain.Epsilon {
				t.Fatal(q, target, b, plain, err)
			}
			a := b.Epsilon / 2 // one arrival moves the sum by one lattice step
			likelihood := func(values []int, out int) float64 {
				total := 0.0
				for sample := range 1 << len(values) {
					p, sum := 1.0, 0
					for i, v := range values {
						if sample>>i&1 == 1 {
							p, sum = p*q, sum+v
						} else {
							p *= 1 - q
						}
					}
					total += p * math.Exp(-a*math.Abs(float64(out-sum)))
				}
				return total
			}
			worst := 0.0
			for rest := range 27 {
				for from := -1; from <= 1; from++ {
					for to := -1; to <= 1; to++ {
						x := []int{from, rest%3 - 1, rest/3%3 - 1, rest/9 - 1}
						y := []int{to, x[1], x[2], x[3]}
						for out := -5; out <= 5; out++ { // the ratio is constant further out
							worst = math.Max(worst, math.Log(likelihood(x, out)/likelihood(y, out)))
						}
					}
				}
			}
			t.Logf("q %g, target %g: %.4g, of which %.4g is reached (without the halves %.4g)", q, target, b.Epsilon, worst, plain.Epsilon)
			if worst > target*(1+1e-12) {
				t.Errorf("q %g, target %g: a budget of %g reaches %g", q, target, b.Epsilon, worst)
			}
			if worst < target*0.999 {
				t.Errorf("q %g, target %g: a budget of %g reaches only %g", q, target, b.Epsilon, worst)
			}
		}
	}
	// Nothing is gained, and nothing assumed, where delta is positive or the relation another.
	for _, c := range []struct {
		s   Sampling
		rel Relation
		p   Point
	}{{Poisson{Rate: 0.1}, ReplaceOne, Point{1, 1e-6}}, {Poisson{Rate: 0.1}, AddRemove, Point{1, 0}}, {WithoutReplacement{Take: 1, Of: 10}, ReplaceOne, Point{1, 0}}} {
		b, err1 := SampleBudgetAdditive(c.s, c.rel, c.p, 0.5)
		want, err2 := SampleBudget(c.s, c.rel, c.p)
		if err1 != nil || err2 != nil || b != want {
			t.Errorf("%+v: %v, want %v (%v, %v)", c, b, want, err1, err2)
		}
	}
	if _, err := SampleBudgetAdditive(Poisson{Rate: 2}, ReplaceOne, Point{1, 0}, 0.5); err == nil {
		t.Error("a rate of 2 was accepted")
	}
}

// A draw on which a part t of the budget goes to noise on a sum, and the rest to
// randomized response on whether the sample holds the record at all (the arrival
// of a record costs as much as its replacement): κ = 1 − t/2. Every output of the
// two together is enumerated for one record that is replaced.
func TestSampleBudgetAdditiveMixed(t *testing.T) {
	for _, q := range []float64{0.05, 0.5, 0.9} {
		for _, part := range []float64{0.2, 0.5, 0.9} {
			const target = 1.0
			kappa := 1 - part/2
			b, err := SampleBudgetAdditive(Poisson{Rate: q}, ReplaceOne, Point{target, 0}, kappa)
			if err != nil {
				t.Fatal(err)
			}
			plain, _ := SampleBudget(Poisson{Rate: q}, ReplaceOne, Point{target, 0})
			if b.Epsilon <= plain.Epsilon {
				t.Errorf("q %g, part %g: %g is no more than %g", q, part, b.Epsilon, plain.Epsilon)
			}
			step, other := part*b.Epsilon/2, (1-part)*b.Epsilon
			// The value is -1 or 1; the second mechanism prefers the answer 1 for a value of 1,
			// 0 for one of -1, and of an empty sample it may say either.
			density := func(value, empty, sum, answer int) float64 {
				of := func(v, prefers int) float64 {
					p := 1 / (1 + math.Exp(other))
					if prefers == answer {
						p = 1 - p
					}
					return p * math.Exp(-step*math.Abs(float64(sum-v)))
				}
				return q*of(value, (value+1)/2) + (1-q)*of(0, empty)
			}
			worst := 0.0
			for empty := range 2 {
				for sum := -3; sum <= 3; sum++ {
					for answer := range 2 {
						worst = math.Max(worst, math.Abs(math.Log(density(1, empty, sum, answer)/density(-1, empty, sum, answer))))
					}
				}
			}
			if worst > target*(1+1e-12) || worst < 0.5*target {
				t.Errorf("q %g, part %g: a budget of %g reaches %g", q, part, b.Epsilon, worst)
			}
			if arrival := kappa - 0.1; arrival >= 0.5 {
				if more, _ := SampleBudgetAdditive(Poisson{Rate: q}, ReplaceOne, Point{target, 0}, arrival); more.Epsilon <= b.Epsilon {
					t.Errorf("q %g: less arrival gives no more budget", q)
				}
			}
		}
	}
	for _, bad := range []float64{0, 0.49, 1.01, math.NaN()} {
		if _, err := SampleBudgetAdditive(Poisson{Rate: 0.5}, ReplaceOne, Point{1, 0}, bad); err == nil {
			t.Errorf("arrival %g was accepted", bad)
		}
	}
}

// At rates up to ½ the noise of a sampled total is never smaller than the full
// table's; above, it is (additive.proof.md).
func TestAdditiveEfficiency(t *testing.T) {
	for _, target := range []float64{1e-3, 0.1, 1, 5} {
		for _, q := range []float64{0.01, 0.3, 0.5, 0.6, 0.9, 0.99} {
			b, err := SampleBudgetAdditive(Poisson{Rate: q}, ReplaceOne, Point{target, 0}, 0.5)
			if err != nil {
				t.Fatal(err)
			}
			e := q * b.Epsilon / target
			if q <= 0.5 && e > 1+1e-12 || q > 0.5 && target >= 0.1 && e <= 1 {
				t.Errorf("q %g, target %g: efficiency %g", q, target, e)
			}
		}
	}
}
