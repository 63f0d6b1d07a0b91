package privacy

import (
	"math"
	"testing"
)

// Profiles where terms cancel or leave the range of float64, at points where earlier
// forms were below the truth: the figures are from 2,600 bits, rounded down.
func TestRoundingIsUpwards(t *testing.T) {
	for _, c := range []struct{ scale, s, eps, truth float64 }{
		{0x1.d7774p+20, 0x1.5c5dfbcp+26, 0x1.7a5162f8109f9p+05, 0x1.133d0b90c9ab7p-31},
		{0x1.bdfb7ae4p+30, 0x1.4a9068d1913e6p+51, 0x1.7b7f266cf8f13p+20, 0x1.08dc55b8a1d12p-15},
		{0x1.31a9e975d902bp-21, 0x1.198e3862e3b8cp+51, 0x1.d79e26008ada3p+71, 1}, // the last point before the end
	} {
		if d := discreteLaplaceProfile(c.scale, c.s).delta(c.eps); !(d >= c.truth && d <= c.truth*(1+1e-9)) {
			t.Errorf("discrete laplace, scale %g, shift %g, ε %g: %.17g, the truth is %.17g", c.scale, c.s, c.eps, d, c.truth)
		}
	}
	for _, c := range []struct{ mu, eps, truth, most float64 }{
		{0x1.3423b0b530f81p+19, 0x1.72eccb3fff6abp+37, 0x1.5eb648b938bdcp-385, 1 + 1e-9},
		{0x1.28caeca53fe9cp+19, 0x1.581e23d668273p+37, 0x1.7336c753f7f74p-591, 1 + 1e-9},
		{0x1.8f72e12f0b96p-19, 0x1.d99817ff90309p-14, 0x2dp-1074, math.Inf(1)},
		{0x1.176d308b0fecap-673, 0x1.cc394671dfaa2p-669, 5e-324, math.Inf(1)}, // 2.5e-357
	} {
		if d := gaussianDelta(c.mu, c.eps); !(d >= c.truth && d <= c.truth*c.most) {
			t.Errorf("gaussian, μ %g, ε %g: %.17g, the truth is %.17g", c.mu, c.eps, d, c.truth)
		}
	}
}

// Where δ is below the smallest normal number, math.Log is off by up to 36 on amd64: such
// a δ is charged as 0, or refused. It was once charged an ε of 38.04, of 38.87 in truth.
func TestSubnormalDelta(t *testing.T) {
	noise := Gaussian{Sigma: 1, Sensitivity: Sensitivity{AddRemove: 1, ReplaceOne: 2}}
	for _, e := range []Event{noise, Repeat{N: 1000, Event: Poisson{Rate: 0.01, Event: noise}}} {
		if a, err := EpsilonAt(e, AddRemove, 5e-324); err == nil {
			t.Errorf("%#v: ε %g at δ %g", e, a.Epsilon, a.Delta)
		}
	}
	if a, err := EpsilonAt(Pure{Eps: 2}, AddRemove, 5e-324); err != nil || a.Epsilon != 2 || a.Delta != 0 {
		t.Errorf("pure: %+v, %v", a, err)
	}
	if _, err := EpsilonAt(Poisson{Rate: 5e-324, Event: Pure{Eps: 2}}, AddRemove, 0); err == nil {
		t.Error("a subnormal rate is accepted")
	}
}
