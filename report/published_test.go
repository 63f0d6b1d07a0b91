package report

import (
	"math"
	"slices"
	"testing"
)

// Counts have no digits behind the point however small their noise, and nothing is rounded to a negative zero.
func TestRowsOfCounts(t *testing.T) {
	e := Release{Name: "n", From: "all"}
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
	if got := publishedCell(Column{Name: "estimate", Float64: []float64{-3}}, 0, 100); got != "0" {
		t.Errorf("%q", got)
	}
}
