package report

import (
	"html/template"
	"math"

	"github.com/dprelease/dprelease/internal/say/figure"
)

// storyView is the way from the population to the releases of one draw, in four steps.
type storyView struct {
	Draw  string
	Steps []stepView
	Text  string // what the draw did to the accuracy
}

type stepView struct {
	Picture template.HTML
	Title   string
	Text    string
}

// maxStories is the number of draws that are told; the table of draws has the others.
const maxStories = 4

// story describes how the releases of each draw came about. It knows the design and the
// plan, and nothing of what was drawn (P19).
func story(w words, r *Report) []storyView {
	var out []storyView
	for _, d := range r.Draws {
		if len(out) == maxStories {
			break
		}
		collected := r.Dataset.Collected != nil
		rate, sampled := 1.0, d.sampled() && !(collected && d.Name == All)
		if a := d.Amplification; sampled && a != nil {
			rate = a.Rate
		}
		size := w.t("story.secret_size", w.many(r.Dataset))
		if n := r.Dataset.Population; n > 0 {
			size = w.Number(grouped(n)) + " " + w.many(r.Dataset) + "."
		}
		one := storyView{Draw: d.Name}
		if d.Name == All {
			one.Draw = w.t("story.whole")
		}
		if collected {
			one.Steps = append(one.Steps, stepView{crowd(1, false), w.t("story.population"), w.t("story.collected_from")},
				stepView{crowd(r.Dataset.Collected.Rate, true), w.t("story.draw"), w.t("story.collected", r.Dataset.collected(w))})
		} else {
			one.Steps = append(one.Steps, stepView{crowd(1, false), w.t("story.population"), size})
		}
		if sampled {
			text := w.Or("design."+d.Design, d.Design)
			if d.Amplification != nil {
				text += ": " + w.t("story.rate", percent(rate))
			}
			one.Steps = append(one.Steps, stepView{crowd(rate, true), w.t("story.draw"), text + ". " + w.t("story.secret")})
			one.Text = efficiencyWords(w, d)
		}
		if text := r.Dataset.Panel.text(w); text != "" {
			one.Text = text
		}
		var kinds []string
		noise := d.Sample
		if !sampled && !collected {
			noise = d.Target
		}
		for _, e := range r.Releases {
			if e.From == d.Name {
				kinds = appendNew(kinds, w.Or("mechanism."+e.Mechanism.Name, e.Mechanism.Name))
			}
		}
		one.Steps = append(one.Steps,
			stepView{bell(), w.t("story.noise"), w.t("story.noise_text", list(kinds), point(noise.Epsilon, noise.Delta, Allowed))},
			stepView{sheet(), w.t("story.release"), w.t("story.release_text", list(d.Releases), Charge(d.Guarantee))})
		out = append(out, one)
	}
	return out
}

// text names the wave of a panel and who pays for it, "" where there is no panel.
func (p *Panel) text(w words) string {
	switch {
	case p == nil:
		return ""
	case p.Again:
		return w.t("story.panel_again", p.Wave, p.Waves)
	}
	return w.t("story.panel", p.Wave, p.Waves)
}

// efficiencyWords describes what a draw did to the noise of a total.
func efficiencyWords(w words, d Draw) string {
	switch times := 1 / d.Efficiency; {
	case d.Efficiency <= 0:
		return ""
	case times < 0.995:
		return w.t("story.less", trim(times))
	case times < 1.005:
		return w.t("story.same")
	default:
		return w.t("story.more", trim(times))
	}
}

func list(names []string) string {
	text := ""
	for i, n := range names {
		if i == 6 {
			return text + " …"
		}
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}

// crowd draws a hundred units, and in a sample about as many of them filled as the rate
// says: the places mean nothing.
func crowd(rate float64, sample bool) template.HTML {
	d := &figure.Drawing{Width: 120, Height: 60}
	filled := int(math.Round(100 * rate))
	if sample {
		filled = min(max(filled, 1), 99)
	}
	var in, out []figure.Point
	for i := range 100 {
		at := figure.Point{X: 4 + float64(i%20)*5.9, Y: 7 + float64(i/20)*11.5}
		if (i*37+11)%100 < filled { // spread evenly
			in = append(in, at)
		} else {
			out = append(out, at)
		}
	}
	d.Spots(out, "unit out")
	d.Spots(in, "unit")
	return d.Ornament()
}

// bell draws noise.
func bell() template.HTML {
	d := &figure.Drawing{Width: 120, Height: 60}
	var curve []figure.Point
	for i := range 41 {
		x := float64(i)/20 - 1
		curve = append(curve, figure.Point{X: 60 + 54*x, Y: 52 - 44*math.Exp(-math.Abs(x)*4)})
	}
	d.Line(4, 52, 116, 52, "axis")
	d.Path(curve, "main")
	return d.Ornament()
}

// sheet draws a released table with a picture on it.
func sheet() template.HTML {
	d := &figure.Drawing{Width: 120, Height: 60}
	d.Path([]figure.Point{{X: 36, Y: 4}, {X: 84, Y: 4}, {X: 84, Y: 56}, {X: 36, Y: 56}, {X: 36, Y: 3}}, "main")
	for i, h := range []float64{14, 26, 20, 34} {
		d.Rect(42+float64(i)*9.5, 50-h, 7, h, "bin", 1)
	}
	return d.Ornament()
}
