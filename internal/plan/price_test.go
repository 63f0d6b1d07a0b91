package plan

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/privacy"
)

func amount(t *testing.T, eps, delta string) job.Guarantee {
	t.Helper()
	e, err := language.ParseAmount(eps)
	if err != nil {
		t.Fatal(err)
	}
	d, err := language.ParseAmount(delta)
	if err != nil {
		t.Fatal(err)
	}
	return job.Guarantee{Epsilon: e, Delta: d}
}

// Portions never add up to more than the budget, exactly.
func TestPortionsAddUpToAtMostTheBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 1 + rng.IntN(9)
		parts := make([]job.Guarantee, n)
		for i := range parts {
			parts[i] = job.Guarantee{Epsilon: big.NewRat(1+rng.Int64N(1000), 1000), Delta: big.NewRat(rng.Int64N(5), 1e9)}
		}
		whole := sum(parts...)
		budget := privacy.Point{Epsilon: rng.ExpFloat64(), Delta: rng.Float64() * 1e-6}
		eps, delta := new(big.Rat), new(big.Rat)
		for _, p := range parts {
			got := portion(budget, p, whole)
			eps.Add(eps, new(big.Rat).SetFloat64(got.Epsilon))
			delta.Add(delta, new(big.Rat).SetFloat64(got.Delta))
		}
		if eps.Cmp(new(big.Rat).SetFloat64(budget.Epsilon)) > 0 || delta.Cmp(new(big.Rat).SetFloat64(budget.Delta)) > 0 {
			t.Fatalf("portions exceed the budget")
		}
	}
}

func TestPortionOfAWholeTargetIsTheBudget(t *testing.T) {
	g := amount(t, "0.5", "1e-7")
	b := privacy.Point{Epsilon: 1.25, Delta: 3e-7}
	if got := portion(b, g, g); got != b {
		t.Fatalf("got %v, want %v", got, b)
	}
}
