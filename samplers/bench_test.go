package samplers

import (
	"strconv"
	"sync"
	"testing"
)

// Designs are read only: many goroutines may draw from one, each with its own
// source (run with -race).
func TestDesignsAreShared(t *testing.T) {
	f := mustFrame(t, "stratum", "a 3", "b 4")
	designs := []Design{
		must[*Poisson](t)(NewPoisson(mustRate(t, "0.001"), 0)),
		must[*Poisson](t)(NewPoisson(mustRate(t, "0.0001"), 0)),
		must[*Poisson](t)(NewPoisson(mustRate(t, "0.3"), 0)),
		must[*SRSWOR](t)(NewSRSWOR(3, 7)),
		must[*StratifiedTake](t)(NewStratifiedTake(f, []int64{1, 3})),
		must[*StratifiedPoisson](t)(NewStratifiedPoisson(f, []Rate{mustRate(t, "0.1"), mustRate(t, "0.5")})),
		must[*Multistage](t)(NewMultistage(f, []Stage{{Unit: "stratum", Take: 1}, {Take: 2}})),
	}
	src := newSource(t)
	var wg sync.WaitGroup
	for _, d := range designs {
		for range 4 {
			own := src.Child()
			wg.Go(func() {
				for range 50 {
					sel, err := begin(d, own, 7)
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := sel.NextUnits([]int32{0, 1, 0, 1, 0, 1, 1}); err != nil {
						t.Error(err)
					}
					if err := sel.Done(); err != nil {
						t.Error(err)
					}
					d.Facts()
				}
			})
		}
	}
	wg.Wait()
}

// A frame of 1,000 clusters of 1,000 units of 10 records.
func BenchmarkMultistage10M(b *testing.B) {
	units := make([]Unit, 0, 1_000_000)
	for i := range 1000 {
		for j := range 1000 {
			units = append(units, Unit{Key: []string{strconv.Itoa(i), strconv.Itoa(j)}, Records: 10})
		}
	}
	frame := must[*Frame](b)(NewFrame([]string{"cluster", "unit"}, units))
	d := must[*Multistage](b)(NewMultistage(frame, []Stage{{Unit: "cluster", Take: 100}, {Unit: "unit", Take: 100}, {Take: 2}}))
	of := make([]int32, 10_000_000)
	for i := range of {
		of[i] = int32(i / 10)
	}
	src := newSource(b)
	for b.Loop() {
		sel, err := begin(d, src, int64(len(of)))
		if err != nil {
			b.Fatal(err)
		}
		for at := 0; at < len(of); at += 100_000 {
			if _, err := sel.NextUnits(of[at : at+100_000]); err != nil {
				b.Fatal(err)
			}
		}
		if err := sel.Done(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(len(of))/float64(b.N), "ns/row")
}

// What one step of an iterative mechanism pays for a fresh small draw.
func BenchmarkPoissonStep(b *testing.B) {
	d := must[*Poisson](b)(NewPoisson(mustRate(b, "0.005"), 0))
	src := newSource(b)
	b.Run("draw", func(b *testing.B) { benchmarkDraw(b, d, src, 50_000) })
	b.Run("design", func(b *testing.B) {
		for b.Loop() {
			if _, err := NewPoisson(d.rate, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}
