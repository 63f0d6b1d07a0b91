package privacy

import (
	"errors"
	"math"
	"testing"

	"github.com/dprelease/dprelease/privacy/iterate"
)

var (
	inTurn = LastIterate{Variant: "cyclic-strongly-convex", Sigma: 0.5, Sensitivity: 2, N: 103, Batch: 10, Epochs: 7, StepSize: 1, Smooth: 1,
		StrongConvexity: 0.05, Rounding: 1e-7}
	once = LastIterate{Variant: "one-pass", Sigma: 0.5, Sensitivity: 2, N: 103, Batch: 10, StepSize: 1, Smooth: 1, Early: 0.1, Rounding: 1e-7}
)

// gaussianEpsilon is the epsilon of Gaussian differential privacy at delta 1e-6, from the
// two tails.
func gaussianEpsilon(mu float64) float64 {
	lo, hi := 0.0, 1e3
	for range 200 {
		eps := (lo + hi) / 2
		if math.Erfc((eps/mu-mu/2)/math.Sqrt2)/2-math.Exp(eps)*math.Erfc((eps/mu+mu/2)/math.Sqrt2)/2 > 1e-6 {
			lo = eps
		} else {
			hi = eps
		}
	}
	return hi
}

// Batches in turn are charged by the bound of their worst position, under
// replace-one alone, and every method that knows them says the same or more.
func TestBatchesInTurn(t *testing.T) {
	for _, e := range []LastIterate{inTurn, once} {
		if e.Batches() != 11 || e.Full() || e.Holds() != nil {
			t.Fatalf("%+v: %d batches, %v", e, e.Batches(), e.Holds())
		}
		a, err := EpsilonAt(e, ReplaceOne, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		mu, err := iterate.Mu(e.params())
		if err != nil {
			t.Fatal(err)
		}
		if want := gaussianEpsilon(mu); math.Abs(a.Epsilon-want) > 1e-6*want {
			t.Errorf("%s: epsilon %v, want %v", e.Variant, a.Epsilon, want)
		}
		if _, err := EpsilonAt(e, AddRemove, 1e-6); err == nil {
			t.Errorf("%s is charged under add-remove", e.Variant)
		}
		curve, err := e.ByPosition(1e-6, 80)
		if err != nil || len(curve) != 11 || curve[0].Epsilon >= curve[10].Epsilon || curve[10].Epsilon > gaussianEpsilon(mu)*(1+1e-9) {
			t.Errorf("%s: %+v, %v", e.Variant, curve, err)
		}
	}
	long := once
	long.StepSize = 3
	var r *iterate.Refusal
	if err := long.Holds(); !errors.As(err, &r) || r.Field != "Eta" {
		t.Errorf("a long step: %v", err)
	}
}

// Steps before the last one have less noise, where the event says so, on the same lattice.
func TestStepsOfOnePass(t *testing.T) {
	if inTurn.Calls() != 77 || once.Calls() != 11 {
		t.Fatal("steps")
	}
	if once.StepAt(10).Sigma != 1<<40 || math.Abs(once.StepAt(9).Sigma/(1<<40)-0.1) > 1e-15 || once.StepAt(9).Sensitivity != once.Step().Sensitivity {
		t.Errorf("steps %+v, %+v", once.StepAt(9), once.StepAt(10))
	}
}
