package report

import (
	"bytes"
	"math"
	"slices"
	"testing"
)

// Counts have no digits behind the point however small their noise, and nothing is rounded to a negative zero.
func TestRowsOfCounts(t *testing.T) {
	e := Release{Name: "n", From: "table"}
	rows, alone := e.Rows(Table{Columns: []Column{
		{Name: "estimate", Float64: []float64{547, -3, 20012}},
		{Name: "noise_sd", Float64: []float64{2.8, 2.8, 170}},
		{Name: "n", Int64: []int64{12345, -4, 7}},
		{Name: "lower", Float64: []float64{0.123456789, 1e6, 2}},
	}})
	want := [][]string{{"547", "2.8", "12345", "0.123456789"}, {"-3", "2.8", "-4", "1000000"}, {"20010", "170", "7", "2"}}
	for i, row := range rows {
		if !slices.Equal(row.Cells, want[i]) {
			t.Errorf("%q, not %q", row.Cells, want[i])
		}
	}
	if alone || math.Abs(rows[0].Relative-2.8/547) > 1e-12 {
		t.Errorf("%v %v", alone, rows[0])
	}
	if got := (Column{Name: "estimate", Float64: []float64{-3}}).published(0, 100); got != "0" {
		t.Errorf("%q", got)
	}
}

// A comparison as CSV holds both intervals; that of sampling is blank where it is not public.
func TestComparisonAsCSV(t *testing.T) {
	side := func(from string, value float64) Side {
		e := Release{Name: "r", From: from, Mechanism: Mechanism{Name: "count"}}
		return Side{Name: from, Report: Report{Releases: []Release{e}}, Values: map[string]Table{"r": {Columns: []Column{
			{Name: "region", Text: []string{"north", "south"}}, {Name: "estimate", Float64: []float64{value, 5}, Blank: []bool{false, true}},
			{Name: "noise_sd", Float64: []float64{3, 3}}, {Name: "noise_low", Float64: []float64{value - 6, 0}}, {Name: "noise_high", Float64: []float64{value + 6, 0}}}}}}
	}
	const head = "release,value,a,b,difference,noise_low,noise_high,interval_low,interval_high,verdict\n"
	for from, want := range map[string]string{
		"table":  head + "r,north,100.0,120.0,20.0,11.5,28.5,11.5,28.5,larger than noise explains\nr,south,,,,,,,,suppressed\n",
		"sample": head + "r,north,100.0,120.0,20.0,11.5,28.5,,,\"larger than noise explains; sampling adds more, which is not public\"\nr,south,,,,,,,,suppressed\n",
	} {
		var out bytes.Buffer
		if err := Compare(side(from, 100), side(from, 120)).WriteCSV(&out); err != nil || out.String() != want {
			t.Errorf("%v\n%s\nnot\n%s", err, out.String(), want)
		}
	}
}
