package privacy

import "testing"

// A curve holds at every point: it is nowhere below what the truth is known to be, and close to what each point alone costs.
func TestDeltaCurve(t *testing.T) {
	one := Sensitivity{AddRemove: 1, ReplaceOne: 1}
	for name, c := range map[string]struct {
		e     Event
		right float64
	}{
		"unlike releases": {Compose{Events: []Event{DiscreteLaplace{Scale: 9, Sensitivity: one}, Laplace{Scale: 11}, Laplace{Scale: 7}}}, 0.35},
		"lattices":        {Compose{Events: []Event{Repeat{N: 3, Event: DiscreteGaussian{Sigma: 900, Sensitivity: Sensitivity{AddRemove: 100, ReplaceOne: 100}}}, Laplace{Scale: 11}}}, 1},
		"a sample":        {Poisson{Rate: 0.1, Event: Compose{Events: []Event{Laplace{Scale: 4}, Laplace{Scale: 5}}}}, 0.05},
		"no distribution": {Compose{Events: []Event{ZCDP{Rho: 0.01}, Laplace{Scale: 10}}}, 0.5},
	} {
		curve := DeltaCurve(c.e, AddRemove, Options{})
		for i := 6; i >= 0; i-- {
			eps := c.right * float64(i) / 6
			got, err := curve(eps)
			if err != nil {
				t.Fatal(name, err)
			}
			alone, err := DeltaAt(c.e, AddRemove, eps)
			if err != nil {
				t.Fatal(name, err)
			}
			if got.Delta < alone.Lower || got.Delta > alone.Delta*1.02+1e-8 {
				t.Errorf("%s, ε %g: %g, and alone between %g and %g", name, eps, got.Delta, alone.Lower, alone.Delta)
			}
		}
	}
}

// Beyond the sum of pure guarantees δ is 0, and a curve composes no distribution there: it would need the finest of all.
func TestDeltaCurveBeyondPureComposesNothing(t *testing.T) {
	one := Sensitivity{AddRemove: 1, ReplaceOne: 1}
	e := Compose{Events: []Event{Repeat{N: 5, Event: Laplace{Scale: 10}}, Repeat{N: 5, Event: DiscreteLaplace{Scale: 10, Sensitivity: one}}}}
	for _, c := range []struct {
		eps  float64
		pure bool
	}{{1.01, true}, {0.99, false}} {
		a, err := DeltaCurve(e, AddRemove, Options{})(c.eps)
		if _, composed := a.Methods["pld"]; err != nil || (a.Delta == 0) != c.pure || composed == c.pure {
			t.Errorf("ε %g: %+v, %v", c.eps, a, err)
		}
	}
}
