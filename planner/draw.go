package planner

import (
	"fmt"

	"github.com/dprelease/dprelease/planner/figure"
)

// Figure draws the error along the axis, and its parts.
func (w *Sweep) Figure() (*figure.Figure, error) {
	labels := map[Axis]string{Rate: "sampling rate", Size: "size of the sample", Epsilon: "ε on the population"}
	f := figure.New(figure.Axes{
		Title: fmt.Sprintf("%s: %s", w.Release, w.Mechanism), X: labels[w.Axis], Y: "standard error",
		LogX: true, LogY: true, LegendTop: true,
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
	f.Line("error", x, total)
	f.Line("noise", x, noise)
	f.Line("sampling", x, sampling)
	f.Rule("the full table", x, full)
	return f, nil
}

// Figure draws the designs' errors as bars: squared, so that the parts add up.
func (c *Comparison) Figure() (*figure.Figure, error) {
	f := figure.New(figure.Axes{Title: fmt.Sprintf("%s at ε %.4g: mean squared error", c.Release, c.Target.Epsilon), X: "squared error"})
	var names []string
	var noise, sampling []float64
	for _, d := range c.Designs {
		if d.Total == 0 {
			continue
		}
		names = append(names, d.Name)
		noise, sampling = append(noise, d.NoiseSD*d.NoiseSD), append(sampling, d.SamplingSD*d.SamplingSD)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no design has a known error; assume: {sd: …} for the column")
	}
	f.Bars(names, []string{"noise", "sampling"}, [][]float64{noise, sampling})
	return f, nil
}
