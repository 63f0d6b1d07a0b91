package budget

import (
	"errors"
	"testing"

	"github.com/dprelease/dprelease/internal/calculus/series"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
	"github.com/dprelease/dprelease/privacy/step"
)

// The planner proposes the bill of a series. One that is not that of its releases is refused before anything is read (P38).
func TestSeriesPaysForItsReleases(t *testing.T) {
	m, err := series.NewMatrix([][]int64{{1}, {0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	of := &planned.Series{Matrix: m, Calls: []privacy.Event{privacy.DiscreteGaussian{Sigma: 2}},
		Question: series.Question{Units: series.Units{AtMost: 2, Apart: 1, Revised: true}}}
	p := &planned.Plan{Draws: []*planned.Draw{{Releases: []*planned.Release{{Answered: planned.Answered{Series: of}}}}}}
	for name, change := range map[string]func(b *periods.Series){
		"fewer periods of a unit": func(b *periods.Series) { b.AtMost = 1 },
		"periods further apart":   func(b *periods.Series) { b.Apart = 2 },
		"slices that stay":        func(b *periods.Series) { b.Revised = false },
		"a cap":                   func(b *periods.Series) { b.Capped = true },
		"another matrix":          func(b *periods.Series) { b.Matrix = [][]int64{{1}, {0, 0}} },
		"more noise":              func(b *periods.Series) { b.Calls = []privacy.Event{privacy.DiscreteGaussian{Sigma: 3}} },
	} {
		bill := of.Bill()
		change(&bill)
		asks := ledger.Request{Steps: []ledger.Step{{Does: step.Event{Measured: []periods.Series{bill}}}}}
		s := &Series{Budget: &Budget{plan: p, asks: asks}, step: &planned.Step{}}
		if err := s.Measure(t.Context(), nil, nil); !errors.Is(err, errUnsound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
