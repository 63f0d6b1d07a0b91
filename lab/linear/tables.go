package main

import (
	"math"
	"math/rand/v2"

	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// flights makes a table in which delays fall by 0.00065 minutes a mile. As in real tables,
// most distances and delays fill a small part of their bounds.
func flights(rows int) *study {
	rng := rand.New(rand.NewPCG(2026, 3_000_000))
	x, y := make([]float64, rows), make([]float64, rows)
	for i := range x {
		x[i] = math.Min(5000, math.Round(150+650*rng.ExpFloat64()))
		y[i] = math.Max(-60, math.Min(300, math.Round(7-0.00065*x[i]+25*(rng.ExpFloat64()-1)+8*rng.NormFloat64())))
	}
	design := make([][]float64, rows)
	for i := range design {
		design[i] = []float64{1, x[i]}
	}
	return &study{
		name: "flights", question: "delay in minutes, on distance in miles", slope: "distance", target: "delay", features: []string{"distance"},
		columns: []sdk.Column{measure.Number("distance", 0, 5000), measure.Number("delay", -60, 300)},
		table:   sdktest.Table{Rows: rows, BatchRows: 1 << 16, Columns: map[string]sdk.Values{"distance": {Float64: x}, "delay": {Float64: y}}},
		design:  design, explained: y, names: []string{"(intercept)", "distance"},
	}
}

// incomes is the table of examples/sgd-income, with the bounds of that job.
func incomes(path string) (*study, error) {
	s := &study{
		name: "eusilc", question: "log of the income, on age, sex and the size of the household", slope: "age", target: "eq_income",
		features: []string{"age", "sex", "household_size"}, logs: []string{"eq_income"},
		columns: []sdk.Column{measure.Number("age", 0, 100), measure.Category("sex", "female", "male"), measure.Number("household_size", 1, 10),
			measure.Number("eq_income", 2000, 100000)},
		names: []string{"(intercept)", "age", "sex=male", "household_size"},
	}
	var err error
	if s.table, err = measure.ReadCSV(path, s.columns); err != nil {
		return nil, err
	}
	c := s.table.Columns
	for i := range s.table.Rows {
		s.design = append(s.design, []float64{1, c["age"].Float64[i], float64(c["sex"].Codes[i]), c["household_size"].Float64[i]})
		s.explained = append(s.explained, math.Log(c["eq_income"].Float64[i]))
	}
	return s, nil
}
