package linear_test

import (
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
	"github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/plugins/variance"
)

const interval = `,"interval":{"level":95,"square":0.9,"mean":0.1,"rows":7}`

func number(name string, lower, upper float64) sdk.Column {
	return sdk.Column{Name: name, Type: sdk.Number, Lower: lower, Upper: upper, Missing: sdk.MissingRefuse}
}

// All units of the vectors that hold squares, under both relations, by group and behind a
// filter, with both kinds of noise; then with weights and with strata. A plan that leaves out
// the cap is refuted, and so is one for smaller weights. Units with several rows in a cell
// have no interval of a sample.
func TestAllUnitsWithIntervals(t *testing.T) {
	x, y := number("x", -1, 3), number("y", 0, 2)
	for _, m := range tier.Some([]struct {
		mechanism sdk.Mechanism
		params    string
	}{
		{sum.Mechanism{}, `,"column":"x"`}, {mean.Mechanism{}, `,"column":"x"`}, {variance.Mechanism{}, `,"column":"x"`},
		{ratio.Mechanism{}, `,"numerator":"x","denominator":"y"`}, {proportion.Mechanism{}, `,"column":"x","from":0`}, {count.Mechanism{}, ``},
		{histogram.Mechanism{}, `,"column":"x","edges":[-1,0,2,3]`},
	}, 4) {
		name, tried := m.mechanism.Describe().Name, 0
		for _, c := range lineartest.Cases(m.params+interval+"}", x, y) {
			c.Name, c.Least = name+", "+c.Name, 0.4
			if c.Request.Public.Cap != nil && c.Request.Public.Cap.Rows > 1 {
				if _, err := m.mechanism.Plan(c.Request); err == nil || !strings.Contains(err.Error(), "several rows") {
					t.Errorf("%s: %v", c.Name, err)
				}
				continue
			}
			lineartest.Check(t, m.mechanism, c)
			tried++
		}
		if tried < 12 {
			t.Errorf("%s: only %d cases", name, tried)
		}
		for _, population := range []int64{0, 7} {
			req := lineartest.Request("{"+strings.TrimPrefix(m.params+strings.Replace(interval, `"mean":0.1`, `"weighted":true`, 1), ",")+"}", population, x, y)
			if name == "count" && population > 0 {
				continue // the number of rows is public
			}
			req.Public.Design = sdk.Design{Kind: "stratified", MinWeight: 1, MaxWeight: 5}
			light := req
			light.Public.Design.MaxWeight = 2
			lineartest.Check(t, m.mechanism, lineartest.Case{Name: name + ", weights", Request: req, Least: 0.4})
			if used, err := lineartest.Used(m.mechanism, light, req); err == nil && used > 1 {
				t.Errorf("%s: weights above the largest count", name) // they are held to it
			}
		}
	}
}

// The sums by stratum, and a request without the column of the strata.
func TestStrataOfIntervals(t *testing.T) {
	strata := sdk.Column{Name: "h", Type: sdk.Category, Domain: []string{"a", "b"}, Missing: sdk.MissingRefuse}
	params := `{"column":"x","interval":{"level":95,"square":0.9,"rows":7,"strata":{"column":"h","square":[0.9,0.4],"mean":[0.1,0.2]}}}`
	for _, population := range []int64{0, 7} {
		req := lineartest.Request(params, population, number("x", -1, 3), strata)
		req.Public.Design = sdk.Design{Kind: "stratified", MinWeight: 1, MaxWeight: 5}
		lineartest.Check(t, sum.Mechanism{}, lineartest.Case{Name: "strata", Request: req, Least: 0.4})
		if _, err := (sum.Mechanism{}).Plan(lineartest.Request(params, population, number("x", -1, 3))); err == nil || !strings.Contains(err.Error(), "strata") {
			t.Errorf("without the column: %v", err)
		}
		// A factor below 0 would move the sum of squares by more than the largest square.
		wrong := req
		wrong.Params = []byte(strings.Replace(params, "[0.9,0.4]", "[-9,0.4]", 1))
		if used, err := lineartest.Used(sum.Mechanism{}, wrong, wrong); err == nil {
			t.Errorf("a negative factor is accepted: %v of what is declared is used", used)
		}
	}
}
