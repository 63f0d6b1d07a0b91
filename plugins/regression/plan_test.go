package regression

import (
	"math"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// The plan meets its target under all relations that the sample demands, and wastes
// nothing of it.
func TestPlanMeetsTarget(t *testing.T) {
	for _, noise := range []string{"gaussian", "laplace"} {
		for _, under := range [][]privacy.Relation{{privacy.AddRemove}, {privacy.ReplaceOne}, {privacy.AddRemove, privacy.ReplaceOne}} {
			req := request(under[0], 1000, `{"target":"delay","features":["distance","carrier","hour"],"noise":"`+noise+`"}`)
			req.Public.SampleRelations = under
			_, plan, err := sdktest.Plan(Mechanism{}, req)
			if err != nil {
				t.Fatal(err)
			}
			if noise == "laplace" {
				req.Target.Delta = 0
			}
			most := 0.0
			for _, rel := range under {
				a, err := privacy.EpsilonAt(plan.Event, rel, req.Target.Delta)
				if err != nil {
					t.Fatal(err)
				}
				most = math.Max(most, a.Epsilon)
			}
			if most > req.Target.Epsilon || most < 0.999*req.Target.Epsilon {
				t.Errorf("%s under %v: ε %v", noise, under, most)
			}
			if len(plan.Errors) < 2 || !strings.Contains(plan.Errors[1].Note, "distance: noise of about") {
				t.Errorf("the plan does not say what noise does to a slope: %+v", plan.Errors)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	replace := func(c sdk.Column, to sdk.PlanRequest) sdk.PlanRequest {
		to.Public.Columns = append([]sdk.Column{c}, to.Public.Columns...)
		return to
	}
	good := func(params string) sdk.PlanRequest { return request(privacy.ReplaceOne, 100, params) }
	plain := `{"target":"delay","features":["distance"]}`
	pure, unweighted := good(plain), good(plain)
	pure.Target.Delta = 0
	unweighted.Public.Design = sdk.Design{Kind: "multistage"}
	number := func(lower, upper float64) sdk.Column {
		return sdk.Column{Name: "distance", Type: sdk.Number, Lower: lower, Upper: upper}
	}
	for name, c := range map[string]struct {
		req  sdk.PlanRequest
		want string
	}{
		"pure":             {pure, "laplace"},
		"no weight":        {unweighted, "largest weight"},
		"no feature":       {good(`{"target":"delay","features":[]}`), "features"},
		"feature twice":    {good(`{"target":"delay","features":["hour","hour"]}`), "twice"},
		"target a feature": {good(`{"target":"delay","features":["hour","delay"]}`), "is the target"},
		"undeclared":       {good(`{"target":"delay","features":["colour"]}`), "not declared"},
		"no target":        {good(`{"target":"colour","features":["hour"]}`), "not declared"},
		"category target":  {good(`{"target":"weekend","features":["hour"]}`), "sgd"},
		"unknown key":      {good(`{"target":"delay","features":["hour"],"colour":1}`), "colour"},
		"log of zero":      {good(`{"target":"delay","features":["distance"],"log":["distance"]}`), "positive lower"},
		"log elsewhere":    {good(`{"target":"delay","features":["distance"],"log":["hour"]}`), "log"},
		"ridge":            {good(`{"target":"delay","features":["distance"],"ridge":-1}`), "ridge"},
		"noise":            {good(`{"target":"delay","features":["distance"],"noise":"uniform"}`), "noise"},
		"equal bounds":     {replace(number(5, 5), good(plain)), "lower below upper"},
		"turned bounds":    {replace(number(5, 4), good(plain)), "lower below upper"},
		"tiny bounds":      {replace(number(0, 5e-324), good(plain)), "too close"},
		"one value":        {replace(sdk.Column{Name: "distance", Type: sdk.Category, Domain: []string{"a"}}, good(plain)), "two values"},
	} {
		if _, err := (Mechanism{}).Plan(c.req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Huge bounds are no reason to refuse, and what is released is finite.
	huge := replace(number(-1e308, 1e308), good(plain))
	records := []record{{distance: 1, delay: 4}, {distance: 1e308, delay: 9}}
	huge.Public.Population, huge.Public.Design.SampleSize = 2, 2
	run(t, huge, table(records, false), nil)
}
