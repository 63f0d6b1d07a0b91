package verdict

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/calculus/rdp"
	"github.com/dprelease/dprelease/internal/say/sentence"
	"github.com/dprelease/dprelease/privacy"
)

// The chance of an attacker who knows the point alone: a half for ε = 0, and for ε = ln 3 the
// odds are three to one. The value beside it would be too small.
func TestGuessOfPoint(t *testing.T) {
	for _, c := range []struct {
		p    privacy.Point
		want string
	}{
		{privacy.Point{}, "50"}, {privacy.Point{Epsilon: 1.0986}, "75"}, {privacy.Point{Epsilon: 1.0987}, "76"}, {privacy.Point{Epsilon: 1.9}, "87"},
		{privacy.Point{Delta: 1}, "100"}, {privacy.Point{Delta: 0.1}, "55"}, {privacy.Point{Epsilon: 6}, "99.76"}, {privacy.Point{Epsilon: 50}, "100"},
	} {
		if got := InHundred(OfPoint(c.p).Guess); got != c.want {
			t.Errorf("%v: %s, not %s", c.p, got, c.want)
		}
	}
	for x, want := range map[float64]string{0.12301: "12.4 %", 0.123: "12.3 %", 1: "100 %"} {
		if got := Percent(x); got != want {
			t.Errorf("%g: %s, not %s", x, got, want)
		}
	}
}

// The point of Gaussian noise calls a guarantee very weak whose profile is not: the verdict
// comes from the profile, and never says more than the point allows.
func TestTheProfileDecides(t *testing.T) {
	for _, sigma := range []float64{0.4, 0.5, 1, 2, 8} {
		e := privacy.Gaussian{Sigma: sigma}
		at, err := privacy.EpsilonAt(e, privacy.AddRemove, 1e-9)
		if err != nil {
			t.Fatal(err)
		}
		p := privacy.Point{Epsilon: at.Epsilon, Delta: at.Delta}
		tight, loose := ProfileOf(e, privacy.AddRemove).Attacker(p), OfPoint(p)
		if tight.Guess >= loose.Guess || tight.Detection > loose.Detection || tight.Guess < 0.5 || tight.Detection < falseAlarm {
			t.Errorf("σ %g: %+v from the profile, %+v from the point", sigma, tight, loose)
		}
	}
	p := privacy.Point{Epsilon: 6.2, Delta: 1e-9}
	if text := OfPoint(p).Caution(sentence.In("en"), "person"); !strings.Contains(text, "very weak") {
		t.Errorf("by the point: %q", text)
	}
	if text := ProfileOf(privacy.Gaussian{Sigma: 1}, privacy.AddRemove).Attacker(p).Caution(sentence.In("en"), "person"); text != "" {
		t.Errorf("by the profile: %q", text)
	}
}

// The verdict of divergences is never better than that of Gaussian noise that has them.
func TestOfDivergences(t *testing.T) {
	orders := []float64{1.5, 2, 4, 8, 16, 64}
	for _, rho := range []float64{0.005, 0.1, 0.5} {
		e := privacy.Gaussian{Sigma: 1 / math.Sqrt(2*rho)}
		at, err := privacy.EpsilonAt(e, privacy.AddRemove, 1e-9)
		if err != nil {
			t.Fatal(err)
		}
		exact := ProfileOf(e, privacy.AddRemove).Attacker(privacy.Point{Epsilon: at.Epsilon, Delta: at.Delta})
		var some []float64
		for _, o := range orders {
			some = append(some, rho*o)
		}
		for name, got := range map[string]Attacker{"ρ": OfDivergences(rdp.ZCDP(rho)), "orders": OfDivergences(AtOrders(orders, some))} {
			if got.Guess < exact.Guess || got.Detection < exact.Detection || got.Guess > math.Max(1.3*exact.Guess, 1) {
				t.Errorf("ρ %g by %s: %+v, and %+v of the noise", rho, name, got, exact)
			}
		}
	}
	if got := OfDivergences(rdp.ZCDP(1e9)); got.Guess < 1-1e-9 {
		t.Errorf("no guarantee at all: %+v", got)
	}
}

// The chances stand in report.json.
func TestJSON(t *testing.T) {
	if b, err := json.Marshal(Attacker{0.5, 0.05}); err != nil || string(b) != `{"guess":0.5,"detection":0.05}` {
		t.Errorf("%s, %v", b, err)
	}
}
