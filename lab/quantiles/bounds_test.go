package main

import "testing"

// TestBoundsBesideHindsight: how far a sum is off with the bound that was found, beside the
// best bound in hindsight, where the search spends as much as the sum, and three times as much.
func TestBoundsBesideHindsight(t *testing.T) {
	all, err := columns("../../examples/data")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		for _, times := range []float64{1, 3} {
			for _, e := range []float64{0.1, 1} {
				ratio, err := besideHindsight(c, 1e12, times, e)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %g times ε %g: %.3f", c.name, times, e, ratio)
				if most := map[float64]float64{1: 1.35, 3: 1.2}[times]; ratio > most || ratio < 1 {
					t.Errorf("%s: with ε %g the sum is off %.3g times as far as with the best bound", c.name, e, ratio)
				}
			}
		}
	}
}
