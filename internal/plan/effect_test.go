package plan

import (
	"math"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// A share in a sample has a design effect behind its error, from its own value and a number of rows that is public or released: of a
// simple random sample 1 without noise. A share of which nobody knows the number of rows has none, nor has a mean.
func TestDesignEffect(t *testing.T) {
	share := []string{"mechanism: mean, params: {column: age}", "mechanism: proportion, params: {column: age, from: 65}"}
	of := func(more ...string) *PricedRelease {
		p, err := planIntervals(t, slices.Concat(share, more)...)
		if err != nil {
			t.Fatal(err)
		}
		return p.Releases()[0]
	}
	names := func(fields []sdk.Field) (out []string) {
		for _, f := range fields {
			out = append(out, f.Name)
		}
		return out
	}
	rates := []string{"method: srswor, size: 100", "method: stratified, strata: town, rates: {a: 0.1, b: 0.2}",
		"relation: replace-one", "relation: add-remove", "size: 1000", "unit: row"}
	for _, c := range []struct {
		name  string
		r     *PricedRelease
		count []float64 // that is released
		want  []float64 // nil: there is no column
	}{
		// The error is √2 times that of 100 of 1,000 rows.
		{"all rows", of(), nil, []float64{2, 0}},
		{"by group", of("from: s,", "from: s, by: [town],"), []float64{50, 1.5}, []float64{98.0 / 99, 0}},
		{"unequal weights", of(rates...), []float64{50, 1.5}, nil},
	} {
		err := math.Sqrt(2 * 0.9 * 0.2 * 0.8 / 99)
		if c.name == "by group" {
			c.want[0] = math.Round(1e4*2*49/99) / 1e4
		}
		columns := map[string][]float64{"estimate": {0.2, 0}, "standard_error": {err, err}, "count": c.count}
		var in sdk.Result
		for _, f := range c.r.Plan.Output {
			x := sdk.ResultColumn{Name: f.Name, Float64: columns[f.Name]}
			if f.Type == sdk.String {
				x.Texts = []string{"a", "b"}
			} else if x.Float64 == nil {
				x.Float64 = []float64{1, 1}
			}
			in.Columns = append(in.Columns, x)
		}
		out := c.r.Stated(c.r.Blanked(in))
		var got []string
		for _, x := range out.Columns {
			if got = append(got, x.Name); x.Name == effectField && (x.Float64[0] != c.want[0] || x.Blank[0] || !x.Blank[1]) {
				t.Errorf("%s: %v, blank %v, want %v", c.name, x.Float64, x.Blank, c.want)
			}
		}
		fields := names(c.r.Output())
		if at := slices.Index(got, effectField); (at > 0) != (c.want != nil) ||
			at > 0 && (got[at-1] != cvField || fields[slices.Index(fields, effectField)-1] != cvField) {
			t.Errorf("%s: the plan promises %q, the result has %q", c.name, fields, got)
		}
	}
	p, err := planIntervals(t)
	if err != nil {
		t.Fatal(err)
	}
	if fields := names(p.Releases()[0].Output()); slices.Contains(fields, effectField) {
		t.Errorf("a mean has %q", fields)
	}
}
