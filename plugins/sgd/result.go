package sgd

import (
	"fmt"

	"github.com/dprelease/dprelease/plugins/features"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// The two kinds of rows of a release.
const (
	kindCoefficient = "coefficient"
	kindTraining    = "training"
)

// output is the shape of the release: one row a coefficient, then one a public
// fact about the training.
var output = []sdk.Field{
	{Name: "kind", Type: sdk.String, Doc: "coefficient, or training: a public fact about how it was found"},
	{Name: "name", Type: sdk.String, Doc: "(intercept), a column, or column=value against the first value of its domain"},
	{Name: "value", Type: sdk.Float64, Doc: "in the column's own units, with noise; of log(column) for a number with a logarithm; log-odds for a logistic model"},
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
		return append(all, fact{"radius", *l.params.Radius}, fact{"step_size", l.stepSize()}, fact{"l2", l.params.L2})
	}
	return []fact{
		{"steps", float64(l.schedule.steps)},
		{"rate", l.schedule.rate},
		{"expected_batch", l.schedule.expected()},
		{"clip", l.clip},
		{"noise_multiplier", l.multiplier()},
		{"step_size", l.stepSize()},
		{"l2", l.params.L2},
	}
}

// expected says what is known of the noise without data: that of a step. How far
// it reaches a coefficient depends on how the features lie.
func (l *layout) expected() []sdk.ExpectedError {
	if l.params.last() {
		note := fmt.Sprintf("σ = %.4g on each coordinate of a step's mean gradient, %d steps over %s, of which only the last iterate is released",
			l.iterate.Sigma, l.schedule.steps, l.taken())
		if l.iterate.Early > 0 {
			note += fmt.Sprintf("; all steps but the last have %g of that noise", l.iterate.Early)
		}
		return []sdk.ExpectedError{{Field: "value", Note: note}}
	}
	return []sdk.ExpectedError{{Field: "value", Note: fmt.Sprintf(
		"noise multiplier σ = %.4g at clip %g, %d steps at rate %g: noise of %.4g on each coordinate of a step's mean gradient",
		l.multiplier(), l.clip, l.schedule.steps, l.schedule.rate, l.unit()*l.noise.Sigma)}}
}

// taken says which records the steps take.
func (l *layout) taken() string {
	if !l.params.inTurn() {
		return "all records"
	}
	return fmt.Sprintf("batches of %d records in turn", l.schedule.batch)
}

// result turns scaled coefficients into the released table.
func (l *layout) result(w []float64) sdk.Result {
	var kind, name []string
	var value []float64
	for i, c := range l.unscaled(w) {
		kind, name, value = append(kind, kindCoefficient), append(name, l.encoder.Names()[i]), append(value, c)
	}
	for _, f := range l.facts() {
		kind, name, value = append(kind, kindTraining), append(name, f.name), append(value, f.value)
	}
	return sdk.Result{Columns: []sdk.ResultColumn{
		{Name: "kind", String: kind}, {Name: "name", String: name}, {Name: "value", Float64: value},
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
