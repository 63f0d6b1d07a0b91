package amplify

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.17g, want %.17g ± %g", what, got, want, tol)
	}
}

// The figures that the rules quote, to the digits they quote.
func TestQuotedFigures(t *testing.T) {
	near(t, "P4: one amplified release", Epsilon(0.1, 2), 0.988/2, 5e-4)
	near(t, "with replacement 1000/100", Epsilon(WithReplacementRate(100, 1000), 1), 0.15151, 5e-6)
	near(t, "Poisson–Poisson", PoissonPoisson(.1, .5, 5, 1), 0.399, 5e-4)
	near(t, "product rule", Epsilon(.05, 1), 0.082, 5e-4)
	clusters := Design{{Take: 1, Of: 2}, {Take: 19, Of: 20}}
	near(t, "Theorem 3 of two clusters", clusters.PublishedEpsilon(1), 0.597, 2e-3)
	near(t, "recursion of two clusters", clusters.Recursion(1), 0.968, 5e-4)
	near(t, "conditioning of two clusters", clusters.Conditioned(1), 0.968, 5e-4)
	near(t, "ε=1 at 1 % of 10001", SampleEpsilon(Rate(100, 10001), 1), 5.15, 6e-3)
	near(t, "ε=0.1, 101 of 10001", SampleEpsilon(Rate(101, 10001), .1), 2.43, 6e-3)
	near(t, "ε=1, 101 of 10001", SampleEpsilon(Rate(101, 10001), 1), 5.14, 6e-3)
}
