package linear_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// Where the true figures lie at or near what is possible, ends of their intervals are cut off. A change
// whose ends were put together from cut ones held in as few as 51 of 100 cells. The noise is the same in each run.
func TestChangesAtTheBoundsHold(t *testing.T) {
	type at struct {
		rows   [2]int     // of the later and the earlier period
		shares [2]float64 // of rows with y = 1; the others have 0
	}
	worlds := []at{{[2]int{100, 100}, [2]float64{0, 1}}, {[2]int{100, 100}, [2]float64{0.98, 0.5}}, {[2]int{1000, 30}, [2]float64{1, 1}}, {[2]int{30, 1000}, [2]float64{0, 0}}}
	for _, m := range []struct {
		params string
		m      sdk.Mechanism
	}{
		{`{"column":"y"`, mean.Mechanism{}}, {`{"column":"y","from":0.5`, proportion.Mechanism{}}, {`{"numerator":"y","denominator":"x"`, ratio.Mechanism{}},
	} {
		for _, w := range tier.Some(worlds, 2) {
			for _, correlation := range []float64{-0.9, 0.6, 0.95} {
				if held, shown := changesAt(t, m.m, m.params, w.rows, w.shares, correlation); held < 0.93 {
					t.Errorf("%s, %v, correlation %v: the interval holds in %.3f of the %.2f that have one", m.params, w, correlation, held, shown)
				}
			}
		}
	}
}

// changesAt counts how often the interval of a change holds in 1,000 cells that are alike, and in how many there is one.
func changesAt(t *testing.T, m sdk.Mechanism, params string, rows [2]int, shares [2]float64, correlation float64) (held, shown float64) {
	const cells = 1000
	req := lineartest.Request(params+`,"by":"g","noise":"gaussian","interval":{"level":95}}`, 0, number("y", 0, 1), number("x", 0, 2), groups(cells))
	req.Target.Delta = 1e-6
	r := rand.New(rand.NewPCG(31, 7))
	host, truth := &twoPeriods{correlation: correlation}, [2]float64{}
	for p, n := range rows {
		xs, ys, ones := make([]float64, n), make([]float64, n), int(shares[p]*float64(n))
		for i := range n {
			if xs[i] = 1; i < ones {
				ys[i] = 1
			}
		}
		k := &kept{}
		table := sdktest.Table{Rows: n, Columns: map[string]sdk.Values{"x": {Float64: xs}, "y": {Float64: ys}, "g": {Codes: make([]int32, n)}}}
		if _, err := sdktest.Run(m, req, table, k); err != nil {
			t.Fatal(err)
		}
		for i := range k.sums { // all cells are as the first one
			k.sums[i] = k.sums[i%(len(k.sums)/cells)]
			host.noise[p] = append(host.noise[p], r.NormFloat64())
		}
		host.sums[p], truth[p] = k.sums, float64(ones)/float64(n)
	}
	req.Params = fmt.Appendf(nil, `%s,"by":"g","noise":"gaussian","interval":{"level":95,"change":{"correlation":%g}}}`, params, correlation)
	out, err := sdktest.Run(m, req, sdktest.Table{}, host)
	if err != nil {
		t.Fatal(err)
	}
	low, high := lineartest.Get(out, linear.LowField), lineartest.Get(out, linear.HighField)
	for g, change := 0, truth[0]-truth[1]; g < cells; g++ {
		if !math.IsNaN(low[g]) {
			if shown++; low[g] <= change+1e-9 && change-1e-9 <= high[g] {
				held++
			}
		}
	}
	return held / shown, shown / cells
}
