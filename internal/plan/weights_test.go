package plan

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/regression"
	"github.com/dprelease/dprelease/plugins/sdk"
	totals "github.com/dprelease/dprelease/plugins/sum"
)

func planWeights(t *testing.T, replace ...string) (*Priced, error) {
	t.Helper()
	text := strings.NewReplacer("  columns:", "  weights: {column: w, at_most: 40, first_stage: unit}\n  columns:\n    w: {type: number}",
		"samples: {s: {method: srswor, size: 100}}\n",
		"samples: {s: {method: srswor, size: 100}, p: {method: poisson, rate: 0.25}}\n").Replace(intervals)
	j, err := language.Parse("job.yaml", []byte(strings.NewReplacer(replace...).Replace(text)), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Make(t.Context(), j, direct{"mean": mean.Mechanism{}, "median": median.Mechanism{}, "sum": totals.Mechanism{}, "regression": regression.Mechanism{}}, fresh{})
}

// A mechanism is told the bounds of the weights, those of the draw multiplied in, and nothing
// that would let it take their sum for public.
func TestWeightsReachTheMechanism(t *testing.T) {
	for name, c := range map[string]struct {
		replace     []string
		least, most float64
	}{
		"of a table":       {[]string{"from: s, ", ""}, 1, 40},
		"of a sample":      {nil, 10, 400},
		"of a poisson":     {[]string{"from: s", "from: p"}, 4, 160},
		"shrunk":           {[]string{"from: s, ", "", "first_stage: unit", "shrink: {to: 20, keep: 0.25}", "interval: 95, ", ""}, 15.25, 25},
		"of another bound": {[]string{"from: s, ", "", "at_most: 40", "at_most: 7"}, 1, 7},
	} {
		p, err := planWeights(t, c.replace...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := p.Releases()[0]
		d := r.Public.Design
		if d.EqualWeights || d.MinWeight != c.least || d.MaxWeight != c.most || r.Public.Population != 0 {
			t.Errorf("%s: %+v, population %d", name, d, r.Public.Population)
		}
		for _, e := range r.Plan.Errors {
			if e.Linear != nil || e.SamplingNote != Survey {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if !contains(r.Reads(), "w") {
			t.Errorf("%s: the weights are not read", name)
		}
	}
	p, err := planWeights(t, "mechanism: mean", "weights: none, mechanism: mean")
	if err != nil || p.Releases()[0].Weights != nil || !p.Releases()[0].Public.Design.EqualWeights {
		t.Errorf("weights: none: %v", err)
	}
	// A row without a weight vanishes: it is planned as filtered (P24).
	if p, err = planWeights(t, "{type: number}", "{type: number, missing: drop}", "from: s, ", ""); err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Releases()[0].Public.Columns {
		if c.Missing != sdk.MissingDrop {
			t.Errorf("column %s: missing values are %s", c.Name, c.Missing)
		}
	}
}

func contains(all []string, one string) bool {
	return strings.Contains(" "+strings.Join(all, " ")+" ", " "+one+" ")
}

// What has no sound weights, or no valid interval with them, is refused with the reason.
func TestWeightsRefused(t *testing.T) {
	for want, replace := range map[string][]string{
		"median does not use the weights of a survey":                 {"mechanism: mean", "mechanism: median", "interval: 95, ", ""},
		"regression does not use the weights of a survey":             {"mechanism: mean", "mechanism: regression", "interval: 95, ", ""}, // linear, and takes samples of unequal weights
		"does not say that the survey drew the units":                 {", first_stage: unit", ""},
		"shrunk weights estimate another value":                       {"first_stage: unit", "first_stage: unit, shrink: {to: 20, keep: 0.5}"},
		"a sample of fixed size from a table of secret size has no":   {"replace-one\n  size: 1000", "add-remove\n  at_least: 500", "interval: 95, ", ""},
		"interval: a unit may have several rows in a cell, and the e": {"  columns:", "  unit: {column: u, name: unit}\n  cap: {rows: 2}\n  columns:", "from: s, ", ""},
	} {
		if _, err := planWeights(t, replace...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// An interval takes the survey's first stage as drawn with replacement.
func TestWeightsHaveAnInterval(t *testing.T) {
	for name, c := range map[string]struct {
		replace      []string
		square, mean float64
	}{
		"public number": {[]string{"from: s, ", ""}, 1000.0 / 999, 1.0 / 999},
		"sample":        {nil, 100.0 / 99, 1.0 / 99},
		"poisson":       {[]string{"from: s", "from: p"}, 1, 0},
		"secret number": {[]string{"from: s, ", "", "replace-one\n  size: 1000", "add-remove", "srswor, size: 100", "poisson, rate: 0.1"}, 1, 0},
	} {
		p, err := planWeights(t, c.replace...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got struct{ Interval interval }
		if err := json.Unmarshal(p.Releases()[0].Params, &got); err != nil {
			t.Fatal(err)
		}
		if i := got.Interval; !i.Replacement || !i.Weighted || math.Abs(i.Square-c.square) > 1e-12 || math.Abs(i.Mean-c.mean) > 1e-12 {
			t.Errorf("%s: %+v", name, i)
		}
	}
}
