package verdict

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/privacy"
)

// The attacker's curve is never below the exact one, and close to it: for
// Gaussian noise the best test is known.
func TestDetectionOfGaussianNoise(t *testing.T) {
	const mu = 1.3
	e := privacy.Gaussian{Sigma: 1 / mu}
	at, err := privacy.EpsilonAt(e, privacy.AddRemove, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := ProfileOf(e, privacy.AddRemove).Trace(privacy.Point{Epsilon: at.Epsilon, Delta: at.Delta}, 1.25*at.Epsilon)
	if !ok {
		t.Fatal("no curve")
	}
	n := distuv.UnitNormal
	for _, alarm := range []float64{0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9} {
		exact := n.CDF(n.Quantile(alarm) + mu)
		got := c.Detection(alarm)
		if got < exact || got > exact+0.01 {
			t.Errorf("false alarm %g: detection %g, exactly %g", alarm, got, exact)
		}
	}
	for _, eps := range []float64{0, 0.3, 1, 2.2} {
		exact := n.CDF(mu/2-eps/mu) - math.Exp(eps)*n.CDF(-mu/2-eps/mu)
		if got := c.Near(eps); got < exact*(1-1e-12) || got > exact*1.2+1e-9 {
			t.Errorf("ε %g: δ %g, exactly %g", eps, got, exact)
		}
	}
}

// Two-way randomized response has the test of a pure guarantee with both kinks
// in one point.
func TestDetectionOfRandomizedResponse(t *testing.T) {
	const eps = 1.1
	c, ok := ProfileOf(privacy.RandomizedResponse{K: 2, Eps0: eps}, privacy.ReplaceOne).Trace(privacy.Point{Epsilon: eps}, 1.25*eps)
	if !ok {
		t.Fatal("no curve")
	}
	for _, alarm := range []float64{0, 0.01, 0.2, 1 / (1 + math.Exp(eps)), 0.4, 0.8, 1} {
		exact := math.Min(math.Exp(eps)*alarm, 1-math.Exp(-eps)*(1-alarm))
		if got := c.Detection(alarm); math.Abs(got-exact) > 1e-9 {
			t.Errorf("false alarm %g: detection %.12g, exactly %.12g", alarm, got, exact)
		}
	}
}

// unknown returns a profile that shares nothing with earlier ones.
func unknown(e privacy.Event, rel privacy.Relation) *Profile {
	return &Profile{event: e, rel: rel, known: map[point]float64{}}
}

// What the verdict asked for is not evaluated again for the curve, and is what another profile finds.
func TestEachPointIsEvaluatedOnce(t *testing.T) {
	e := privacy.Repeat{N: 3, Event: privacy.Laplace{Scale: 4}}
	charged := privacy.Point{Epsilon: 0.75}
	p := ProfileOf(e, privacy.AddRemove)
	p.Attacker(charged)
	asked := len(p.known)
	again, _ := ProfileOf(e, privacy.AddRemove).Trace(charged, reachOf*charged.Epsilon)
	if len(p.known) != asked || asked < points {
		t.Errorf("%d points for the verdict, %d with the curve", asked, len(p.known))
	}
	fresh, _ := unknown(e, privacy.AddRemove).Trace(charged, reachOf*charged.Epsilon)
	if !slices.Equal(again.Delta, fresh.Delta) {
		t.Errorf("%v, and evaluated anew %v", again.Delta, fresh.Delta)
	}
}

// Profiles are shared by equal events under one relation only, and no more are kept than mostRecent.
func TestRecentProfiles(t *testing.T) {
	one := privacy.Pure{Eps: 0.5}
	p := ProfileOf(one, privacy.AddRemove)
	for i, other := range []*Profile{
		ProfileOf(one, privacy.ReplaceOne), ProfileOf(privacy.Pure{Eps: math.Nextafter(0.5, 1)}, privacy.AddRemove),
		ProfileOf(privacy.ZCDP{Rho: 0.5}, privacy.AddRemove), ProfileOf(privacy.Repeat{N: 2, Event: one}, privacy.AddRemove),
	} {
		if other == p {
			t.Errorf("%d: another event has the profile of %v", i, one)
		}
	}
	if ProfileOf(one, privacy.AddRemove) != p {
		t.Error("the profile was not found again")
	}
	for i := range mostRecent {
		ProfileOf(privacy.Pure{Eps: float64(i + 1)}, privacy.AddRemove)
	}
	if ProfileOf(one, privacy.AddRemove) == p || len(recent.profiles) != mostRecent {
		t.Errorf("%d profiles are kept, and the oldest is among them", len(recent.profiles))
	}
}
