package finish

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/histogram"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sum"
)

// again gives a batch so many times.
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

// BenchmarkWrite adds up batches of rows by declared queries and by the built-in mechanisms that make the same sums, by
// turns, each without its process. It takes the fastest turn of either, and the ratio of both.
func BenchmarkWrite(b *testing.B) {
	const batches, size = 16, 1 << 15
	rng := rand.New(rand.NewPCG(1, 2))
	domain := make([]string, 50)
	for i := range domain {
		domain[i] = strconv.Itoa(i)
	}
	g := sdk.Column{Name: "g", Type: sdk.Category, Domain: domain, Missing: sdk.MissingRefuse}
	x := sdk.Column{Name: "x", Type: sdk.Number, Lower: 0, Upper: 200, Missing: sdk.MissingRefuse}
	full := sdk.Batch{Rows: size, Columns: []sdk.Values{{Codes: make([]int32, size)}, {Float64: make([]float64, size)}}}
	for i := range size {
		full.Columns[0].Codes[i], full.Columns[1].Float64[i] = int32(rng.IntN(50)), 200*rng.Float64()
	}
	valid := make([]byte, size/8) // nine in ten
	for i := range size {
		if rng.IntN(10) > 0 {
			valid[i/8] |= 1 << (i % 8)
		}
	}
	edges := "0"
	for i := range 100 {
		edges += fmt.Sprint(",", 2*(i+1))
	}
	one := sdk.Query{Coordinates: []sdk.Coordinate{{Value: "1", High: 1, Lattice: 1}}}
	bins := one
	bins.Cells = []sdk.Split{{Value: "x / 2.0", Count: 100}}
	affine := sdk.Query{Coordinates: []sdk.Coordinate{{Value: "2.0 * x - 3.0", Low: -3, High: 397}}}
	for _, c := range []struct {
		name    string
		query   sdk.Query
		builtin sdk.Mechanism
		params  string
	}{
		{"sum", sumOf(0, 200, 0), sum.Mechanism{}, `{"column":"x"}`},
		{"sum by group", sumOf(0, 200, 0), sum.Mechanism{}, `{"column":"x","by":"g"}`},
		{"missing by group", sumOf(0, 200, 0), sum.Mechanism{}, `{"column":"x","by":"g"}`},
		{"affine sum", affine, sum.Mechanism{}, `{"column":"x"}`},
		{"count by group", one, count.Mechanism{}, `{"by":"g"}`},
		{"histogram", bins, histogram.Mechanism{}, `{"column":"x","edges":[` + edges + `]}`},
		{"histogram by group", bins, histogram.Mechanism{}, `{"column":"x","by":"g","edges":[` + edges + `]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			by := ""
			if strings.Contains(c.params, "by") {
				by = "g"
			}
			q, err := NewQueries(planOf(c.query), publicOf(x, g), by, 1)
			if err != nil {
				b.Fatal(err)
			}
			batch := func(names []string) *sdk.Batch {
				out := &sdk.Batch{Rows: size}
				for _, name := range names {
					v := full.Columns[strings.Index("gx", name)]
					if name == "x" && strings.HasPrefix(c.name, "missing") {
						v.Valid = valid
					}
					out.Columns = append(out.Columns, v)
				}
				return out
			}
			req := lineartest.Request(c.params, 0, g, x)
			_, plan, err := sdktest.Plan(c.builtin, req)
			if err != nil {
				b.Fatal(err)
			}
			mine, own := batch(q.Columns), batch(plan.Columns)
			fastest := map[string]time.Duration{"declared": time.Hour, "builtin": time.Hour}
			took := func(lane string, add func()) {
				begun := time.Now()
				add()
				fastest[lane] = min(fastest[lane], time.Since(begun))
			}
			for b.Loop() {
				took("declared", func() {
					q.room = mostRows
					for range batches {
						if err := q.Write(*mine); err != nil {
							b.Fatal(err)
						}
					}
				})
				took("builtin", func() {
					req := sdk.ReleaseRequest{PlanRequest: req, Plan: plan}
					if _, err := c.builtin.Release(b.Context(), req, &again{own, batches}, sdktest.NoNoise{}); err != nil {
						b.Fatal(err)
					}
				})
			}
			for lane, d := range fastest {
				b.ReportMetric(float64(d.Nanoseconds())/batches/size, lane+"-ns/row")
			}
			b.ReportMetric(float64(fastest["declared"])/float64(fastest["builtin"]), "ratio")
		})
	}
}
