package main

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"

	files "github.com/dprelease/dprelease/internal/table"
)

const rows = 10_000

// columns are the six columns: four that are made up, and two of the examples.
func columns(data string) ([]*column, error) {
	rng := rand.New(rand.NewPCG(2026, 14))
	made := func(name string, lower, upper, step float64, draw func() float64) *column {
		c := &column{name: name, lower: lower, upper: upper, step: step}
		for range rows {
			x := math.Min(math.Max(draw(), lower), upper)
			if step > 0 {
				x = math.Round(x/step) * step
			}
			c.values = append(c.values, x)
		}
		return c
	}
	out := []*column{
		made("uniform [0, 1000]", 0, 1000, 0, func() float64 { return 1000 * rng.Float64() }),
		made("lognormal(5, 1) [0, 10000]", 0, 10_000, 0, func() float64 { return math.Exp(5 + rng.NormFloat64()) }),
		made("70 % zeros, exponential(200) [0, 5000], step 0.01", 0, 5000, 0.01, func() float64 {
			if rng.Float64() < 0.7 {
				return 0
			}
			return 200 * rng.ExpFloat64()
		}),
		made("Pareto(1.5) [0, 100000]", 0, 100_000, 0, func() float64 { return math.Pow(1-rng.Float64(), -1/1.5) }),
	}
	for _, x := range []struct {
		name, file, column string
		lower, upper, step float64
	}{
		{"EU-SILC eq_income [0, 100000]", "eusilc.parquet", "eq_income", 0, 100_000, 0},
		{"schools api00 [200, 1000], step 1", "schools.parquet", "api00", 200, 1000, 1},
	} {
		values, err := read(filepath.Join(data, x.file), x.column)
		if err != nil {
			return nil, err
		}
		out = append(out, &column{name: x.name, values: values, lower: x.lower, upper: x.upper, step: x.step})
	}
	return out, nil
}

// read reads a column of numbers.
func read(path, name string) ([]float64, error) {
	t, err := files.Open(context.Background(), files.Spec{Path: path})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	var out []float64
	err = t.Scan(context.Background(), files.ScanOptions{Columns: []string{name}, Workers: 1}, func(b files.Batch) error {
		c := &b.Columns[0]
		for i := range b.Rows {
			switch {
			case c.Null(i):
			case c.Float64 != nil:
				out = append(out, c.Float64[i])
			default:
				out = append(out, float64(c.Int64[i]))
			}
		}
		return nil
	})
	return out, err
}
