package report

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// Sampling is taken out wherever it stands, and nothing else is.
func TestWithoutSampling(t *testing.T) {
	g := privacy.Gaussian{Sigma: 2}
	e := privacy.Compose{Events: []privacy.Event{
		privacy.Repeat{N: 3, Event: privacy.Poisson{Rate: 0.1, Event: g}},
		privacy.Shuffled{N: 100, Event: privacy.RandomizedResponse{K: 3, Eps0: 1}}, g,
	}}
	got, changed := privacy.WithoutSampling(e)
	want := privacy.Compose{Events: []privacy.Event{privacy.Repeat{N: 3, Event: g}, privacy.RandomizedResponse{K: 3, Eps0: 1}, g}}
	a, err := privacy.EpsilonAt(got, privacy.ReplaceOne, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	b, err := privacy.EpsilonAt(want, privacy.ReplaceOne, 1e-5)
	if err != nil || !changed || a.Epsilon != b.Epsilon {
		t.Errorf("%#v (changed: %v), %v", got, changed, err)
	}
	if _, changed := privacy.WithoutSampling(g); changed {
		t.Error("an event without sampling was changed")
	}
}

// Spends are rounded up and limits down, but for the billionths that were kept back.
func TestNumbersAreRoundedOutward(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Spent(1.00001), "1.001"}, {Spent(0.5), "0.5"}, {Spent(1e-6), "1e-6"}, {Spent(1.23456e-7), "1.235e-7"}, {Spent(math.Inf(1)), "+Inf"},
		{Allowed(1.9999), "1.999"}, {Allowed(0.5 * (1 - 1e-9)), "0.5"}, {Allowed(2e-6 * (1 - 2e-9)), "2e-6"},
		{amount("1.2000000000000000000001", true), "1.201"}, {amount("1.1999999999999999999999", false), "1.2"}, {amount("?", true), "?"},
		{before(Amount{Spent: "1.25", Cost: "0.5"}), "0.75"}, {before(Amount{Spent: "0.5", Cost: "0.5"}), "0"}, {before(Amount{}), "–"},
		{plain(1234567.891, 7), "1234568"}, {plain(0.00123, 7), "0.00123"}, {plain(-2.5, 7), "-2.5"}, {plain(0, 7), "0"},
		{grouped(1234567), "1\u202f234\u202f567"}, {grouped(999), "999"}, {grouped(-1234), "−1\u202f234"},
		{factor(800), "e^800"}, {string(maths("ε′ = e^(mε) − q^n < e^(a(b))")), "ε′ = e<sup>mε</sup> − q<sup>n</sup> &lt; e<sup>a(b)</sup>"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// The rule of a draw gives the efficiency and its bound.
func TestAmplificationBoundsTheEfficiency(t *testing.T) {
	target := privacy.Point{Epsilon: 0.5}
	for _, s := range []privacy.Sampling{privacy.Poisson{Rate: 0.1}, privacy.WithoutReplacement{Take: 10, Of: 100}, privacy.WithoutReplacement{Take: 99, Of: 100}} {
		a := NewAmplification(s, privacy.ReplaceOne, target)
		eff, err := privacy.Efficiency(s, privacy.ReplaceOne, target)
		if err != nil || a.Source == "" || a.Rule == "" || !(a.Bound > 0 && a.Bound <= eff) {
			t.Errorf("%#v: %+v, efficiency %g, %v", s, a, eff, err)
		}
	}
	for _, s := range []privacy.Sampling{privacy.Multistage{Stages: []privacy.Stage{{Take: 1, Of: 2}, {Take: 3, Of: 4}}}, privacy.WithReplacement{Take: 3, Of: 9}} {
		if a := NewAmplification(s, privacy.ReplaceOne, target); a == nil || a.Bound != 0 || !(a.Rate > 0 && a.Rate < 1) {
			t.Errorf("%#v: %+v", s, a)
		}
	}
	if a := NewAmplification(nil, privacy.ReplaceOne, target); a != nil {
		t.Errorf("no draw: %+v", a)
	}
}
