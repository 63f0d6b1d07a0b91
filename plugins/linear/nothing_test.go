package linear_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/linear/lineartest"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/quantiles"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/variance"
	"github.com/dprelease/dprelease/privacy"
)

// noisy adds the noise that a host would.
type noisy struct {
	sdk.Host
	src *noise.Source
}

func newNoisy(t *testing.T) noisy {
	t.Helper()
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	return noisy{src: src}
}

func (d noisy) AddLaplace(_ context.Context, ev privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteLaplace(d.src, v, ev.Scale)
}

func (d noisy) AddGaussian(_ context.Context, ev privacy.DiscreteGaussian, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteGaussian(d.src, v, ev.Sigma)
}

// groups is a column with so many groups.
func groups(n int) sdk.Column {
	c := sdk.Column{Name: "g", Type: sdk.Category, Missing: sdk.MissingDrop}
	for i := range n {
		c.Domain = append(c.Domain, fmt.Sprint("g", i))
	}
	return c
}

// texts is a column of strings of a result.
func texts(o sdktest.Outcome, name string) []string {
	for _, c := range o.Result.Columns {
		if c.Name == name {
			return c.Texts
		}
	}
	return nil
}

// A table without rows, or one whose values are all missing, has no mean, share, ratio, variance or
// quantile: the value is blank with a flag, and so are the standard deviation of its noise and the
// ends of its interval. The count stays. A number of rows of 0 exceeds its noise in at most 1 of 40
// cells, so of 2,000 cells more than 100 have a value with probability at most 3e-9 (Chernoff), in any of 80 cases with less than 1e-6.
func TestNothing(t *testing.T) {
	const cells = 2000
	host := newNoisy(t)
	x, y := number("x", -1, 3), number("y", 0, 2)
	x.Missing, y.Missing = sdk.MissingDrop, sdk.MissingDrop
	for _, m := range []struct {
		mechanism sdk.Mechanism
		params    string
	}{
		{mean.Mechanism{}, `"column":"x"`}, {proportion.Mechanism{}, `"column":"x","from":0`}, {variance.Mechanism{}, `"column":"x"`}, {variance.SD(), `"column":"x"`},
		{ratio.Mechanism{}, `"numerator":"x","denominator":"y"`}, {quantiles.Mechanism{}, `"column":"x","quantiles":[0.5],"method":"tree","step":1`},
	} {
		about := m.mechanism.Describe()
		for _, noise := range []string{"laplace", "gaussian"} {
			for _, interval := range []string{"", `,"interval":{"level":95}`, `,"interval":{"level":95,"square":0.9,"mean":0.1}`, `,"interval":{"level":95,"square":0.9,"weighted":true}`} {
				for _, n := range []int64{0, 7} {
					by, params := `"by":"g",`, m.params+`,"noise":"`+noise+`"`+interval
					if about.Name == "quantiles" {
						if params = m.params; noise+interval != "laplace" {
							continue // the tree has no interval, and chooses its noise
						}
					}
					req := lineartest.Request("{"+by+params+"}", n, x, y, groups(cells))
					if len(interval) > 60 {
						req.Public.Design.EqualWeights, req.Public.Design.MaxWeight = false, 5
					}
					name := fmt.Sprintf("%s of %d units, %s%s", about.Name, n, noise, interval)
					missing := sdktest.Table{Rows: 5, Columns: map[string]sdk.Values{"g": {Codes: make([]int32, 5)}}}
					for _, c := range []string{"x", "y"} {
						missing.Columns[c] = sdk.Values{Float64: make([]float64, 5), Valid: []byte{0}}
					}
					out, err := sdktest.Run(m.mechanism, req, missing, host)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					shown := 0
					flags := texts(out, sdk.FlagField)
					if len(flags) != cells {
						t.Errorf("%s: %d flags", name, len(flags))
						continue
					}
					for i, flag := range flags {
						reason := linear.TooFew
						if about.Name == "ratio" {
							reason = linear.NearZero
						}
						for _, c := range []string{sdk.EstimateField, sdk.SDField, linear.LowField, linear.HighField} {
							if v := lineartest.Get(out, c); v != nil && math.IsNaN(v[i]) != (flag == reason) || v != nil && c == sdk.SDField && v[i] == 0 {
								t.Fatalf("%s: %s is %v with the flag %q", name, c, v[i], flag)
							}
						}
						if flag == "" {
							shown++
						}
					}
					if slices.ContainsFunc(lineartest.Get(out, "count"), math.IsNaN) {
						t.Errorf("%s: a count is blank", name)
					}
					if shown > 100 {
						t.Errorf("%s: %d of %d cells without a row have a value", name, shown, cells)
					}
				}
			}
		}
	}
}

// The mean of the whole table is blank like that of a group: also where the rows behind a filter
// are the one cell, and replaced rows keep to it. An interval that holds everything between the
// bounds is none, although the noise does not hide the number of rows.
func TestNothingInOneCell(t *testing.T) {
	x := number("x", 0, 6000)
	x.Missing = sdk.MissingDrop
	for _, n := range []int64{0, 500} {
		req := lineartest.Request(`{"column":"x","interval":{"level":95}}`, n, x)
		for rows, want := range map[int]string{0: linear.TooFew, 500: ""} {
			tab := sdktest.Table{Rows: rows, Columns: map[string]sdk.Values{"x": {Float64: slices.Repeat([]float64{1500}, rows)}}}
			out, err := sdktest.Run(mean.Mechanism{}, req, tab, nil)
			if err != nil || texts(out, sdk.FlagField)[0] != want {
				t.Errorf("%d rows of %d: %q, %v", rows, n, texts(out, sdk.FlagField), err)
			}
		}
	}
	req := lineartest.Request(`{"column":"x","interval":{"level":99.9}}`, 0, x)
	few := sdktest.Table{Rows: 5, Columns: map[string]sdk.Values{"x": {Float64: slices.Repeat([]float64{3000}, 5)}}}
	out, err := sdktest.Run(mean.Mechanism{}, req, few, nil)
	if err != nil || texts(out, sdk.FlagField)[0] != linear.TooFew {
		t.Errorf("few rows: %v, %v", out.Result, err)
	}
}

// The interval of a mean by group holds the mean of its cell as often as it says, and is not wider
// than that: 2,100 cells. It misses with probability
// between 0.045 (both sums have the same share in its error) and 0.05 (one has all of it). So more
// than 165 misses, or fewer than 38, have a probability below 3e-7 each (Chernoff).
func TestMeansByGroupHold(t *testing.T) {
	const cells, rows = 2100, 60
	host := newNoisy(t)
	x := number("x", 0, 6000)
	req := lineartest.Request(`{"column":"x","by":"g","interval":{"level":95}}`, 0, x, groups(cells))
	var values []float64
	var codes []int32
	truth := make([]float64, cells)
	for g := range cells {
		for i := range rows {
			v := float64((g*7919+i*104729)%6001) / 2
			values, codes = append(values, v), append(codes, int32(g))
			truth[g] += v / rows
		}
	}
	out, err := sdktest.Run(mean.Mechanism{}, req, sdktest.Table{Rows: len(values), Columns: map[string]sdk.Values{"x": {Float64: values}, "g": {Codes: codes}}}, host)
	if err != nil {
		t.Fatal(err)
	}
	low, high, sd := lineartest.Get(out, linear.LowField), lineartest.Get(out, linear.HighField), lineartest.Get(out, sdk.SDField)
	missed, width, noise := 0, 0.0, 0.0
	for g, m := range truth {
		if !(low[g] <= m && m <= high[g]) {
			missed++
		}
		width, noise = width+(high[g]-low[g])/2/cells, noise+sd[g]/cells
	}
	if missed > 165 || missed < 38 || width > 2.4*noise {
		t.Errorf("%d of %d intervals miss; they are ±%.1f wide on average, noise has the standard deviation %.1f", missed, cells, width, noise)
	}
	t.Logf("%d of %d miss, ±%.1f, sd %.1f", missed, cells, width, noise)
}
