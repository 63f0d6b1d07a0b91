package plan

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Values are marked and blanked by their released whole error over their released value; a value that is blank already keeps no mark,
// and text columns keep their words.
func TestQuality(t *testing.T) {
	p, err := planIntervals(t, "interval: 95,", "interval: 95, suppress: {flag: 0.15, blank: 0.3},", "params:", "by: [town], params:", "domain: [a, b]", "domain: [a, b, c, d, e]")
	if err != nil {
		t.Fatal(err)
	}
	r := p.Releases()[0]
	columns := map[string][]float64{"estimate": {10, 10, 10, 0, math.NaN()}, "standard_error": {1, 2, 4, 1, math.NaN()}}
	var in sdk.Result
	for _, f := range r.Plan.Output {
		c := sdk.ResultColumn{Name: f.Name}
		switch f.Type {
		case sdk.Float64:
			if c.Float64 = columns[f.Name]; c.Float64 == nil {
				c.Float64 = []float64{1, 1, 1, 1, 1}
			}
		default:
			c.Texts = []string{"a", "b", "c", "d", "e"}
		}
		in.Columns = append(in.Columns, c)
	}
	out := r.Stated(r.Blanked(in))
	var names []string
	for _, c := range out.Columns {
		names = append(names, c.Name)
		switch {
		case c.Name == qualityField:
			if want := []string{"", uncertain, tooUncertain, tooUncertain, ""}; !slices.Equal(c.Texts, want) {
				t.Errorf("marks are %q, want %q", c.Texts, want)
			}
		case c.Float64 != nil:
			if hidden := c.Blank != nil && c.Blank[2] && c.Blank[3] && c.Float64[2] == 0; !hidden || c.Blank[0] || c.Blank[1] {
				t.Errorf("%s: %v, blank %v", c.Name, c.Float64, c.Blank)
			}
		case c.Blank != nil:
			t.Errorf("%s is blank", c.Name)
		}
	}
	var fields []string
	for _, f := range r.Output() {
		fields = append(fields, f.Name)
	}
	if after := func(names []string) int { return slices.Index(names, qualityField) - slices.Index(names, "flag") }; after(fields) != 1 || after(names) != 1 {
		t.Errorf("the plan promises %q, the result has %q", fields, names)
	}
}

// A mark needs an error, and a blank value no mark.
func TestQualityRefused(t *testing.T) {
	for want, suppress := range map[string]string{"must be larger than flag": "{flag: 0.3, blank: 0.3}", "blanks nothing": "{}"} {
		text := strings.Replace(intervals, "interval: 95,", "interval: 95, suppress: "+suppress+",", 1)
		if _, err := language.Parse("job.yaml", []byte(text), language.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", suppress, err)
		}
	}
	if _, err := planIntervals(t, "mechanism: mean", "mechanism: median", "interval: 95,", "suppress: {blank: 0.3},"); err == nil || !strings.Contains(err.Error(), "standard error") {
		t.Error(err)
	}
}
