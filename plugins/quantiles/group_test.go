package quantiles

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// A tally by the cells that have weight makes the same group as one in pages, for every table of up to four rows on five cells
// and for random ones of several pages. So the pieces, the rates and with them the law of a draw are the same. The twin forgets a
// row that has the cell of the row before.
func TestTalliesAgree(t *testing.T) {
	twin := false
	same := func(rows []int64, cells int64) {
		pages, sparse, forgets := newTally(cells, true), newTally(cells, false), newTally(cells, false)
		for i, cell := range rows {
			w := int64(i % 3) // a weight may round to 0
			pages.add(cell, w)
			sparse.add(cell, w)
			if i == 0 || rows[i-1] != cell {
				forgets.add(cell, w)
			}
		}
		want := newGroup(16, pages)
		if got := newGroup(16, sparse); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: %v in pages, %v sparse", rows, want, got)
		}
		twin = twin || !reflect.DeepEqual(newGroup(16, forgets), want)
	}
	for n := range 5 {
		for code := range int64(math.Pow(5, float64(n))) {
			rows := make([]int64, n)
			for i := range rows {
				rows[i], code = code%5, code/5
			}
			same(rows, 5)
		}
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for range 50 {
		rows := make([]int64, 500)
		for i := range rows {
			rows[i] = int64(5000 * math.Pow(rng.Float64(), 4))
		}
		same(rows, 5000)
	}
	if !twin {
		t.Error("a tally that forgets is not noticed")
	}
}

// Money in cents, up to 2,000 and to five billion, in three groups: the median is as near to the rank as the plan says.
func TestManyMultiples(t *testing.T) {
	const n = 3000
	for _, upper := range []float64{200_000, 5e9} {
		x := sdk.Column{Name: "x", Type: sdk.Number, Lower: 0, Upper: upper, Missing: sdk.MissingRefuse}
		g := sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"a", "b", "c"}, Missing: sdk.MissingRefuse}
		req := lineartest.Request(`{"column":"x","quantiles":[0.5],"step":0.01,"by":"g"}`, 0, x, g)
		req.Target = privacy.Point{Epsilon: 1}
		values, codes := make([]float64, n), make([]int32, n)
		for i := range values {
			values[i], codes[i] = math.Round(upper*float64(i))/n, int32(i%3)
		}
		table := sdktest.Table{Rows: n, Columns: map[string]sdk.Values{"x": {Float64: values}, "g": {Codes: codes}}}
		out, err := sdktest.Run(Mechanism{}, req, table, seededHost{src: insecurenoise.NewSeeded(1)})
		if err != nil {
			t.Fatal(err)
		}
		for _, y := range lineartest.Get(out, "estimate") {
			// A two-sided exponential with a standard deviation of √2 ranks is 30 ranks off at one seed in e^30.
			if d := math.Abs(y/upper - 0.5); d > 30.0*3/n || y != math.Round(y*100)/100 {
				t.Errorf("up to %v: the median is %v", upper, y)
			}
		}
	}
}

// BenchmarkCount counts a million rows of as many values as there may be, in cents up to 50,000, which are counted in pages, and up
// to 200,000 and to 5 billion.
func BenchmarkCount(b *testing.B) {
	for _, upper := range []float64{50_000, 200_000, 5e9} {
		b.Run(fmt.Sprint(upper), func(b *testing.B) {
			const n = 1_000_000
			x := sdk.Column{Name: "x", Type: sdk.Number, Lower: 0, Upper: upper, Missing: sdk.MissingRefuse}
			req := lineartest.Request(`{"column":"x","quantiles":[0.5],"step":0.01}`, 0, x)
			req.Target = privacy.Point{Epsilon: 1}
			rng, values := rand.New(rand.NewPCG(1, 1)), make([]float64, n)
			for i := range values {
				values[i] = upper * rng.Float64()
			}
			table := sdktest.Table{Rows: n, Columns: map[string]sdk.Values{"x": {Float64: values}}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sdktest.Run(Mechanism{}, req, table, seededHost{src: insecurenoise.NewSeeded(1)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
