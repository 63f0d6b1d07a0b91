package plot

import (
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/say/figure"
	"gonum.org/v1/gonum/stat"
)

// Violins draws one violin for each name: a density of the values on both sides of an
// upright line, from the smallest value to the largest, with a mark at the median and a bar
// between the quartiles. On a logarithmic axis the density is that of the logarithms.
func (f *Figure) Violins(names []string, values [][]float64) {
	f.names = names
	for i, v := range values {
		if len(v) == 0 {
			continue
		}
		x := float64(i)
		at, height := f.Density(v)
		top := slices.Max(height)
		n := len(at)
		outline := make([]figure.Point, 2*n)
		for k := range at {
			outline[k] = figure.Point{X: x - 0.42*height[k]/top, Y: at[k]}
			outline[2*n-1-k] = figure.Point{X: x + 0.42*height[k]/top, Y: at[k]}
		}
		sorted := slices.Sorted(slices.Values(v))
		quartile := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, sorted, nil) }
		f.parts = append(f.parts, part{"", "violin", outline},
			part{"", "line quartiles", []figure.Point{{X: x, Y: quartile(0.25)}, {X: x, Y: quartile(0.75)}}},
			part{"", "ring", []figure.Point{{X: x, Y: quartile(0.5)}}})
	}
}

// Density estimates the density of values with Gaussian kernels of Silverman's width, at 160
// places from the smallest value to the largest. Where the figure's upright axis is
// logarithmic it is the density of the logarithms.
func (f *Figure) Density(values []float64) (at, density []float64) {
	x := slices.Sorted(slices.Values(values))
	if f.axes.LogY {
		for i := range x {
			x[i] = math.Log(x[i])
		}
	}
	spread := stat.StdDev(x, nil)
	if between := stat.Quantile(0.75, stat.Empirical, x, nil) - stat.Quantile(0.25, stat.Empirical, x, nil); between > 0 {
		spread = math.Min(spread, between/1.34)
	}
	h := math.Max(0.9*spread*math.Pow(float64(len(x)), -0.2), 1e-12)
	const places = 160
	for k := range places {
		y := x[0] + (x[len(x)-1]-x[0])*float64(k)/(places-1)
		sum := 0.0
		for _, v := range x {
			sum += math.Exp(-(y - v) * (y - v) / (2 * h * h))
		}
		density = append(density, sum/(h*math.Sqrt(2*math.Pi)*float64(len(x))))
		if f.axes.LogY {
			y = math.Exp(y)
		}
		at = append(at, y)
	}
	return at, density
}
