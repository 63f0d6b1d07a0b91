package sdktest

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/privacy"
)

// byGrid integrates max(0, p − e^ε·q) by brute force.
func byGrid(eps, a, s, b, t float64) float64 {
	lo, hi := math.Min(a-50*s, b-50*t), math.Max(a+50*s, b+50*t)
	const n = 2_000_000
	h := (hi - lo) / n
	sum := 0.0
	for i := range n {
		x := lo + (float64(i)+0.5)*h
		p := math.Exp(-math.Abs(x-a)/s) / (2 * s)
		q := math.Exp(-math.Abs(x-b)/t) / (2 * t)
		sum += math.Max(0, p-math.Exp(eps)*q)
	}
	return sum * h
}

func TestClosenessAgainstIntegration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range tier.Of(5, 25) {
		eps := []float64{0, 0.1, 1, 3}[rng.IntN(4)]
		a, s, b, u := 0.0, 1.0, rng.NormFloat64()*2, math.Exp(rng.NormFloat64())
		switch i % 5 {
		case 1:
			b = a
		case 2:
			u = s
		case 3:
			a, s, b, u = b, u, a, s
		}
		got, want := closeness(eps, a, s, b, u), byGrid(eps, a, s, b, u)
		if math.Abs(got-want) > 1e-5 {
			t.Errorf("D(%v; %v + %v Lap, %v + %v Lap) = %v, by integration %v", eps, a, s, b, u, got, want)
		}
	}
}

// The dilation alone, and the shift alone, have closed forms (P13).
func TestClosenessClosedForms(t *testing.T) {
	for _, a := range []float64{0.05, 0.5, 2, 10} {
		for _, beta := range []float64{0.01, 0.04, 0.4} {
			if beta > a {
				continue
			}
			want := -math.Expm1(-beta) * math.Exp(-(a+beta)/math.Expm1(beta))
			if got := closeness(a, 0, 1, 0, math.Exp(-beta)); math.Abs(got-want) > 1e-12*want+1e-16 {
				t.Errorf("dilation by %v at %v: %v, want %v", beta, a, got, want)
			}
			if got := closeness(a, 0, 1, 0, math.Exp(beta)); got > 1e-16 {
				t.Errorf("the wider from the narrower at %v: %v, want 0", a, got)
			}
		}
		if got := closeness(a, 0, 1, a, 1); got > 1e-15 {
			t.Errorf("a shift of epsilon costs %v", got)
		}
		// A shift by d > ε: 1 − e^{−(d−ε)/2}.
		if got, want := closeness(a, 0, 1, a+1, 1), -math.Expm1(-0.5); math.Abs(got-want) > 1e-14 {
			t.Errorf("a shift of epsilon + 1: %v, want %v", got, want)
		}
	}
}

// Bounds of textbooks and of the binomial law itself.
func TestClopperPearson(t *testing.T) {
	for _, c := range []struct {
		k, n         int
		alpha        float64
		lower, upper float64
	}{
		{0, 20, 0.025, 0, 1 - math.Pow(0.025, 1.0/20)},
		{20, 20, 0.025, math.Pow(0.025, 1.0/20), 1},
		{5, 10, 0.025, 0.1870860284, 0.8129139716},
		{1, 100, 0.025, 0.0002531460, 0.0544593854},
	} {
		if lo, hi := lowerBound(c.k, c.n, c.alpha), upperBound(c.k, c.n, c.alpha); math.Abs(lo-c.lower) > 1e-9 || math.Abs(hi-c.upper) > 1e-9 {
			t.Errorf("%d of %d: [%.10f, %.10f], want [%.10f, %.10f]", c.k, c.n, lo, hi, c.lower, c.upper)
		}
	}
	// Coverage: over all outcomes of Bin(n, p) the bounds fail with at most alpha.
	const n, alpha = 60, 0.01
	for _, p := range []float64{0.001, 0.1, 0.37, 0.5, 0.9} {
		missLow, missHigh := 0.0, 0.0
		for k := 0; k <= n; k++ {
			lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
			mass := math.Exp(lg(n) - lg(k) - lg(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
			if lowerBound(k, n, alpha) > p {
				missLow += mass
			}
			if upperBound(k, n, alpha) < p {
				missHigh += mass
			}
		}
		if missLow > alpha || missHigh > alpha {
			t.Errorf("p = %v: the bounds miss with %v and %v", p, missLow, missHigh)
		}
	}
	if e := shown(1000, 0, 1000, 0, 1e-7); e < 3 || e > math.Log(1000/16.0) {
		t.Errorf("the ceiling of 1000 runs is %v", e)
	}
}

// TestNothingAllowed: an event that declares nothing under a relation has no share that a report
// cannot hold.
func TestNothingAllowed(t *testing.T) {
	c := comparison{pair: pair{relation: privacy.AddRemove, distance: 1}, used: map[string]float64{}}
	ev := privacy.DiscreteLaplace{Scale: 1, Sensitivity: privacy.Sensitivity{ReplaceOne: 1}}
	if v := c.laplace(ev, Call{Values: []int64{0}}, Call{Values: []int64{1}}); v == nil || v.check != "l1-sensitivity" {
		t.Errorf("not found: %+v", v)
	}
	if v := c.laplace(ev, Call{Values: []int64{1}}, Call{Values: []int64{1}}); v != nil {
		t.Errorf("found: %+v", v)
	}
	if _, err := json.Marshal(Report{Used: c.used}); err != nil {
		t.Error(err)
	}
}
