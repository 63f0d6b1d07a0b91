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
			b, err := SampleBudgetAdditive(Poisson{Rate: q}, ReplaceOne, Point{target, 0})
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
		b, err1 := SampleBudgetAdditive(c.s, c.rel, c.p)
		want, err2 := SampleBudget(c.s, c.rel, c.p)
		if err1 != nil || err2 != nil || b != want {
			t.Errorf("%+v: %v, want %v (%v, %v)", c, b, want, err1, err2)
		}
	}
	if _, err := SampleBudgetAdditive(Poisson{Rate: 2}, ReplaceOne, Point{1, 0}); err == nil {
		t.Error("a rate of 2 was accepted")
	}
}
