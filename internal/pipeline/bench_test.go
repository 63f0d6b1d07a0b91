package pipeline_test

import (
	"slices"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/pipeline"
)

// BenchmarkRun measures the part of a run that is not rows: a whole run of a small job with a new
// ledger, in this process, and the median time of each of its stages up to the named
// point. Reference: lab/studies/speed.md.
func BenchmarkRun(b *testing.B) {
	stages := map[string][]float64{}
	var order []string
	for b.Loop() {
		b.StopTimer()
		path := write(b, tinyJob, "TABLE", good(b))
		j, err := pipeline.Load(path, func(string) (string, bool) { return "", false })
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		last := time.Now()
		at := func(point string) {
			if stages[point] == nil {
				order = append(order, point)
			}
			now := time.Now()
			stages[point] = append(stages[point], float64(now.Sub(last).Microseconds())/1e3)
			last = now
		}
		if _, err := pipeline.Run(background, j, pipeline.With(options(), at, nil, 0)); err != nil {
			b.Fatal(err)
		}
		at("ended")
	}
	for _, point := range order {
		slices.Sort(stages[point])
		b.ReportMetric(stages[point][len(stages[point])/2], "ms-"+point)
	}
}
