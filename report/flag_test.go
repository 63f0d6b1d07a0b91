package report_test

import (
	"io"
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
		r := &report.Report{Releases: []report.Release{{Name: "m", From: "all", Interval: "95", Mechanism: report.Mechanism{Name: "mean"}}}}
		table := report.Table{Columns: []report.Column{{Name: "town", Texts: []string{"a", "b"}}, {Name: "estimate", Float64: c.estimate},
			{Name: "interval_low", Float64: c.low}, {Name: "interval_high", Float64: c.high}, {Name: "flag", Texts: c.flags}}}
		b := report.Briefs(r, map[string]report.Table{"m": table})[0]
		if text := strings.ReplaceAll(strings.ReplaceAll(b.Values, "\u202f", " "), "\u00a0", " "); b.Grade != c.grade || b.Label != c.label || text != c.text {
			t.Errorf("%+v, want %s, %s, %s", b, c.grade, c.label, c.text)
		}
	}
}

// A terminal has the words of readers for releases, columns and values, in the lines after a run and in the tables of -v.
func TestTerminalHasLabels(t *testing.T) {
	r := &report.Report{Releases: []report.Release{{Name: "m", From: "all", By: []string{"town"}, Interval: "95", Mechanism: report.Mechanism{Name: "mean"}}},
		Publication: &report.Publication{Labels: map[string]string{"m": "Mean income", "town": "Municipality", "town = a": "Aachen"}}}
	table := report.Table{Columns: []report.Column{{Name: "town", Texts: []string{"a", "b"}}, {Name: "estimate", Float64: []float64{100, 200}},
		{Name: "interval_low", Float64: []float64{90, 190}}, {Name: "interval_high", Float64: []float64{110, 210}}}}
	for _, detail := range []bool{false, true} {
		var out strings.Builder
		told := report.Told{Report: *r, Values: map[string]report.Table{"m": table}}
		if err := told.WriteText(&out, detail); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Mean income", "Aachen"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %s in %s", want, out.String())
			}
		}
		if detail != strings.Contains(out.String(), "Municipality") {
			t.Error(out.String())
		}
	}
}

// A release of units by their rows is judged by the number of rows, and not by the numbers of units with very many, which are
// noise wherever there are none. Its picture keeps the order of the numbers of rows, and nobody wrote its parameters.
func TestUnitsByTheirRows(t *testing.T) {
	noise := []float64{20, 4, 4, 4, 4}
	estimate := []float64{1000, 900, 2, 5, -1}
	low, high := make([]float64, len(noise)), make([]float64, len(noise))
	for i, x := range estimate {
		low[i], high[i] = x-2*noise[i], x+2*noise[i]
	}
	table := report.Table{Columns: []report.Column{{Name: "column", Texts: []string{"rows", "units", "units", "units", "units"}},
		{Name: "figure", Texts: []string{"in the table", "with 1 row", "with 2 rows", "with 3 rows", "with 4 rows or more"}},
		{Name: "estimate", Float64: estimate}, {Name: "noise_sd", Float64: noise}, {Name: "interval_low", Float64: low}, {Name: "interval_high", Float64: high}}}
	for _, c := range []struct {
		limits *report.Limits
		label  string
		first  string
	}{{&report.Limits{UnitRows: 4}, "whole table", "with 2 rows"}, {nil, "mostly noise", "with 3 rows"}} {
		r := &report.Report{Releases: []report.Release{{Name: "m", From: "all", Interval: "95", Mechanism: report.Mechanism{Name: "unit_rows"}, Params: []byte(`{"keep": [2]}`), Limits: c.limits}}}
		tables := map[string]report.Table{"m": table}
		if b := report.Briefs(r, tables)[0]; b.Label != c.label || strings.HasPrefix(b.Values, "rows in the table 1") != (c.limits != nil) {
			t.Errorf("the verdict is %q and not %q, of %s", b.Label, c.label, b.Values)
		}
		var page strings.Builder
		if err := new(report.Page).WriteHTML(&page, io.Discard, r, tables); err != nil { // without the pictures of the guarantee
			t.Fatal(err)
		}
		text := page.String()
		text = text[strings.Index(text, `id="released"`):]
		if at := func(label string) int { return strings.Index(text, ">"+label) }; at("with 2 rows") < 0 || (at("with 2 rows") < at("with 3 rows")) != (c.first == "with 2 rows") {
			t.Errorf("%v: the picture is not in the order of %s", c.limits, c.first)
		}
		if strings.Contains(text, "(keep: 2)") != (c.limits == nil) {
			t.Errorf("%v: parameters that nobody wrote", c.limits)
		}
	}
}
