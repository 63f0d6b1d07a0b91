package report

import (
	"fmt"
	"html/template"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/amplify"
)

// profileFigure draws δ(ε) before and after amplification.
type profileFigure struct {
	after, before curve
	sampled       bool
	charged       privacy.Point
}

func (f profileFigure) render(id, title, description string) (template.HTML, error) {
	p := newFigure("ε", "δ")
	right := f.after.eps[len(f.after.eps)-1]
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades
	p.Y.Min, p.Y.Max = f.floor(), 1
	p.X.Min, p.X.Max = 0, right
	logarithmic := f.sampled && f.charged.Epsilon > 0 && right > 5*f.charged.Epsilon
	if logarithmic {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades
		p.X.Min = f.charged.Epsilon / 30
	}
	if f.sampled {
		line(p, "population", f.after.visible(p), mainTone, 2, nil)
		line(p, "before amplification", f.before.visible(p), otherTone, 1.4, broken)
	} else {
		line(p, "guarantee", f.after.visible(p), mainTone, 2, nil)
	}
	ring(p, "charged", f.charged.Epsilon, math.Max(f.charged.Delta, p.Y.Min))
	return render(p, id, title, description)
}

// floor is the smallest δ that is drawn.
func (f profileFigure) floor() float64 {
	if f.charged.Delta > 0 {
		return math.Pow(10, math.Floor(math.Log10(math.Max(f.charged.Delta, 1e-280)))-2)
	}
	return 1e-6
}

// visible is the part of the curve inside the frame; where it falls through the
// floor it falls straight down.
func (c curve) visible(p *plot.Plot) plotter.XYs {
	var out plotter.XYs
	for i, d := range c.del {
		if c.eps[i] < p.X.Min {
			continue
		}
		if d < p.Y.Min {
			if len(out) > 0 {
				// Along the chord on these axes; straight down where δ vanishes at once.
				x := c.eps[i]
				if last := out[len(out)-1]; d > 0 && last.Y > d {
					x = last.X + (x-last.X)*math.Log(last.Y/p.Y.Min)/math.Log(last.Y/d)
				}
				out = append(out, plotter.XY{X: x, Y: p.Y.Min})
			}
			break
		}
		out = append(out, plotter.XY{X: c.eps[i], Y: math.Min(d, 1)})
	}
	return out
}

// attackFigure draws the largest chance of detection against the chance of a
// false alarm.
func attackFigure(after, before curve, sampled bool, id, title, description string) (template.HTML, error) {
	p := newFigure("false alarm", "detection")
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	if sampled {
		line(p, "without amplification", before.power(), otherTone, 1.4, broken)
	}
	line(p, "any attacker, at most", after.power(), mainTone, 2, nil)
	line(p, "guessing", plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, axisTone, 1.2, dotted)
	return render(p, id, title, description)
}

// power is the attacker's curve, finely where it bends.
func (c curve) power() plotter.XYs {
	var out plotter.XYs
	for _, a := range []float64{0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075} {
		out = append(out, plotter.XY{X: a, Y: c.detection(a)})
	}
	for i := 4; i <= 40; i++ {
		a := float64(i) / 40
		out = append(out, plotter.XY{X: a, Y: c.detection(a)})
	}
	return out
}

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
