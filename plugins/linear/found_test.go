package linear_test

import (
	"context"
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/privacy"
)

// drawn adds the noise that a host would.
type drawn struct {
	sdk.Host
	src *noise.Source
}

func (d drawn) AddLaplace(_ context.Context, ev privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteLaplace(d.src, v, ev.Scale)
}

// The noise of a release whose cap was found is in proportion to the cap, and its event is not: it is that of all rows that a
// unit may count as. The standard deviation that the plan forecasts is the one of the errors, within 10 %: with 4,000 draws
// the ratio of the two has a standard deviation of 1.8 % for Laplace noise, so this fails in fewer than one of a million runs.
func TestNoiseIsThatOfTheCapFound(t *testing.T) {
	const all = 12
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	x := sdk.Column{Name: "x", Type: sdk.Number, Lower: 0, Upper: 1, Missing: sdk.MissingDrop}
	events := map[privacy.Event]bool{}
	for _, rows := range []int64{1, 4, all} {
		req := lineartest.Found(lineartest.Request(`{"column":"x","noise":"laplace"}`, 0, x), rows, all/rows)
		_, plan, err := sdktest.Plan(sum.Mechanism{}, req)
		if err != nil {
			t.Fatal(err)
		}
		events[plan.Event] = true
		want := math.Sqrt2 * float64(rows) // ε is 1
		if got := plan.Errors[0].NoiseSD; math.Abs(got/want-1) > 0.01 {
			t.Errorf("a cap of %d rows: the forecast is %v, want %v", rows, got, want)
		}
		if got := plan.Errors[0].Half95 / want; math.Abs(got-math.Log(20)/math.Sqrt2) > 0.02 {
			t.Errorf("a cap of %d rows: 95 of 100 errors are within %v standard deviations", rows, got)
		}
		table := sdktest.Table{Rows: 3, Columns: map[string]sdk.Values{"x": {Float64: []float64{0.25, 1, 0.5}}}}
		square, draws := 0.0, 4000
		for range draws {
			out, err := sdktest.Run(sum.Mechanism{}, req, table, drawn{src: src})
			if err != nil {
				t.Fatal(err)
			}
			e := lineartest.Get(out, "estimate")[0] - 1.75
			square += e * e / float64(draws)
		}
		if got := math.Sqrt(square); math.Abs(got/want-1) > 0.1 {
			t.Errorf("a cap of %d rows: the errors have a standard deviation of %v, want %v", rows, got, want)
		}
	}
	if len(events) != 1 {
		t.Errorf("the event depends on the cap that was found: %v", events)
	}
}
