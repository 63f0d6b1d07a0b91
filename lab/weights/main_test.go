package main

import (
	"math/rand/v2"
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

// What docs/weights.md says of a keep that is chosen in private: it is never near the least error where there
// is no bias, and far above keep: 1 where there is some. A look at many groups together loses little.
func TestChoices(t *testing.T) {
	at := func(bias float64) trial { return trial{bias, 5, rand.New(rand.NewPCG(1, 2))} }
	for _, share := range []float64{0.1, 0.3} {
		if e := at(0).chosen(share); e < 2.5*at(0).hindsight() {
			t.Errorf("a share of %v: %v without bias", share, e)
		}
		if e := at(5).chosen(share); e < 2.2 {
			t.Errorf("a share of %v: %v with a bias", share, e)
		}
	}
	if e := at(0).averaged(0.8); e < 4*at(0).hindsight() {
		t.Errorf("averaged: %v", e)
	}
	for _, bias := range biases {
		if e := at(bias).looked(0.1, 20); e > 1.7 || bias == 0 && e > 0.35 {
			t.Errorf("a look at 20 groups: %v with a bias of %v", e, bias)
		}
	}
}
