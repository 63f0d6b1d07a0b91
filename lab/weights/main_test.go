package main

import (
	"testing"

	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
)

// What docs/weights.md says: with a bound that was chosen without a look at the data, shrinking
// and one query bring the error to a tenth. With the bound at the largest weight there is less
// to gain, and no tenth.
func TestTenth(t *testing.T) {
	s, err := read("../../examples/data/eusilc.csv")
	if err != nil {
		t.Fatal(err)
	}
	s.src = insecurenoise.NewSeeded(29)
	truth, err := s.together(quietly, clipsNothing, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	for atMost, reached := range map[float64]bool{5000: true, 1100: false} {
		raw, err := rmse(truth, 15, func() ([]float64, error) { return s.apart(0.3, atMost) })
		if err != nil {
			t.Fatal(err)
		}
		best, err := rmse(truth, 15, func() ([]float64, error) { return s.together(0.3, atMost, 0, false) })
		if err != nil {
			t.Fatal(err)
		}
		if (best < raw/10) != reached {
			t.Errorf("bound %v: %.0f against %.0f", atMost, best, raw)
		}
	}
}
