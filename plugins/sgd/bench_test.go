package sgd

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
)

// The table of the benchmarks: a million records of 32 features, an epoch of 100
// steps at rate 0.01.
const (
	benchRows  = 1_000_000
	benchWidth = 32
	benchRate  = 0.01
	benchSteps = 100
)

var benchTable = sync.OnceValues(func() (*encoder, *matrix) {
	return random(rand.New(rand.NewPCG(1, 1)), benchRows, benchWidth, true)
})

// benchBatches are Poisson batches, drawn by the skips between records.
var benchBatches = sync.OnceValue(func() [][]int64 {
	rng := rand.New(rand.NewPCG(2, 2))
	out := make([][]int64, benchSteps)
	for s := range out {
		for i := int64(-1); ; {
			i += 1 + int64(math.Log1p(-rng.Float64())/math.Log1p(-benchRate))
			if i >= benchRows {
				break
			}
			out[s] = append(out[s], i)
		}
	}
	return out
})

// BenchmarkEpoch is one epoch of a logistic model without the host. Reference:
// BenchmarkEpochMemory, which loads every cache line of the same records on the
// same number of cores and does nothing with them. lab/epoch measures the goal,
// which is about this plus the calls to the host.
func BenchmarkEpoch(b *testing.B) {
	e, m := benchTable()
	batches := benchBatches()
	g := newGradient(e, m, 1)
	w := make([]float64, benchWidth+1)
	for j := range w {
		w[j] = float64(j%5) / 10
	}
	b.ResetTimer()
	for b.Loop() {
		for _, batch := range batches {
			g.over(batch, w)
		}
	}
	perRecord(b)
}

// BenchmarkEpochMemory measures the pace that the memory alone allows: every cache line of the
// records of each batch is loaded once, on all cores.
func BenchmarkEpochMemory(b *testing.B) {
	_, m := benchTable()
	batches := benchBatches()
	workers := runtime.GOMAXPROCS(0)
	sums := make([]float64, workers)
	b.ResetTimer()
	for b.Loop() {
		for _, batch := range batches {
			var wg sync.WaitGroup
			for k := range workers {
				wg.Go(func() {
					var s float64
					for _, i := range batch[len(batch)*k/workers : len(batch)*(k+1)/workers] {
						r := m.row(i)
						s += r[0] + r[8] + r[16] + r[24] + r[32]
					}
					sums[k] += s
				})
			}
			wg.Wait()
		}
	}
	perRecord(b)
}

func perRecord(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(benchRows*benchRate*benchSteps), "ns/record")
}

// BenchmarkFullBatch is one step over all records, in order. Reference: the
// memory's bandwidth, 272 MB a step.
func BenchmarkFullBatch(b *testing.B) {
	e, m := benchTable()
	g := newGradient(e, m, 1)
	w := make([]float64, benchWidth+1)
	b.SetBytes(int64(8 * benchRows * m.stride))
	for b.Loop() {
		g.over(nil, w)
	}
}
