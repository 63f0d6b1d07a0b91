package unitrows

import (
	"context"
	"github.com/dprelease/dprelease/plugins/asked"
	"math"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

func rowsOf(atMost float64) sdk.Column {
	return sdk.Column{Name: "n", Type: sdk.Number, Lower: 1, Upper: atMost, Missing: sdk.MissingRefuse}
}

// All units, under both relations, behind a filter and by group. The broken twin counts rows instead
// of units: a unit with two rows then moves the bins by twice of what is declared.
func TestAllUnits(t *testing.T) {
	pass := sdk.Column{Name: "pass", Type: sdk.Category, Domain: []string{"yes"}, Missing: sdk.MissingDrop}
	for _, noise := range []string{"laplace", "gaussian"} {
		for _, units := range []int64{0, 7} {
			plain := lineartest.Request(`{"column":"n","at_most":4,"keep":[2],"noise":"`+noise+`"}`, units, rowsOf(4))
			filter := lineartest.Request(`{"column":"n","at_most":4,"keep":[2],"by":"pass","noise":"`+noise+`"}`, units, rowsOf(4), pass)
			lineartest.Check(t, Mechanism{}, lineartest.Case{Name: "all", Request: plain}, lineartest.Case{Name: "filter", Request: filter})
			if used, err := lineartest.Used(Mechanism{}, plain, lineartest.With(plain, 1, 2)); err != nil || used < 1.4 {
				t.Errorf("%s, %d units: a histogram of rows uses %v of what is declared (%v)", noise, units, used, err)
			}
		}
	}
}

// Five units: two with one row, one with 2, 3 and 9. A cap of two rows keeps eight of sixteen; with
// at most 4, the last unit counts with four rows.
func TestKnownNumbers(t *testing.T) {
	tab := sdktest.Table{Rows: 5, Columns: map[string]sdk.Values{"n": {Float64: []float64{1, 3, 1, 9, 2}}}}
	for atMost, want := range map[string][]float64{"4": {11, 8, 3. / 11, 2, 1, 1, 1}, "9": {16, 8, 0.5, 2, 1, 1, 0, 0, 0, 0, 0, 1}} {
		req := lineartest.Request(`{"column":"n","at_most":`+atMost+`,"keep":[2],"interval":{"level":95}}`, 0, rowsOf(9))
		req.Target.Epsilon = 100
		out, err := sdktest.Run(Mechanism{}, req, tab, nil)
		if err != nil {
			t.Fatal(err)
		}
		low, high := lineartest.Get(out, linear.LowField), lineartest.Get(out, linear.HighField)
		for i, got := range lineartest.Get(out, "estimate") {
			if math.Abs(got-want[i]) > 1e-12 || !(low[i] <= got && got <= high[i]) {
				t.Errorf("at most %s: figure %d is %v (%v to %v), want %v", atMost, i, got, low[i], high[i], want[i])
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	for params, want := range map[string]string{
		`{"column":"n","at_most":4,"keep":[5]}`: "keep", `{"column":"n","at_most":1,"keep":[1]}`: "at_most", `{"column":"m","at_most":4,"keep":[2]}`: "column",
	} {
		if _, err := (Mechanism{}).Plan(lineartest.Request(params, 0, rowsOf(4))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", params, err, want)
		}
	}
	if _, err := (Mechanism{}).Plan(lineartest.With(lineartest.Request(`{"column":"n","at_most":4,"keep":[2]}`, 0, rowsOf(4)), 1, 2)); err == nil {
		t.Error("units with several rows are accepted")
	}
}

// drawn adds the noise that a host would.
type drawn struct {
	sdk.Host
	src *noise.Source
}

func (d drawn) AddLaplace(_ context.Context, ev privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteLaplace(d.src, v, ev.Scale)
}

// Where no unit has more rows than the last bin says, the intervals hold the true number of rows, the
// number that the cap keeps, and the share that it leaves out, each in at least 95 of 100 cases: an
// interval takes the quantile of one Laplace variable, and sums of several have lighter tails. They
// are not much wider: for a normal error they would hold in 96.6 of 100. More than 120 misses of
// 1,500, or fewer than 15, have a probability below 1e-6 each (Chernoff, for rates of 0.05 and 0.03).
func TestIntervalsHold(t *testing.T) {
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	var numbers []float64
	rows, kept := 0.0, 0.0
	for u := range 3000 {
		n := float64(1 + u*u%7*(u%3)/2)
		numbers, rows, kept = append(numbers, n), rows+n, kept+math.Min(n, 2)
	}
	truth := []float64{rows, kept, 1 - kept/rows}
	req := lineartest.Request(`{"column":"n","at_most":8,"keep":[2],"interval":{"level":95}}`, 0, rowsOf(8))
	req.Target.Epsilon = 0.3
	missed := make([]int, len(truth))
	for range 1500 {
		out, err := sdktest.Run(Mechanism{}, req, sdktest.Table{Rows: len(numbers), Columns: map[string]sdk.Values{"n": {Float64: numbers}}}, drawn{src: src})
		if err != nil {
			t.Fatal(err)
		}
		low, high := lineartest.Get(out, linear.LowField), lineartest.Get(out, linear.HighField)
		for i, v := range truth {
			if !(low[i] <= v && v <= high[i]) {
				missed[i]++
			}
		}
	}
	for i, m := range missed {
		if m > 120 || m < 15 {
			t.Errorf("figure %d: %d of 1500 intervals miss", i, m)
		}
	}
	t.Logf("%v of 1500 miss", missed)
}

// A release whose groups do not vary within a unit keeps 3 rows where one by other groups keeps 15: a share for each stands in the
// result. A measure that knew the larger number alone would say 0.
func TestLeftOutForEachCap(t *testing.T) {
	p := params{UnitRows: asked.UnitRows{AtMost: 20, Keep: []int{3, 15}}}
	units := make([]float64, p.AtMost) // of each number of rows
	units[1], units[7] = 10, 10
	got := map[string]float64{}
	for _, f := range p.figures() {
		if got[f.about+" "+f.name] = dot(f.weights, units); f.of != nil {
			got[f.about+" "+f.name] /= dot(f.of, units)
		}
	}
	for name, want := range map[string]float64{
		"rows that count, 15 of a unit at most": 100, "share left out where 15 of a unit count, at least": 0,
		"rows that count, 3 of a unit at most": 50, "share left out where 3 of a unit count, at least": 0.5,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s: %v, want %v", name, value, want)
		}
	}
}
