package distinct

import (
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

var (
	g    = sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"a", "b", "c", "d"}, Missing: sdk.MissingDrop}
	pass = sdk.Column{Name: "pass", Type: sdk.Category, Domain: []string{"yes"}, Missing: sdk.MissingDrop}
)

// All units, under both relations, behind a filter and by group; twins that leave out that
// a unit is in two groups.
func TestAllUnits(t *testing.T) {
	for _, noise := range []string{"laplace", "gaussian"} {
		for _, n := range []int64{0, 7} {
			filter := lineartest.Request(`{"by":"pass","noise":"`+noise+`"}`, n, pass)
			groups := lineartest.Request(`{"by":"g","noise":"`+noise+`"}`, n, g)
			lineartest.Check(t, Mechanism{},
				lineartest.Case{Name: "filter", Request: filter}, lineartest.Case{Name: "groups", Request: groups},
				lineartest.Case{Name: "filter, cap", Request: lineartest.With(filter, 2, 1)},
				lineartest.Case{Name: "groups, cap", Request: lineartest.With(groups, 2, 1), Twins: map[string]sdk.PlanRequest{"no cap": groups}},
			)
			// What the refusal of several rows keeps out: they would count as units.
			if used, err := lineartest.Used(Mechanism{}, lineartest.With(groups, 2, 1), lineartest.With(groups, 2, 2)); err != nil || used <= 1 {
				t.Errorf("two rows a unit: %v of what is declared is used (%v)", used, err)
			}
		}
	}
}

func TestKnownNumbers(t *testing.T) {
	req := lineartest.With(lineartest.Request(`{"by":"g"}`, 0, g), 3, 1)
	out, err := sdktest.Run(Mechanism{}, req, sdktest.Table{Rows: 6, Columns: map[string]sdk.Values{"g": {Codes: []int32{0, 1, 1, 3, -1, 1}}}}, nil)
	if err != nil || !slices.Equal(lineartest.Get(out, "estimate"), []float64{1, 3, 0, 1}) {
		t.Errorf("%v, %v", out.Result, err)
	}
}

func TestRefusals(t *testing.T) {
	here := g
	here.Missing = sdk.MissingRefuse
	fixed := here
	fixed.Immutable = true
	for name, c := range map[string]struct {
		req  sdk.PlanRequest
		want string
	}{
		"several rows":  {lineartest.With(lineartest.Request(`{"by":"g"}`, 7, g), 1, 2), "several times"},
		"public":        {lineartest.Request(`{}`, 7, g), "public under replace-one"},
		"public groups": {lineartest.Request(`{"by":"g"}`, 7, fixed), "public under replace-one"},
	} {
		if _, err := (Mechanism{}).Plan(c.req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := (Mechanism{}).Plan(lineartest.Request(`{"by":"g"}`, 7, here)); err != nil {
		t.Errorf("groups that a neighbour may change: %v", err)
	}
}
