package plan

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/bounds"
	"github.com/dprelease/dprelease/plugins/sdk"
	total "github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/privacy"
)

// What a run finds makes another plan with the same events, and leaves the one that it was
// made from as it was.
func TestFoundMakesAnotherPlan(t *testing.T) {
	_, keyed := keyedPlan(t)
	text := strings.NewReplacer("FIRST, params: {column: x}", "sum, params: {column: x}", "SECOND, params: {column: x}", "sum, params: {column: x}").Replace(boundedJob)
	j, err := language.Parse("job.yaml", []byte(text), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bounded, err := Make(t.Context(), j, direct{"sum": total.Mechanism{}, "bounds": bounds.Mechanism{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		plan  *Planned
		found planned.Found
	}{
		"keys":   {keyed.Planned, planned.Found{Keys: map[string][]string{"towns": {"a", "b"}}}},
		"bounds": {bounded.Planned, planned.Found{Bounds: map[string]planned.Bounds{"": {"x": 8}}}},
	} {
		var before []PlannedRelease
		for _, r := range c.plan.Releases() {
			before = append(before, *r)
		}
		next, err := c.plan.again(context.Background(), c.found)
		if err != nil {
			t.Fatal(name, err)
		}
		for i, r := range c.plan.Releases() {
			if !reflect.DeepEqual(*r, before[i]) {
				t.Errorf("%s: release %s changed", name, r.Job.Name)
			}
			if n := next.Releases()[i]; n == r || !privacy.Equal(n.Event(), r.Event()) || n.Target != r.Target {
				t.Errorf("%s: release %s does another thing than was charged", name, r.Job.Name)
			}
		}
	}
	next, err := bounded.again(context.Background(), planned.Found{Bounds: map[string]planned.Bounds{"": {"x": 8}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range next.Releases() {
		if r.Job.Bounds != "" {
			continue
		}
		in := sdk.Result{Columns: []sdk.ResultColumn{{Name: "estimate", Float64: []float64{0.5}}}}
		if out := r.InUnits(in); out.Columns[0].Float64[0] != 4 || in.Columns[0].Float64[0] != 0.5 {
			t.Errorf("%s: %v in units of 8", r.Job.Name, out.Columns[0].Float64)
		}
	}
}
