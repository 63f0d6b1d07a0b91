package quantiles

import (
	"fmt"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// asked is a request for an interval from a draw of so many rows, of which the draw leaves
// this part of the variance.
func asked(params string, relation privacy.Relation, rows int64, square float64, columns ...sdk.Column) sdk.PlanRequest {
	x := sdk.Column{Name: "x", Type: sdk.Number, Lower: 0, Upper: 1000, Missing: sdk.MissingRefuse}
	return sdk.PlanRequest{
		Params: fmt.Appendf(nil, `{"column":"x",%s"interval":{"level":95,"square":%g,"rows":%d}}`, params, square, rows),
		Target: privacy.Point{Epsilon: 1},
		Public: sdk.Public{Relation: relation, SampleRelations: []privacy.Relation{relation}, Columns: append([]sdk.Column{x}, columns...),
			Design: sdk.Design{Kind: "srswor", Rate: 1, SampleSize: rows, MinWeight: 1, MaxWeight: 1, EqualWeights: true, LargestCount: rows}},
	}
}

// evenTable has so many values, evenly between the bounds.
func evenTable(n int) sdktest.Table {
	t := sdktest.Table{Rows: n, Columns: map[string]sdk.Values{"x": {Float64: make([]float64, n)}, "g": {Codes: make([]int32, n)}}}
	for i := range n {
		t.Columns["x"].Float64[i], t.Columns["g"].Codes[i] = 1000*(float64(i)+0.5)/float64(n), int32(i%2)
	}
	return t
}

// Ends lie on either side of the estimate, ascend with the rank, and move away from it with
// the variance of the draw; those near a bound reach it. A number of rows that is not public
// is paid for.
func TestEnds(t *testing.T) {
	g := sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"a", "b"}, Missing: sdk.MissingRefuse}
	const n = 4000
	for _, c := range []struct {
		params  string
		counted bool
	}{{``, false}, {`"by":"g",`, true}, {`"quantiles":[0.0001,0.5,0.9999],`, false}} {
		wide := 0.0
		for _, square := range []float64{0, 1} {
			req := asked(c.params, privacy.ReplaceOne, n, square, g)
			plan, err := Mechanism{}.Plan(req)
			if err != nil {
				t.Fatal(err)
			}
			if first, is := plan.Event.(privacy.Compose).Events[0].(privacy.DiscreteLaplace); is != c.counted {
				t.Errorf("%s: counts %v", c.params, first)
			}
			if a, err := privacy.EpsilonAt(plan.Event, privacy.ReplaceOne, 0); err != nil || a.Epsilon > 1 || a.Epsilon < 0.999 {
				t.Errorf("%s: costs %v (%v)", c.params, a.Epsilon, err)
			}
			out, err := sdktest.Run(Mechanism{}, req, evenTable(n), nil)
			if err != nil {
				t.Fatal(err)
			}
			column := func(name string) []float64 {
				for _, r := range out.Result.Columns {
					if r.Name == name {
						return r.Float64
					}
				}
				return nil
			}
			value, low, high := column("estimate"), column(linear.LowField), column(linear.HighField)
			for i := range value {
				if !(low[i] <= value[i] && value[i] <= high[i]) || i%3 > 0 && low[i] < low[i-1] {
					t.Errorf("%s: %v to %v around %v", c.params, low, high, value)
				}
			}
			if wide >= high[1]-low[1] {
				t.Errorf("%s: a draw does not widen the interval", c.params)
			}
			wide = high[1] - low[1]
			if len(c.params) > 20 && (low[0] != 0 || high[2] != 1000) {
				t.Errorf("%s: %v to %v does not reach the bounds", c.params, low, high)
			}
		}
	}
}

// There is no interval for units with several rows, of a tree, or of very many ranks.
func TestNoInterval(t *testing.T) {
	for _, params := range []string{`"method":"tree",`, `"quantiles":"percentiles","step":1,`} {
		req := asked(params, privacy.AddRemove, 0, 1)
		if _, err := (Mechanism{}).Plan(req); (err == nil) != (params[1] == 'q') {
			t.Errorf("%s: %v", params, err)
		}
		req.Public.Cap = &sdk.Cap{Groups: 1, Rows: 2}
		if _, err := (Mechanism{}).Plan(req); err == nil {
			t.Errorf("%s: a cap is accepted", params)
		}
	}
}
