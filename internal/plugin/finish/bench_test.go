package finish

import (
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// BenchmarkWrite adds up batches of rows, alone and by group.
func BenchmarkWrite(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	batch := sdk.Batch{Rows: 1 << 15, Columns: []sdk.Values{{Codes: make([]int32, 1<<15)}, {Float64: make([]float64, 1<<15)}}}
	for i := range batch.Rows {
		batch.Columns[0].Codes[i], batch.Columns[1].Float64[i] = rng.Int32N(3), rng.Float64()
	}
	for name, by := range map[string]string{"alone": "", "by group": "g"} {
		b.Run(name, func(b *testing.B) {
			q, err := NewQueries(planOf(sumOf(0, 1, 0)), publicOf(x(0, 1), group("a", "b", "c")), by, 1)
			if err != nil {
				b.Fatal(err)
			}
			one := batch
			if by == "" {
				one.Columns = one.Columns[1:]
			}
			for b.Loop() {
				q.room = mostRows
				if err := q.Write(one); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batch.Rows), "ns/row")
		})
	}
}
