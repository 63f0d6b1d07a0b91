package figure

import (
	"bytes"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"gonum.org/v1/gonum/stat"
)

// Violins draws one violin for each name: a density of the values on both sides of an
// upright line, from the smallest value to the largest, with a mark at the median and a bar
// between the quartiles. On a logarithmic axis the density is that of the logarithms.
func (f *Figure) Violins(names []string, values [][]float64) {
	for i, v := range values {
		x := float64(i)
		at, height := f.Density(v)
		top := slices.Max(height)
		outline := make(plotter.XYs, 0, 2*len(at))
		for k := range at {
			outline = append(outline, plotter.XY{X: x - 0.42*height[k]/top, Y: at[k]})
		}
		for k := len(at) - 1; k >= 0; k-- {
			outline = append(outline, plotter.XY{X: x + 0.42*height[k]/top, Y: at[k]})
		}
		body, err := plotter.NewPolygon(outline)
		if err != nil {
			continue // a violin of no values
		}
		body.Color, body.LineStyle = color.RGBA{0xc9, 0xd8, 0xe8, 0xff}, draw.LineStyle{Color: tones[1], Width: vg.Points(0.8)}
		f.plot.Add(body)
		sorted := slices.Sorted(slices.Values(v))
		quartile := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, sorted, nil) }
		f.line("", plotter.XYs{{X: x, Y: quartile(0.25)}, {X: x, Y: quartile(0.75)}}, ink, nil, 2.4)
		f.marks("", []float64{x}, []float64{quartile(0.5)}, draw.RingGlyph{})
	}
	f.plot.NominalX(names...)
	f.plot.X.Min, f.plot.X.Max = -0.6, float64(len(names))-0.4
}

// Density estimates the density of values with Gaussian kernels of Silverman's width, at 160
// places from the smallest value to the largest. Where the figure's upright axis is
// logarithmic it is the density of the logarithms.
func (f *Figure) Density(values []float64) (at, density []float64) {
	x := slices.Sorted(slices.Values(values))
	if f.logY {
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
		if f.logY {
			y = math.Exp(y)
		}
		at = append(at, y)
	}
	return at, density
}

// Upright adds a dashed upright line at x, from bottom to top.
func (f *Figure) Upright(name string, x, bottom, top float64) {
	f.line(name, plotter.XYs{{X: x, Y: bottom}, {X: x, Y: top}}, ink, []vg.Length{vg.Points(4), vg.Points(3)}, 1)
}

// Level adds a dashed line at y, across the violins.
func (f *Figure) Level(name string, y float64) {
	f.line(name, plotter.XYs{{X: f.plot.X.Min, Y: y}, {X: f.plot.X.Max, Y: y}}, ink, []vg.Length{vg.Points(4), vg.Points(3)}, 1)
}

// Row is a picture of figures side by side.
type Row []*Figure

// SVG is the row as an SVG document.
func (r Row) SVG() ([]byte, error) {
	width := vg.Length(0)
	plots := make([]*plot.Plot, len(r))
	for i, f := range r {
		width += 18*vg.Centimeter/vg.Length(len(r)) + 2*vg.Centimeter
		plots[i] = f.plot
		f.snap()
	}
	const height = 9 * vg.Centimeter
	to := vgsvg.New(width, height)
	page := draw.New(to)
	page.SetColor(color.White)
	page.Fill(page.Path())
	tiles := draw.Tiles{Rows: 1, Cols: len(r), PadX: vg.Points(14), PadLeft: vg.Points(6), PadRight: vg.Points(14), PadTop: vg.Points(8), PadBottom: vg.Points(4)}
	for i, c := range plot.Align([][]*plot.Plot{plots}, tiles, page)[0] {
		plots[i].Draw(c)
	}
	var b bytes.Buffer
	if _, err := to.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
