package report

import (
	"slices"
	"strconv"
	"testing"
)

// A spreadsheet shows the digits that the noise leaves. Ends of intervals move outward, by less than a digit.
func TestDigitsThatNoiseLeaves(t *testing.T) {
	table := Table{Columns: []Column{
		{Name: "group", Texts: []string{"a", "b", "c", "d"}},
		{Name: "estimate", Float64: []float64{630.1300272314942, 1234567.8, -0.0001, 5.25}}, {Name: "consistent", Float64: []float64{630, 1, -2, 5}},
		{Name: "noise_sd", Float64: []float64{0.913279666637155, 4321, 0.2, 0}},
		{Name: "interval_low", Float64: []float64{628.1951, 1226098.1, -0.4001, 5.25}},
		{Name: "interval_high", Float64: []float64{632.0651, 1233037.2, 0.3951, 5.25}},
		{Name: "share", Float64: []float64{0.123456, 0.1, 0.1, 0.1}},
	}}
	out := table.WithoutNoiseDigits()
	for i, want := range [][]string{
		nil, {"630.13", "1234600", "0.00", "5.25"}, {"630", "0", "-2", "5"}, {"0.91", "4300", "0.20", "0"},
		{"628.19", "1226000", "-0.41", "5.25"}, {"632.07", "1233100", "0.40", "5.25"}, nil,
	} {
		if got := out.Columns[i]; want != nil && !slices.Equal(got.Texts, want) || want == nil && !slices.Equal(got.Float64, table.Columns[i].Float64) {
			t.Errorf("column %s: %v", got.Name, got)
		}
	}
	// A quantile has no noise that is known, and as many digits as its interval is worth.
	quantile := Table{Columns: []Column{
		{Name: "quantile", Float64: []float64{0.5, 0.9}}, {Name: "estimate", Float64: []float64{4.5782, 5}},
		{Name: "interval_low", Float64: []float64{3.1176, 5}}, {Name: "interval_high", Float64: []float64{6.4021, 5}},
	}}.WithoutNoiseDigits()
	for i, want := range [][]string{nil, {"4.58", "5"}, {"3.11", "5"}, {"6.41", "5"}} {
		if got := quantile.Columns[i].Texts; want != nil && !slices.Equal(got, want) {
			t.Errorf("quantiles, column %s: %v, want %v", quantile.Columns[i].Name, got, want)
		}
	}
	for i, x := range []float64{0.5, -3.14159, 2.71828e5, 1e-7, -12345.678} {
		for _, noise := range []float64{0.013, 0.99, 1, 47, 9.999e4} {
			low, err := strconv.ParseFloat(outward("interval_low", x, noise), 64)
			high, also := strconv.ParseFloat(outward("interval_high", x, noise), 64)
			if err != nil || also != nil || low > x || high < x || high-low > noise/4 {
				t.Errorf("%d: %v with noise %v lies in [%v, %v]", i, x, noise, low, high)
			}
		}
	}
	months := Table{Columns: []Column{{Name: "table", Texts: []string{"a"}}, {Name: "value1", Texts: []string{"x"}}, {Name: "estimate", Float64: []float64{1.25}}, {Name: "noise_sd", Float64: []float64{9}}}}
	if months.WithoutNoiseDigits().Columns[2].Float64 == nil {
		t.Error("rows that add up lost digits")
	}
	if table.Columns[1].Float64 == nil {
		t.Error("the table itself changed")
	}
}

// A number beside the noisy one, and a quantile, whose noise stands nowhere, have seven digits.
func TestDigitsOfUnknownNoise(t *testing.T) {
	of := func(names ...string) map[string]string {
		in := Table{}
		for _, name := range names {
			in.Columns = append(in.Columns, Column{Name: name, Float64: []float64{23.63187423013763}})
		}
		out := map[string]string{}
		for _, c := range in.WithoutNoiseDigits().Columns {
			if out[c.Name] = "all"; c.Texts != nil {
				out[c.Name] = c.Texts[0]
			}
		}
		return out
	}
	if got := of("estimate", "noise_sd", "mean", "upper"); got["mean"] != "23.63187" || got["upper"] != "all" {
		t.Error(got)
	}
	if got := of("quantile", "estimate"); got["estimate"] != "23.63187" || got["quantile"] != "all" {
		t.Error(got)
	}
}
