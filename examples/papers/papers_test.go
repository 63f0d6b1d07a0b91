package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// Every stated fact that needs no large simulation agrees (PRIVACY section 6 and
// the traps); an exhibit without figures or an unknown fact that claims to hold
// fails.
func TestStatedFacts(t *testing.T) {
	known := 0
	for _, draw := range []func(options) (exhibit, error){
		limitsByRate, limitsByEpsilon, limitsProportional, limitsAdditive, gainsBudget, gainsSaving, gainsFigure5, meanNever, gaussianMean,
		renyi(5), episodicTake, episodicSize, episodicTruth, lectureResponse, lectureShuffle, lectureIteration,
	} {
		e, err := draw(options{populations: 2, repetitions: 4})
		if err != nil {
			t.Fatalf("%s: %v", e.id, err)
		}
		if len(e.figures) == 0 || e.alt == "" || e.agreement == "" {
			t.Errorf("%s is not complete", e.id)
		}
		for _, p := range e.figures {
			if svg, err := p.fig.SVG(); err != nil || len(svg) < 2000 {
				t.Errorf("%s: %v, %d bytes", p.name, err, len(svg))
			}
		}
		for _, f := range e.facts {
			if f.known {
				known++
			}
			if f.known && !f.holds {
				t.Errorf("%s: %s: stated %s, ours %s", e.id, f.what, f.stated, f.ours)
			}
		}
	}
	if known < 20 {
		t.Errorf("only %d stated facts were compared", known)
	}
}

// Our reconstruction has every number from F1 to F13, and T1, each once.
func TestNumbersOfTheReconstruction(t *testing.T) {
	seen := map[string]int{}
	for _, n := range numbered {
		seen[strings.TrimRight(n, "abc")]++
		if n != strings.TrimRight(n, "abc") {
			seen[n]++
		}
	}
	for i := 1; i <= 13; i++ {
		if seen[fmt.Sprintf("F%d", i)] == 0 {
			t.Errorf("F%d is missing", i)
		}
	}
	if seen["T1"] != 1 || seen["F5a"] != 1 || seen["F14"] != 0 {
		t.Errorf("%v", seen)
	}
	page, err := os.ReadFile("../../docs/papers.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range numbered {
		if !strings.Contains(string(page), n+". ") && !strings.Contains(string(page), n+", ") || name != "gains-table" && !strings.Contains(string(page), "papers/"+name+".svg") {
			t.Errorf("the page does not show %s (%s)", n, name)
		}
	}
}

// A fact that is wrong is marked so.
func TestFactsCanDiffer(t *testing.T) {
	if stated("x", 1, 1.1, 0.05).holds || !stated("x", 1, 1.01, 0.05).holds || within("x", 1, 0.5, 2, 3).holds {
		t.Error("a wrong number agrees")
	}
}

// varianceRatio is r(ε, n/N) of P18 through log1p and expm1.
func varianceRatio(eps, rate float64) float64 {
	x := rate * math.Log1p(math.Expm1(eps)/rate) / eps
	return x * x
}

// The exact gap is positive wherever the plain formula has lost its digits, and is
// the same as the plain one where it has not.
func TestGap(t *testing.T) {
	for _, q := range []float64{0.001, 0.1, 0.5, 0.999} {
		for _, eps := range logs(1e-12, 3, 200) {
			g := gap(eps, q)
			if !(g > 0 && g < 1) {
				t.Errorf("1 − r(%g, %g) = %g", eps, q, g)
			}
			if plain := 1 - varianceRatio(eps, q); eps > 0.1 && math.Abs(plain/g-1) > 1e-6 {
				t.Errorf("ε %g, q %g: %g, want %g", eps, q, g, plain)
			}
		}
	}
	if naiveCrossing(0.1) == 0 {
		t.Error("the plain formula shows no crossing: it was computed too well")
	}
}

// The finding on the bimodal median: sampling gains at ε = 1, and loses at 5.
func TestBimodalMedian(t *testing.T) {
	o := options{populations: 3, repetitions: 60}
	for eps, gains := range map[float64]bool{1: true, 5: false} {
		c, err := bimodal.compare(1001, eps, calibration("exact"), o)
		if err != nil || (c.gain > 1) != gains {
			t.Errorf("ε %g: error ratio %.3g, %v", eps, c.gain, err)
		}
	}
}

// The ratios of smooth sensitivities lie in the ranges over 25 populations.
func TestSmoothSensitivityRatio(t *testing.T) {
	o := options{populations: 9, repetitions: 270}
	for _, c := range []struct {
		eps    float64
		n      int64
		lo, hi float64
	}{{0.1, 1001, 1.23, 1.40}, {1, 1001, 2.68, 4.90}, {1, 101, 14.1, 25.0}} {
		got, err := lognormal.compare(c.n, c.eps, calibration("published"), o)
		if err != nil || got.ratio < c.lo || got.ratio > c.hi {
			t.Errorf("ε %g, n %d: ratio %.3g, %v", c.eps, c.n, got.ratio, err)
		}
	}
}
