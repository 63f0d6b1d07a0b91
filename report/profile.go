package report

import (
	"fmt"
	"html/template"
	"math"

	"github.com/dprelease/dprelease/internal/say/figure"
	"github.com/dprelease/dprelease/internal/say/verdict"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/amplify"
)

// even marks round numbers, and powers powers of ten, at most about six of them.
var (
	even   = figure.Even(func(x float64) string { return plain(x, 6) })
	powers = figure.Decades{Most: 6, Label: power, Else: even}
)

func power(k int) string {
	if k >= -2 && k <= 3 {
		return trim(math.Pow(10, float64(k)))
	}
	return fmt.Sprintf("1e%d", k)
}

// profileFigure draws δ(ε) before and after amplification.
type profileFigure struct {
	after, before verdict.Curve
	sampled       bool
	charged       privacy.Point
}

func (f profileFigure) render(w words, id, title, description string) template.HTML {
	right := f.after.Epsilon[len(f.after.Epsilon)-1]
	x := figure.Axis{Name: "ε", Min: 0, Max: right, Ticks: even}
	y := figure.Axis{Name: "δ", Min: f.floor(), Max: 1, Log: true, Ticks: powers}
	if f.sampled && f.charged.Epsilon > 0 && right > 5*f.charged.Epsilon {
		x.Log, x.Ticks, x.Min = true, powers, f.charged.Epsilon/30
	}
	keys := []figure.Key{{Class: "main", Name: w.t("figure.guarantee")}, {Class: "ring", Name: w.t("figure.charged")}}
	if f.sampled {
		keys = []figure.Key{{Class: "main", Name: w.t("figure.population")}, {Class: "other", Name: w.t("figure.before")},
			{Class: "ring", Name: w.t("figure.charged")}}
	}
	p := figure.NewFrame(x, y, keys...)
	if f.sampled {
		p.Curve(visible(f.before, x, y), "other")
	}
	p.Curve(visible(f.after, x, y), "main")
	p.Ring(math.Max(f.charged.Epsilon, x.Min), math.Max(f.charged.Delta, y.Min))
	return p.HTML(id, title, description)
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
func visible(c verdict.Curve, x, y figure.Axis) []figure.Point {
	var out []figure.Point
	for i, d := range c.Delta {
		if c.Epsilon[i] < x.Min {
			continue
		}
		if d < y.Min {
			if len(out) > 0 {
				// Along the chord on these axes; straight down where δ vanishes at once.
				at := c.Epsilon[i]
				if last := out[len(out)-1]; d > 0 && last.Y > d {
					at = last.X + (at-last.X)*math.Log(last.Y/y.Min)/math.Log(last.Y/d)
				}
				out = append(out, figure.Point{X: at, Y: y.Min})
			}
			break
		}
		out = append(out, figure.Point{X: c.Epsilon[i], Y: math.Min(d, 1)})
	}
	return out
}

// attackFigure draws the largest chance of detection against the chance of a
// false alarm.
func attackFigure(w words, after, before verdict.Curve, sampled bool, id, title, description string) template.HTML {
	keys := []figure.Key{{Class: "main", Name: w.t("figure.attacker")}}
	if sampled {
		keys = append(keys, figure.Key{Class: "other", Name: w.t("figure.unamplified")})
	}
	share := figure.Even(func(x float64) string { return percent(x) })
	p := figure.NewFrame(figure.Axis{Name: w.t("figure.alarm"), Max: 1, Ticks: share},
		figure.Axis{Name: w.t("figure.detection"), Max: 1, Ticks: share},
		append(keys, figure.Key{Class: "dotted", Name: w.t("chance.guess")})...)
	p.Curve([]figure.Point{{X: 0, Y: 0}, {X: 1, Y: 1}}, "dotted")
	if sampled {
		p.Curve(powerCurve(before), "other")
	}
	p.Curve(powerCurve(after), "main")
	return p.HTML(id, title, description)
}

// powerCurve is the attacker's curve, finely where it bends.
func powerCurve(c verdict.Curve) []figure.Point {
	var out []figure.Point
	for _, a := range []float64{0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075} {
		out = append(out, figure.Point{X: a, Y: c.Detection(a)})
	}
	for i := 4; i <= 40; i++ {
		a := float64(i) / 40
		out = append(out, figure.Point{X: a, Y: c.Detection(a)})
	}
	return out
}

// efficiencyFigure draws q·ε_n/ε against the rate q at a draw's own ε, with its
// lower bound log(1+c)/c, and marks the draw.
func efficiencyFigure(w words, d Draw, id string) template.HTML {
	left := math.Pow(10, math.Floor(math.Log10(math.Max(d.Amplification.Rate, 1e-280)))-1)
	left = math.Min(left, 1e-3)
	var exact, bound []figure.Point
	const steps = 48
	for i := range steps + 1 {
		q := math.Min(left*math.Pow(1/left, float64(i)/steps), 1)
		exact = append(exact, figure.Point{X: q, Y: amplify.Efficiency(q, d.Target.Epsilon)})
		bound = append(bound, figure.Point{X: q, Y: amplify.EfficiencyBound(d.Target.Epsilon / q)})
	}
	name := w.t("figure.efficiency")
	if d.SampleArrival != nil {
		name = w.t("figure.efficiency_any") // this draw's, where noise is added, lies above it
	}
	p := figure.NewFrame(figure.Axis{Name: w.t("figure.rate"), Min: left, Max: 1, Log: true, Ticks: powers},
		figure.Axis{Name: w.t("figure.efficiency"), Max: math.Max(1, d.Efficiency), Ticks: even},
		figure.Key{Class: "main", Name: name}, figure.Key{Class: "other", Name: "log(1+c)/c"},
		figure.Key{Class: "ring", Name: w.t("figure.this_draw")})
	p.Curve(bound, "other")
	p.Curve(exact, "main")
	p.Ring(d.Amplification.Rate, d.Efficiency)
	return p.HTML(id, w.t("figure.efficiency_title", d.Name), w.t("figure.efficiency_desc", percent(d.Amplification.Rate), trim(d.Efficiency)))
}
