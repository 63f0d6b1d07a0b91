package report_test

import (
	"math"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/report"
)

// A release whose values are all blank is of no use, and one with some blank values says so. An
// interval that was cut off at a bound is shown by its ends, and not as a width.
func TestFlags(t *testing.T) {
	none := math.NaN()
	for _, c := range []struct {
		estimate, low, high []float64
		flags               []string
		grade, label, text  string
	}{
		{[]float64{none, none}, []float64{none, none}, []float64{none, none}, []string{"too few values", "too few values"}, "poor", "of no use", "a too few values, b too few values"},
		{[]float64{100, none}, []float64{90, none}, []float64{110, none}, []string{"", "too few values"}, "fair", "1 of 2 blank", "a 100 ± 10, b too few values"},
		{[]float64{100, 50}, []float64{90, 0}, []float64{110, 4000}, []string{"", ""}, "poor", "mostly noise", "a 100 ± 10, b 100 (0–4000)"},
	} {
		r := &report.Report{Releases: []report.Release{{Name: "m", From: "table", Interval: "95", Mechanism: report.Mechanism{Name: "mean"}}}}
		table := report.Table{Columns: []report.Column{{Name: "town", Text: []string{"a", "b"}}, {Name: "estimate", Float64: c.estimate},
			{Name: "interval_low", Float64: c.low}, {Name: "interval_high", Float64: c.high}, {Name: "flag", Text: c.flags}}}
		b := report.Briefs(r, map[string]report.Table{"m": table})[0]
		if text := strings.ReplaceAll(strings.ReplaceAll(b.Values, "\u202f", " "), "\u00a0", " "); b.Grade != c.grade || b.Label != c.label || text != c.text {
			t.Errorf("%+v, want %s, %s, %s", b, c.grade, c.label, c.text)
		}
	}
}
