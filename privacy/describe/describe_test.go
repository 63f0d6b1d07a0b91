package describe_test

import (
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/describe"
)

func TestEvent(t *testing.T) {
	g := privacy.Gaussian{Sigma: 1}
	many := privacy.Compose{}
	for range 20 {
		many.Events = append(many.Events, g)
	}
	for _, c := range []struct {
		e    privacy.Event
		want string
	}{
		{privacy.Repeat{N: 1000, Event: privacy.Poisson{Rate: 0.01, Event: g}}, "poisson(0.01, gaussian(σ=1)) ×1000"},
		{privacy.Repeat{N: 2, Event: privacy.Repeat{N: 3, Event: g}}, "(gaussian(σ=1) ×3) ×2"},
		{privacy.Repeat{N: 2, Event: privacy.Compose{Events: []privacy.Event{g, privacy.Compose{Events: []privacy.Event{privacy.Pure{Eps: 1e-9}, privacy.ZCDP{Rho: 1e8}}}}}},
			"(gaussian(σ=1) + (pure(ε=1e-9) + zcdp(ρ=1e8))) ×2"},
		{privacy.Laplace{Scale: 2, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1}}, "laplace(scale=2, add-remove 1, replace-one 1)"},
		{privacy.DiscreteGaussian{Sigma: 2, Coordinates: 3}, "discrete_gaussian(σ=2, coordinates=3)"},
		{privacy.DiscreteLaplace{Scale: 2}, "discrete_laplace(scale=2)"},
		{privacy.Approx{Eps: 1, Delta: 1e-6}, "approx(ε=1, δ=1e-6)"},
		{privacy.Shuffled{N: 10, Event: privacy.RandomizedResponse{K: 3, Eps0: 2}}, "shuffled(10, randomized_response(k=3, ε0=2))"},
		{privacy.ByGroup{Event: g}, "by_group(gaussian(σ=1))"},
		{privacy.ByGroup{Event: g, Fixed: true}, "by_group(fixed, gaussian(σ=1))"},
		{privacy.Multistage{Stages: []privacy.Stage{{Take: 1, Of: 2}, {Take: 3, Of: 4, MaxTake: 9}}, Event: g}, "multistage(1 of 2 › 3 of 4 (at most 9), gaussian(σ=1))"},
		{privacy.WithoutReplacement{Take: 1, Of: 2, Event: g}, "without_replacement(1 of 2, gaussian(σ=1))"},
		{privacy.WithReplacement{Take: 1, Of: 2}, "with_replacement(1 of 2, ?)"},
		{privacy.LastIterate{Variant: "cyclic-convex", Sigma: 3, N: 100, Batch: 5, Epochs: 2}, "last_iterate(cyclic-convex, σ=3, n=100, batch=5, epochs=2)"},
		{privacy.LastIterate{Variant: "one-pass", Sigma: 3, N: 100, Batch: 5, Early: 0.1}, "last_iterate(one-pass, σ=3, n=100, batch=5, early=0.1)"},
		{many, strings.Repeat("gaussian(σ=1) + ", 8) + "… (20 events)"},
	} {
		if got := describe.Event(c.e); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	wide := privacy.Event(g)
	for range 50 {
		wide = privacy.Poisson{Rate: 0.5, Event: wide}
	}
	if n := len([]rune(describe.Event(wide))); n > 401 {
		t.Errorf("a line of %d characters", n)
	}
}
