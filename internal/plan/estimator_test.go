package plan

import (
	"strings"
	"testing"
)

// A mean of a Poisson or multistage sample of a public number of rows is a ratio of two sums, unless the mean that the job assumes is so
// near the middle of the bounds that the difference from there has the smaller error: with ε 1 the noise of the ratio is larger, and the
// number of drawn rows adds √(0.9/100)·|mean − 60|.
func TestTheBetterEstimator(t *testing.T) {
	poisson := "{method: srswor, size: 100}"
	for _, c := range []struct {
		assume     string
		difference bool
	}{{"", false}, {", assume: {mean: 20, sd: 10}", false}, {", assume: {mean: 61, sd: 10}", true}, {", assume: {sd: 10}", false}} {
		p, err := planIntervals(t, poisson, "{method: poisson, rate: 0.1}", "upper: 120", "upper: 120"+c.assume)
		if err != nil {
			t.Fatal(err)
		}
		r := p.Releases()[0]
		if strings.Contains(string(r.Params), `"difference":true`) != c.difference || r.Plan.Errors[0].Ratio() == c.difference || r.Instead == nil || r.Instead.Ratio() != c.difference {
			t.Errorf("%q: %s, %+v, %+v", c.assume, r.Params, r.Plan.Errors, r.Instead)
		}
	}
	if p, err := planIntervals(t); err != nil || p.Releases()[0].Instead != nil {
		t.Errorf("a simple random sample has two estimators: %v", err)
	}
}
