package sgd

import (
	"fmt"
	"math"
	"strings"

	"github.com/dprelease/dprelease/plugins/features"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// The kinds of rows of a release.
const (
	kindCoefficient = "coefficient"
	kindVerdict     = "verdict"
	kindTraining    = "training"
)

// What a release says of its descent.
const (
	arrived   = "reached the fit, as far as the noise shows"
	travelled = "stopped before the fit: do not use these coefficients; the plan's notes say what helps"
)

// output is the shape of the release: a row for each coefficient, one that says whether
// the descent reached the fit, then the public facts of the training.
var output = []sdk.Field{
	{Name: "kind", Type: sdk.String,
		Doc: "coefficient; verdict: whether the descent reached the fit; training: a public fact about how the coefficients were found"},
	{Name: "name", Type: sdk.String,
		Doc: "(intercept), a column, or column=value against the first value of its domain; the verdict; or the fact"},
	{Name: "value", Type: sdk.Float64, Doc: "in the column's own units, with noise; of log(column) for a number with a logarithm; " +
		"log-odds for a logistic model; for the verdict the mean gradient of the last half of the steps, as a multiple of " +
		"what noise alone makes"},
}

type fact struct {
	name  string
	value float64
}

// facts are public: they follow from the plan.
func (l *layout) facts() []fact {
	if l.params.last() {
		all := []fact{{"steps", float64(l.schedule.steps)}}
		if l.params.inTurn() {
			all = append(all, fact{"batch_size", float64(l.schedule.batch)})
		}
		all = append(all, fact{"noise_sd", l.iterate.Sigma})
		if l.iterate.Early > 0 {
			all = append(all, fact{"early_noise", l.iterate.Early})
		}
		return append(all, fact{"radius", *l.params.Radius}, fact{"step_size", l.pace.step}, fact{"l2", l.params.L2})
	}
	return []fact{
		{"steps", float64(l.schedule.steps)},
		{"rate", l.schedule.rate},
		{"expected_batch", l.schedule.expected()},
		{"clip", l.clip},
		{"noise_multiplier", l.multiplier()},
		{"step_size", l.pace.step},
		{"momentum", l.pace.momentum},
		{"l2", l.params.L2},
	}
}

// verdicts returns how many rows tell whether the descent reached the fit. Where only
// the last iterate is paid for, nothing of the steps before it may be used to tell.
func (l *layout) verdicts() int {
	if l.params.last() {
		return 0
	}
	return 1
}

// expected returns what is known without data: the noise of a step, and how far the
// descent comes. How far noise reaches a coefficient depends on how the features lie.
func (l *layout) expected() []sdk.ExpectedError {
	var notes []string
	if l.params.last() {
		note := fmt.Sprintf("σ = %.4g on each coordinate of a step's mean gradient, %d steps over %s, of which only the last iterate is released",
			l.iterate.Sigma, l.schedule.steps, l.taken())
		if l.iterate.Early > 0 {
			note += fmt.Sprintf("; all steps but the last have %g of that noise", l.iterate.Early)
		}
		notes = append(notes, note)
	} else {
		notes = append(notes, fmt.Sprintf(
			"noise multiplier σ = %.4g at clip %g, %d steps at rate %g: noise of %.4g on each coordinate of a step's mean gradient",
			l.multiplier(), l.clip, l.schedule.steps, l.schedule.rate, l.gradientNoise()))
	}
	var all []sdk.ExpectedError
	for _, note := range append(notes, l.convergence()...) {
		all = append(all, sdk.ExpectedError{Field: "value", Note: note})
	}
	return all
}

// batchNoise bounds how far drawing a batch moves a coordinate of its mean gradient.
func (l *layout) batchNoise() float64 {
	return l.clip * math.Sqrt((1-l.schedule.rate)/l.schedule.expected())
}

// convergence describes how far from the fit the descent ends without noise, and warns
// where that is more than the noise moves it.
func (l *layout) convergence() []string {
	left, moved := l.pace.along(l.flat())
	noise := moved * l.gradientNoise() / l.distance()
	place := fmt.Sprintf("where the values of the features spread by a tenth of half their bounds (%s), without noise %s of the way "+
		"from the start to the fit would be left at the end; noise moves the end by %s of it",
		l.spreads(), percent(left), percent(noise))
	all := []string{place}
	if most := l.clip * l.encoder.target.Half; !l.encoder.logistic && !l.params.last() && l.clip < 2 {
		all = append(all, fmt.Sprintf("clip %g can cut residuals beyond %.3g; where there are many, the fit is not least squares. "+
			"Clip 2 cuts none near a fit, at %.3g times the noise",
			l.clip, most, 2/l.clip))
	}
	if left > noise {
		help := "leave out epochs, steps, rate, batch_size and step_size, so that steps are chosen"
		if l.params.last() {
			help = "take more epochs or steps, a larger step_size, or accounting: steps"
		} else if l.params.open {
			help = "draw the bounds closer around the values, allow a larger epsilon, or set l2"
		}
		if !l.encoder.logistic {
			help += "; or use mechanism regression, which takes no steps"
		}
		all = append(all, "warning: the descent may stop before it reaches the fit, by more than the noise hides. What helps: "+help)
	}
	if !l.params.last() && l.batchNoise() > 2*l.gradientNoise() {
		all = append(all, fmt.Sprintf("warning: drawing a batch can move a step by up to %.3g times its noise. What helps: batches: full, "+
			"without rate and batch_size",
			l.batchNoise()/l.gradientNoise()))
	}
	return all
}

// spreads are the spreads that convergence speaks of, in the units of the columns.
func (l *layout) spreads() string {
	var all []string
	for _, f := range l.encoder.Features {
		if f.Column.Type == sdk.Number && len(all) < 3 {
			all = append(all, fmt.Sprintf("%s by %.3g", f.Name(), usual*f.Half))
		}
	}
	if all == nil {
		return "for a category, a value that 1 row in 100 has"
	}
	return strings.Join(all, ", ")
}

func percent(share float64) string { return fmt.Sprintf("%.2g %%", 100*share) }

// taken names the records that the steps take.
func (l *layout) taken() string {
	if !l.params.inTurn() {
		return "all records"
	}
	return fmt.Sprintf("batches of %d records in turn", l.schedule.batch)
}

// result makes the released table of scaled coefficients.
func (l *layout) result(w []float64, drift float64) sdk.Result {
	var kind, name []string
	var value []float64
	add := func(k, n string, v float64) { kind, name, value = append(kind, k), append(name, n), append(value, v) }
	names := l.encoder.Names()
	for i, c := range l.unscaled(w) {
		add(kindCoefficient, names[i], c)
	}
	if l.verdicts() > 0 {
		text := arrived
		if drift > 1 {
			text = travelled
		}
		add(kindVerdict, text, features.Finite(drift))
	}
	for _, f := range l.facts() {
		add(kindTraining, f.name, f.value)
	}
	return sdk.Result{Columns: []sdk.ResultColumn{
		{Name: "kind", Texts: kind}, {Name: "name", Texts: name}, {Name: "value", Float64: value},
	}}
}

// unscaled returns the coefficients in the columns' own units, the intercept
// first. With z = (x − middle)/half the prediction is (w0 + Σ w·z)/radius.
func (l *layout) unscaled(w []float64) []float64 {
	e := l.encoder
	gain, shift := 1/e.radius, 0.0
	if !e.logistic {
		gain, shift = e.target.Half/e.radius, e.target.Middle
	}
	scaled := make([]float64, len(w))
	for j, x := range w {
		scaled[j] = features.Finite(x * gain)
	}
	out := e.Unscale(scaled)
	out[0] = features.Finite(out[0] + shift)
	return out
}
