package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// flights is a generated table. Delays fall by 0.00065 minutes a mile. Most distances
// fill a small part of their bounds, as in a real table, and most delays of theirs.
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
		columns: []sdk.Column{
			{Name: "distance", Type: sdk.Number, Lower: 0, Upper: 5000, Missing: sdk.MissingRefuse},
			{Name: "delay", Type: sdk.Number, Lower: -60, Upper: 300, Missing: sdk.MissingRefuse},
		},
		table:  sdktest.Table{Rows: rows, BatchRows: 1 << 16, Columns: map[string]sdk.Values{"distance": {Float64: x}, "delay": {Float64: y}}},
		design: design, explained: y, names: []string{"(intercept)", "distance"},
	}
}

// incomes is the table of examples/sgd-income, with the bounds of that job.
func incomes(path string) (*study, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	s := &study{
		name: "eusilc", question: "log of the income, on age, sex and the size of the household", slope: "age", target: "eq_income",
		features: []string{"age", "sex", "household_size"}, logs: []string{"eq_income"},
		columns: []sdk.Column{
			{Name: "age", Type: sdk.Number, Lower: 0, Upper: 100, Missing: sdk.MissingRefuse},
			{Name: "sex", Type: sdk.Category, Domain: []string{"female", "male"}, Missing: sdk.MissingRefuse},
			{Name: "household_size", Type: sdk.Number, Lower: 1, Upper: 10, Missing: sdk.MissingRefuse},
			{Name: "eq_income", Type: sdk.Number, Lower: 2000, Upper: 100000, Missing: sdk.MissingRefuse},
		},
		table: sdktest.Table{Rows: len(lines) - 1, Columns: map[string]sdk.Values{}},
		names: []string{"(intercept)", "age", "sex=male", "household_size"},
	}
	s.design, s.explained = make([][]float64, s.table.Rows), make([]float64, s.table.Rows)
	for i := range s.design {
		s.design[i] = []float64{1}
	}
	for _, c := range s.columns {
		at := slices.Index(lines[0], c.Name)
		if at < 0 {
			return nil, fmt.Errorf("%s has no column %s", path, c.Name)
		}
		var v sdk.Values
		for i, line := range lines[1:] {
			if c.Type == sdk.Category {
				code := slices.Index(c.Domain, line[at])
				v.Codes = append(v.Codes, int32(code))
				s.design[i] = append(s.design[i], float64(code))
				continue
			}
			x, err := strconv.ParseFloat(line[at], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: column %s holds something else than numbers", path, c.Name)
			}
			x = math.Max(c.Lower, math.Min(c.Upper, x))
			v.Float64 = append(v.Float64, x)
			if c.Name == s.target {
				s.explained[i] = math.Log(x)
			} else {
				s.design[i] = append(s.design[i], x)
			}
		}
		s.table.Columns[c.Name] = v
	}
	return s, nil
}
