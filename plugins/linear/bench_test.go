package linear_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/histogram"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/plugins/variance"
)

type again struct {
	b *sdk.Batch
	n int
}

func (a *again) Next() (*sdk.Batch, error) {
	if a.n--; a.n < 0 {
		return nil, io.EOF
	}
	return a.b, nil
}

// A row of a batch of 32,768 in 50 groups, for each mechanism. DuckDB needs 55 to 70 ns of
// processor time a row for all five in one query, reading the file included; these need 19.
func BenchmarkRows(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	domain := make([]string, 50)
	for i := range domain {
		domain[i] = fmt.Sprint(i)
	}
	g := sdk.Column{Name: "g", Type: sdk.Category, Domain: domain, Missing: sdk.MissingRefuse}
	x := sdk.Column{Name: "x", Type: sdk.Number, Lower: 0, Upper: 200, Missing: sdk.MissingRefuse}
	edges := "0"
	for i := range 100 {
		edges += fmt.Sprint(",", 2*(i+1))
	}
	batch := &sdk.Batch{Rows: 32768, Columns: []sdk.Values{{Codes: make([]int32, 32768)}, {Float64: make([]float64, 32768)}}}
	for i := range batch.Rows {
		batch.Columns[0].Codes[i], batch.Columns[1].Float64[i] = int32(rng.IntN(50)), 200*rng.Float64()
	}
	for _, c := range []struct {
		m      sdk.Mechanism
		params string
	}{
		{sum.Mechanism{}, `{"column":"x","by":"g"}`}, {count.Mechanism{}, `{"by":"g"}`}, {mean.Mechanism{}, `{"column":"x","by":"g"}`},
		{variance.Mechanism{}, `{"column":"x","by":"g"}`}, {histogram.Mechanism{}, `{"column":"x","by":"g","edges":[` + edges + `]}`},
	} {
		b.Run(c.m.Describe().Name, func(b *testing.B) {
			req := lineartest.Request(c.params, 0, g, x)
			_, plan, err := sdktest.Plan(c.m, req)
			if err != nil {
				b.Fatal(err)
			}
			cut := *batch
			cut.Columns = cut.Columns[:len(plan.Columns)]
			rows := &again{b: &cut, n: b.N}
			b.ResetTimer()
			if _, err := c.m.Release(b.Context(), sdk.ReleaseRequest{PlanRequest: req, Plan: plan}, rows, sdktest.NoNoise{}); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/32768, "ns/row")
		})
	}
}
