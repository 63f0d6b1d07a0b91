package planner

import (
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/say/figure/plot"
)

// Figure draws the error along the axis, and its parts.
func (w *Sweep) Figure() (*plot.Figure, error) {
	labels := map[Axis]string{Rate: "sampling rate", Size: "size of the sample", Epsilon: "ε on the population"}
	f := plot.New(plot.Axes{
		Title: fmt.Sprintf("release %s (%s)", w.Release, w.Mechanism), X: labels[w.Axis], Y: "standard error",
		LogX: true, LogY: true,
	})
	var x, total, noise, sampling, full []float64
	for _, p := range w.Points {
		if p.Refused != "" {
			continue
		}
		x = append(x, p.X)
		total, noise, sampling = append(total, p.Total), append(noise, p.NoiseSD), append(sampling, p.SamplingSD)
		full = append(full, p.Full.Total)
	}
	if slices.Max(slices.Concat([]float64{0}, total, noise, sampling, full)) == 0 {
		return nil, fmt.Errorf("no point has a known error; assume: {sd: …}, or a distribution, for the column")
	}
	f.Line("error", x, total)
	f.Line("noise", x, noise)
	f.Line("sampling", x, sampling)
	f.Rule("the full table", x, full)
	return f, nil
}

// Figure draws the designs' errors and their parts.
func (c *Comparison) Figure() (*plot.Figure, error) {
	f := plot.New(plot.Axes{Title: fmt.Sprintf("%s at ε %.4g", c.Release, c.Target.Epsilon), X: "standard error", LogX: true})
	var names []string
	var total, noise, sampling []float64
	for _, d := range c.Designs {
		if d.Total == 0 {
			continue
		}
		names = append(names, d.Name)
		total, noise, sampling = append(total, d.Total), append(noise, d.NoiseSD), append(sampling, d.SamplingSD)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no design has a known error; assume: {sd: …} for the column")
	}
	f.Dots(names, []string{"error", "noise", "sampling"}, [][]float64{total, noise, sampling})
	return f, nil
}
