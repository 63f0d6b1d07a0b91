package pipeline_test

import (
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/columns"
)

// A draw that is kept for a release without a δ and one with: all of the δ is that
// one's, and rounding it must not make the plan unsound.
func TestKeptSampleOfPureAndApproximate(t *testing.T) {
	tier.Full(t, "TestKeptSample")
	data := tableOf(t, columns.Column{Name: "x", Float64: make([]float64, 500)})
	path := write(t, tinyJob, "TABLE", data, "replace-one\n  size: 4", "add-remove",
		"budget: {limit: {epsilon: 1}}", "budget: {limit: {epsilon: 10, delta: 1e-5}}\nsamples:\n  s: {method: poisson, rate: 0.05, keep: true}",
		"{name: r, mechanism: mean, params: {column: x}, guarantee: {epsilon: 1}}",
		"{name: r, from: s, mechanism: mean, params: {column: x}, guarantee: {epsilon: 1}}\n"+
			"  - {name: q, from: s, mechanism: median, params: {column: x, method: smooth-laplace}, guarantee: {epsilon: 1, delta: 1e-6}}")
	o, err := run(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if c := o.Report.Draws[0].Kept.Charged; c.Epsilon > 2 || c.Epsilon < 1.99 || c.Delta > 1e-6 || c.Delta < .99e-6 {
		t.Errorf("charged %+v", c)
	}
}
