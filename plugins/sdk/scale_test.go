package sdk

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// Whoever charges the noise that LaplaceScale asks for, alone or together with that of
// other queries, finds that it costs no more than what was asked for: the accountant
// rounds outward. Round numbers meet on lattices of powers of two more often than
// chance would have it: 0.999999999 of ε = 1 and a range of 1e9 did.
func TestLaplaceScaleLeavesRoomForRounding(t *testing.T) {
	for _, eps := range []float64{1e-9, 0.001, 0.1, 0.2, 0.25, 0.5, 0.7, 1, 2, 4, 5, 8, 10, 1000} {
		for _, width := range []float64{1, 2, 5, 8, 10, 60, 100, 125, 800, 1e3, 1e4, 1e6, 1e8, 1e9, 1e12, 1e15} {
			for _, queries := range []int{1, 2, 3, 10, 100} {
				target := eps * (1 - 1e-9)
				share := target / float64(queries)
				size := math.Max(1, math.RoundToEven(width/LaplaceStep(width, share)))
				scale, err := LaplaceScale(size, share)
				if err != nil {
					t.Fatal(err)
				}
				ev := privacy.DiscreteLaplace{Scale: scale, Sensitivity: privacy.Sensitivity{ReplaceOne: size}}
				all := privacy.Compose{}
				for range queries {
					all.Events = append(all.Events, ev)
				}
				for _, e := range []privacy.Event{all, privacy.Repeat{N: int64(queries), Event: ev}} {
					a, err := privacy.EpsilonAt(e, privacy.ReplaceOne, 0)
					if err != nil || a.Epsilon > target {
						t.Errorf("%d queries of size %g cost ε %v of %v: %v", queries, size, a.Epsilon, target, err)
					}
					if a.Epsilon < target*(1-1e-4) {
						t.Errorf("%d queries of size %g cost ε %v, much less than %v", queries, size, a.Epsilon, target)
					}
				}
			}
		}
	}
}

// vectors calls read with the numbers of each line of a file in specs/vectors/scale.
func vectors(t *testing.T, name string, read func(x []float64)) {
	t.Helper()
	text, err := os.ReadFile("../../specs/vectors/scale/" + name)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var x []float64
		for _, word := range strings.Fields(line) {
			v, err := strconv.ParseFloat(word, 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			x = append(x, v)
		}
		read(x)
		seen++
	}
	if seen < 20 {
		t.Errorf("only %d vectors", seen)
	}
}

// TestScaleVectors: the rules are those that specs/vectors/scale shows to other languages.
func TestScaleVectors(t *testing.T) {
	vectors(t, "laplace.txt", func(x []float64) {
		if got, err := LaplaceScale(x[0], x[1]); err != nil || got != x[2] {
			t.Errorf("%g at %g: %v, %v, want %v", x[0], x[1], got, err, x[2])
		}
	})
	// The closed form for Gaussian noise, which needs no accountant: the accountant finds that it
	// costs no more than was asked for.
	vectors(t, "gaussian.txt", func(x []float64) {
		for _, coordinates := range []int64{0, 1, 30} {
			ev := privacy.DiscreteGaussian{Sigma: x[3], Sensitivity: privacy.Sensitivity{ReplaceOne: x[0]}, Coordinates: coordinates}
			if a, err := privacy.EpsilonAt(ev, privacy.ReplaceOne, x[2]); err != nil || a.Epsilon > x[1] {
				t.Errorf("%v costs ε %v, %v", x, a.Epsilon, err)
			}
		}
	})
}
