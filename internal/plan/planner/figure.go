package planner

import (
	"html/template"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/say/figure"
)

// legend names the parts of an error, in the order of Accuracy.parts.
var legend = []figure.Key{{Class: "main", Name: "error"}, {Class: "other", Name: "noise"}, {Class: "dotted", Name: "sampling"}}

// parts are the error and its parts, as figures show them.
func (a Accuracy) parts() []float64 { return []float64{a.Total, a.NoiseSD, a.SamplingSD} }

// logarithmic is an axis that holds the numbers that are positive, false where none is.
func logarithmic(name string, all []float64) (figure.Axis, bool) {
	all = slices.DeleteFunc(slices.Clone(all), func(x float64) bool { return !(x > 0) || math.IsInf(x, 0) })
	if len(all) == 0 {
		return figure.Axis{}, false
	}
	ticks := figure.Decades{Most: 6, Label: func(exponent int) string { return cell(math.Pow10(exponent)) }, Else: figure.Even(cell)}
	return figure.Axis{Name: name, Min: slices.Min(all) / 1.1, Max: slices.Max(all) * 1.1, Log: true, Ticks: ticks}, true
}

// figure draws the error along the axis, its parts, and the error of the full table; "" where no point has a known error.
func (w *Sweep) figure(title, alt string) template.HTML {
	legend := append(slices.Clone(legend), figure.Key{Class: "thin", Name: "the full table"})
	lines := make([][]figure.Point, len(legend))
	var xs, ys []float64
	for _, p := range w.Points {
		if p.Refused != "" {
			continue
		}
		xs = append(xs, p.X)
		for k, y := range append(p.parts(), p.Full.Total) {
			lines[k], ys = append(lines[k], figure.Point{X: p.X, Y: y}), append(ys, y)
		}
	}
	x, drawn := logarithmic(map[Axis]string{Rate: "sampling rate", Size: "size of the sample", Epsilon: "ε on the population"}[w.Axis], xs)
	y, known := logarithmic("standard error", ys)
	if !drawn || !known {
		return ""
	}
	f := figure.NewFrame(x, y, legend...)
	for k, line := range lines {
		f.Curve(line, legend[k].Class)
	}
	return f.HTML("sweep", title, alt)
}

// names marks whole numbers from 0 down with names: the first one stands on top.
type names []string

// Ticks returns a mark for each name.
func (n names) Ticks(_, _ float64) (out []figure.Tick) {
	for i, name := range n {
		out = append(out, figure.Tick{Value: float64(-i), Label: name})
	}
	return out
}

// figure draws an upright stroke for the error of each design, and for its parts; "" where no design has a known error.
func (c *Comparison) figure(title, alt string) template.HTML {
	var of names
	var all []float64
	for _, d := range c.Designs {
		if d.Total > 0 {
			of, all = append(of, d.Name), append(all, d.parts()...)
		}
	}
	x, known := logarithmic("standard error", all)
	if !known {
		return ""
	}
	f := figure.NewFrame(x, figure.Axis{Min: 0.4 - float64(len(of)), Max: 0.6, Ticks: of}, legend...)
	for i, at := range all {
		row := float64(-(i / len(legend)))
		f.Curve([]figure.Point{{X: at, Y: row - 0.3}, {X: at, Y: row + 0.3}}, legend[i%len(legend)].Class)
	}
	return f.HTML("designs", title, alt)
}
