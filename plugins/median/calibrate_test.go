package median

import (
	"math"
	"strings"
	"testing"
)

// trueDilation integrates max(0, p − e^a·q) over the densities of Laplace noise of
// scale e^beta and 1, and with the roles exchanged.
func trueDilation(a, beta float64) float64 {
	wide := func(z float64) float64 { return math.Exp(-z*math.Exp(-beta)-beta) / 2 }
	narrow := func(z float64) float64 { return math.Exp(-z) / 2 }
	sum, other := 0.0, 0.0
	top := 60 * math.Exp(beta)
	step := top / 4e5
	for z := step / 2; z < top; z += step {
		sum += 2 * step * math.Max(0, wide(z)-math.Exp(a)*narrow(z))
		other += 2 * step * math.Max(0, narrow(z)-math.Exp(a)*wide(z))
	}
	return math.Max(sum, other)
}

func TestDilationIsTheIntegral(t *testing.T) {
	for _, c := range []struct{ a, beta float64 }{{0.05, 0.04}, {0.5, 0.1}, {0.5, 0.5}, {2, 1}, {6, 0.4136}, {3, 3}} {
		got, want := dilation(c.a, c.beta), trueDilation(c.a, c.beta)
		if math.Abs(got-want) > 1e-5*want+1e-12 {
			t.Errorf("a=%g β=%g: %.10g, integral %.10g", c.a, c.beta, got, want)
		}
		if less := trueDilation(c.a, 0.9*c.beta); less > want {
			t.Errorf("a=%g: a smaller dilation costs more (%g > %g)", c.a, less, want)
		}
	}
}

// The published β is too small where ε is small and unsound where it is large.
func TestCalibrationFacts(t *testing.T) {
	old, fresh := params{Calibration: published, NoiseShare: 0.5}, params{Calibration: "exact", NoiseShare: 0.5}
	a, err := old.calibrate(0.1, 5e-5)
	b, err2 := fresh.calibrate(0.1, 5e-5)
	if err != nil || err2 != nil || math.Abs(a.beta-0.0047) > 5e-5 || math.Abs(b.beta-0.0113) > 5e-5 {
		t.Errorf("ε=0.1 δ=5e-5: published %v (%v), exact %v (%v), want 0.0047 and 0.0113", a.beta, err, b.beta, err2)
	}
	for _, c := range []struct{ epsilon, delta, truth float64 }{{12, 1e-6, 1.23e-6}, {30, 1e-3, 0.056}} {
		beta := c.epsilon / (2 * math.Log(2/c.delta))
		if d := dilation(c.epsilon/2, beta); math.Abs(d/c.truth-1) > 0.01 {
			t.Errorf("ε=%g δ=%g: the published β costs %.3g, want %.3g", c.epsilon, c.delta, d, c.truth)
		}
		if _, err := old.calibrate(c.epsilon, c.delta); err == nil || !strings.Contains(err.Error(), "use calibration: exact") {
			t.Errorf("ε=%g δ=%g: the published β is not refused: %v", c.epsilon, c.delta, err)
		}
		if s, err := fresh.calibrate(c.epsilon, c.delta); err != nil || dilation(s.dilate, s.beta) > c.delta || s.beta > s.dilate {
			t.Errorf("ε=%g δ=%g: exact: %+v, %v", c.epsilon, c.delta, s, err)
		}
	}
}

// The exact β is within the budget and as large as it can be.
func TestExactIsTheLargest(t *testing.T) {
	for _, epsilon := range []float64{0.01, 0.1, 0.5, 1, 3, 10, 40} {
		for _, delta := range []float64{1e-12, 1e-6, 1e-3, 0.1} {
			for _, share := range []float64{0.2, 0.5, 0.8} {
				c, err := params{Calibration: "exact", NoiseShare: share}.calibrate(epsilon, delta)
				if err != nil {
					t.Fatal(err)
				}
				if c.shift+c.dilate > epsilon || c.shift < 0.999*share*epsilon || c.dilate < 0.999*(1-share)*epsilon {
					t.Errorf("ε=%g is split into %g and %g", epsilon, c.shift, c.dilate)
				}
				if dilation(c.dilate, c.beta) > delta || c.beta > c.dilate {
					t.Errorf("ε=%g δ=%g: β=%g is not within the budget", epsilon, delta, c.beta)
				}
				if c.beta < c.dilate && dilation(c.dilate, c.beta*(1+1e-6)) <= delta {
					t.Errorf("ε=%g δ=%g: β=%g is not the largest", epsilon, delta, c.beta)
				}
			}
		}
	}
	for _, c := range []struct{ epsilon, delta float64 }{{1, 0}, {1, 1e-300}, {1e-5, 1e-9}} {
		if _, err := (params{Calibration: "exact", NoiseShare: 0.5}).calibrate(c.epsilon, c.delta); err == nil || !strings.Contains(err.Error(), "exponential") {
			t.Errorf("ε=%g δ=%g: %v", c.epsilon, c.delta, err)
		}
	}
}
