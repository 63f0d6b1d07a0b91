package main

import (
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/privacy"
)

// table is the data, by columns as the host has it: the features, then the target.
type table struct {
	columns [][]float64
	rows    []float64 // the features again, record by record
	drawer  *host.NoiseDrawer
	sink    float64
}

func newTable() (*table, error) {
	src, err := noise.NewSource()
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(1, 1))
	t := &table{rows: make([]float64, records*features), drawer: host.NewDrawer(src)}
	for j := range features + 1 {
		x := make([]float64, records)
		for i := range x {
			if x[i] = 2*rng.Float64() - 1; j == features {
				x[i] = float64(rng.IntN(2))
			} else {
				t.rows[i*features+j] = x[i]
			}
		}
		t.columns = append(t.columns, x)
	}
	return t, nil
}

// read returns what it takes to read the records of an epoch's batches, on all cores.
// The batches are drawn before the clock starts.
func (t *table) read() (measure.Cost, error) {
	batches := make([][]int64, steps)
	for i := range batches {
		var err error
		if batches[i], err = t.drawer.Sample(privacy.Poisson{Rate: rate}, records); err != nil {
			return measure.Cost{}, err
		}
	}
	workers := runtime.GOMAXPROCS(0)
	sums := make([]float64, workers)
	var m meter
	m.start()
	for _, batch := range batches {
		var wg sync.WaitGroup
		for k := range workers {
			wg.Go(func() { sums[k] += t.sum(batch[len(batch)*k/workers : len(batch)*(k+1)/workers]) })
		}
		wg.Wait()
	}
	m.stop()
	for _, s := range sums {
		t.sink += s
	}
	return m.cost, nil
}

// sum loads one value of every cache line of some records, so that nothing but the
// memory is waited for: to add up all values takes up to three times as long.
func (t *table) sum(batch []int64) float64 {
	var s float64
	for _, i := range batch {
		r := t.rows[i*features : (i+1)*features]
		s += r[0] + r[8] + r[16] + r[24]
	}
	return s
}
