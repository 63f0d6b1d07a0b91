package linear_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/histogram"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/plugins/variance"
	"github.com/dprelease/dprelease/privacy"
)

// surveyed is a request for rows that weigh between 1 and 40, as their private column says.
func surveyed(req sdk.PlanRequest) sdk.PlanRequest {
	d := &req.Public.Design
	d.EqualWeights, d.MinWeight, d.MaxWeight, req.Public.Population = false, 1, 40, 0
	return req
}

// P29: with y in [9000, 10000] and weights up to 40 a total moves by 391,000 where a row takes
// the place of another, and by 400,000 where one may come, go or vanish.
func TestTotalOfASurvey(t *testing.T) {
	for missing, want := range map[sdk.Missing]privacy.Sensitivity{
		sdk.MissingRefuse: {AddRemove: 400_000, ReplaceOne: 391_000}, sdk.MissingDrop: {AddRemove: 400_000, ReplaceOne: 400_000},
	} {
		y := sdk.Column{Name: "y", Type: sdk.Number, Lower: 9000, Upper: 10_000, Missing: missing}
		req := surveyed(lineartest.Request(`{"column":"y"}`, 100, y))
		_, plan, err := sdktest.Plan(sum.Mechanism{}, req)
		if err != nil {
			t.Fatal(err)
		}
		e, unit := plan.Event.(privacy.DiscreteLaplace), plan.Output[0].Granularity
		if got := (privacy.Sensitivity{AddRemove: unit * e.Sensitivity.AddRemove, ReplaceOne: unit * e.Sensitivity.ReplaceOne}); got != want {
			t.Errorf("missing: %s: %v, want %v", missing, got, want)
		}
	}
}

// All units of rows with any value and any weight: no pair moves a vector by more than is
// declared, some pair by nearly as much, and a plan that forgets that rows vanish is refuted.
func TestUnitsOfASurvey(t *testing.T) {
	tier.Full(t, "TestAllUnitsWithIntervals")
	number := func(missing sdk.Missing) []sdk.Column {
		return []sdk.Column{{Name: "y", Type: sdk.Number, Lower: 100, Upper: 130, Missing: missing}, {Name: "x", Type: sdk.Number, Lower: 1, Upper: 2, Missing: sdk.MissingRefuse}}
	}
	for _, c := range []struct {
		m      sdk.Mechanism
		params string
		least  float64
	}{
		{sum.Mechanism{}, `"column":"y"}`, 0.999}, {mean.Mechanism{}, `"column":"y"}`, 0.999}, {count.Mechanism{}, `"consistent":true}`, 0.999},
		{ratio.Mechanism{}, `"numerator":"y","denominator":"x"}`, 0.999}, {variance.Mechanism{}, `"column":"y"}`, 0.7},
		{proportion.Mechanism{}, `"column":"y","from":115}`, 0.999}, {histogram.Mechanism{}, `"column":"y","edges":[100,110,130]}`, 0.999},
		{sum.Mechanism{}, `"column":"y","interval":{"level":95,"square":1,"weighted":true,"replacement":true}}`, 0.6},
		{mean.Mechanism{}, `"column":"y","interval":{"level":95,"square":1,"weighted":true,"replacement":true}}`, 0.6},
		{ratio.Mechanism{}, `"numerator":"y","denominator":"x","interval":{"level":95,"square":1,"weighted":true,"replacement":true}}`, 0.4},
		{histogram.Mechanism{}, `"column":"y","edges":[100,110,130],"interval":{"level":95,"square":1,"weighted":true,"replacement":true}}`, 0.999},
	} {
		cases := lineartest.Cases(`,`+c.params, number(sdk.MissingDrop)...)
		if strings.Contains(c.params, "interval") { // no interval for several rows of a unit in a cell
			cases = slices.DeleteFunc(cases, func(c lineartest.Case) bool { return c.Request.Public.Cap != nil && c.Request.Public.Cap.Rows > 1 })
		}
		for i := range cases {
			cases[i].Request, cases[i].Least = surveyed(cases[i].Request), c.least
			for name, twin := range cases[i].Twins {
				cases[i].Twins[name] = surveyed(twin)
			}
			if c.least < 0.9 {
				cases[i].Twins = nil
			}
		}
		lineartest.Check(t, c.m, cases...)
	}
	// What a row that is always there, and one that may vanish, move.
	stays, leaves := surveyed(lineartest.Request(`{"column":"y"}`, 9, number(sdk.MissingRefuse)...)), surveyed(lineartest.Request(`{"column":"y"}`, 9, number(sdk.MissingDrop)...))
	lineartest.Check(t, sum.Mechanism{}, lineartest.Case{Name: "stays", Request: stays},
		lineartest.Case{Name: "leaves", Request: leaves, Twins: map[string]sdk.PlanRequest{"no row vanishes": stays}})
}
