package main

import (
	"math"
	"math/rand/v2"
	"path/filepath"

	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/sdk"
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
		made("Pareto(1.5) [0, 100000]", 0, 100_000, 0, func() float64 { return pareto(rng) }),
	}
	for _, x := range []struct {
		name, file, column string
		lower, upper, step float64
	}{
		{"EU-SILC eq_income [0, 100000]", "eusilc.csv", "eq_income", 0, 100_000, 0},
		{"schools api00 [200, 1000], step 1", "schools.csv", "api00", 200, 1000, 1},
	} {
		t, err := measure.ReadCSV(filepath.Join(data, x.file), []sdk.Column{measure.Number(x.column, 0, 1e9)})
		if err != nil {
			return nil, err
		}
		out = append(out, &column{name: x.name, values: t.Columns[x.column].Float64, lower: x.lower, upper: x.upper, step: x.step})
	}
	return out, nil
}

func pareto(rng *rand.Rand) float64 { return math.Pow(1-rng.Float64(), -1/1.5) }

// hard are columns whose bounds are found badly: other draws of the heavy tail, and a few large values
// among few rows.
func hard() map[string][]*column {
	var tails, few []*column
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 15))
		tail := &column{upper: 100_000}
		for range rows {
			tail.values = append(tail.values, min(pareto(rng), tail.upper))
		}
		mixed := &column{upper: 3000}
		for i := range 2000 {
			upper := 50.0
			if i%10 == 0 {
				upper = 3000
			}
			mixed.values = append(mixed.values, upper*rng.Float64())
		}
		tails, few = append(tails, tail), append(few, mixed)
	}
	return map[string][]*column{"Pareto(1.5), 20 draws": tails,
		"90 % in [0, 50], 10 % in [0, 3000], 2,000 rows, 20 draws": few}
}
