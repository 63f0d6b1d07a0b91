package report

import (
	"fmt"
	"html/template"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/dprelease/dprelease/privacy/amplify"
)

// efficiencyFigure draws q·ε_n/ε against the rate q at a draw's own ε, with its
// lower bound log(1+c)/c, and marks the draw.
func efficiencyFigure(d Draw, id string) (template.HTML, error) {
	p := newFigure("sampling rate q", "efficiency")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades
	left := math.Pow(10, math.Floor(math.Log10(math.Max(d.Amplification.Rate, 1e-280)))-1)
	left = math.Min(left, 1e-3)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = left, 1, 0, math.Max(1, d.Efficiency)
	var exact, bound plotter.XYs
	const steps = 48
	for i := range steps + 1 {
		q := math.Min(left*math.Pow(1/left, float64(i)/steps), 1)
		exact = append(exact, plotter.XY{X: q, Y: amplify.Efficiency(q, d.Target.Epsilon)})
		bound = append(bound, plotter.XY{X: q, Y: amplify.EfficiencyBound(d.Target.Epsilon / q)})
	}
	name := "efficiency"
	if d.SampleArrival != nil {
		name = "efficiency, any mechanism" // this draw's, where noise is added, lies above it
	}
	line(p, name, exact, mainTone, 2, nil)
	line(p, "its bound log(1+c)/c", bound, otherTone, 1.4, broken)
	ring(p, "this draw", d.Amplification.Rate, d.Efficiency)
	title := "Efficiency of sampling at the ε of the draw " + d.Name
	return render(p, id, title, fmt.Sprintf("The efficiency rises with the sampling rate and is 1 for the full table only. This draw has the rate %s and the efficiency %s.",
		percent(d.Amplification.Rate), trim(d.Efficiency)))
}
