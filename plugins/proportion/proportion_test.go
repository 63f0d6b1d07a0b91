package proportion

import (
	"math"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

func category(name string, missing sdk.Missing, domain ...string) sdk.Column {
	return sdk.Column{Name: name, Type: sdk.Category, Domain: domain, Missing: missing}
}

var x = sdk.Column{Name: "x", Type: sdk.Number, Lower: 0, Upper: 10, Missing: sdk.MissingDrop}

// All units, under both relations, with and without a cap, behind a filter and by group,
// of a category and of a number.
func TestAllUnits(t *testing.T) {
	for _, missing := range []sdk.Missing{sdk.MissingRefuse, sdk.MissingDrop} {
		lineartest.Check(t, Mechanism{}, lineartest.Cases(`,"column":"c","values":["p","q"]}`, category("c", missing, "p", "q", "r"))...)
	}
	lineartest.Check(t, Mechanism{}, lineartest.Cases(`,"column":"x","from":1,"to":6}`, x)...)
	// A public number of rows: one half either way, and a plan for rows that stay does not
	// hold where a unit has two.
	c := category("c", sdk.MissingRefuse, "p", "q")
	whole := lineartest.Request(`{"column":"c","values":"p"}`, 7, c)
	lineartest.Check(t, Mechanism{}, lineartest.Case{Name: "whole table", Request: whole},
		lineartest.Case{Name: "cap", Request: lineartest.With(whole, 1, 2), Twins: map[string]sdk.PlanRequest{"no cap": whole}})
}

func TestKnownShares(t *testing.T) {
	c, g := category("c", sdk.MissingDrop, "p", "q", "r"), category("g", sdk.MissingRefuse, "a", "b", "none")
	tab := sdktest.Table{Rows: 6, Columns: map[string]sdk.Values{
		"c": {Codes: []int32{0, 1, 2, 0, -1, 2}}, "g": {Codes: []int32{0, 0, 0, 1, 1, 1}},
		"x": {Float64: []float64{1, 5.9, 6, 0, 10, 3}, Valid: []byte{0b101111}},
	}}
	for params, want := range map[string][3][]float64{
		`{"column":"c","values":["p","q"],"by":"g"}`: {{2.0 / 3, 0.5, 0.5}, {3, 2, 0}},
		`{"column":"c","values":"r"}`:                {{0.4}, {5}},
		`{"column":"x","from":1,"to":6}`:             {{0.6}, {5}},
		`{"column":"x","to":1,"by":"g"}`:             {{0, 0.5, 0.5}, {3, 2, 0}},
		`{"column":"x","from":6}`:                    {{0.2}, {5}},
	} {
		for _, n := range []int64{0, 6} {
			out, err := sdktest.Run(Mechanism{}, lineartest.Request(params, n, c, g, x), tab, nil)
			if err != nil {
				t.Fatal(params, err)
			}
			for i, w := range want[0] {
				if e, m := lineartest.Get(out, "estimate")[i], lineartest.Get(out, "count")[i]; math.Abs(e-w) > 1e-6 || math.Abs(m-want[1][i]) > 1e-6 {
					t.Errorf("%s, row %d: %v of %v, want %v of %v", params, i, e, m, w, want[1][i])
				}
			}
		}
	}
	// Where the number of rows is public it is not estimated.
	all := category("c", sdk.MissingRefuse, "p", "q", "r")
	full := sdktest.Table{Rows: 4, Columns: map[string]sdk.Values{"c": {Codes: []int32{0, 1, 2, 0}}}}
	req := lineartest.Request(`{"column":"c","values":"p"}`, 8, all)
	req.Public.Design = sdk.Design{Kind: "poisson", Rate: 0.5, MinWeight: 2, MaxWeight: 2, EqualWeights: true}
	req.Public.SampleRelations = []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
	req.Target.Epsilon = 20
	// The number of rows of a Poisson sample varies, so the share is a ratio all the same, unless the job says otherwise.
	for params, want := range map[string]float64{`{"column":"c","values":"p"}`: 4, `{"column":"c","values":"p","difference":true}`: 0} {
		req.Params = []byte(params)
		out, err := sdktest.Run(Mechanism{}, req, full, nil)
		if err != nil || math.Abs(lineartest.Get(out, "estimate")[0]-0.5) > 1e-6 || out.Plan.Errors[0].Linear == nil || out.Plan.Errors[0].Ratio() != (want > 0) {
			t.Errorf("%s: %+v, %v", params, out.Result, err)
		}
		if count := lineartest.Get(out, "count"); want > 0 && math.Abs(count[0]-want) > 1e-6 || want == 0 && count != nil {
			t.Errorf("%s: %v", params, count)
		}
	}
}

// The noise of a filtered share under replace-one: a centred sum beside a count.
func TestNoiseOfAFilteredShare(t *testing.T) {
	pass := category("pass", sdk.MissingDrop, "yes")
	c := category("c", sdk.MissingDrop, "p", "q")
	for n, want := range map[int64]float64{0: math.Sqrt2, 7: 2} {
		_, plan, err := sdktest.Plan(Mechanism{}, lineartest.Request(`{"column":"c","values":"p","by":"pass"}`, n, pass, c))
		if err != nil {
			t.Fatal(err)
		}
		note := "noise of standard deviation at most " + map[int64]string{0: "1.414/m", 7: "2/m"}[n]
		if !strings.Contains(plan.Errors[0].Note, note) {
			t.Errorf("population %d: %q, want %v", n, plan.Errors[0].Note, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	c := category("c", sdk.MissingRefuse, "p", "q")
	for params, want := range map[string]string{
		`{"column":"c"}`:                          "name the value",
		`{"column":"c","values":"z"}`:             "not in the domain",
		`{"column":"c","values":"p","from":1}`:    "for numbers",
		`{"column":"x"}`:                          "give from, to or both",
		`{"column":"x","values":"p"}`:             "are for a category",
		`{"column":"x","from":2,"to":2}`:          "below to",
		`{"column":"z","values":"p"}`:             "not declared",
		`{"column":"c","values":"p","share":"p"}`: "unknown field",
	} {
		if _, err := (Mechanism{}).Plan(lineartest.Request(params, 0, c, x)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", params, err, want)
		}
	}
}
