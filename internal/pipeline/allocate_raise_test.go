package pipeline_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/expr"
	"github.com/dprelease/dprelease/report"
)

func planned(t *testing.T, path string) report.Report {
	t.Helper()
	j, err := pipeline.Load(path, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.Plan(background, j, options())
	if err != nil {
		t.Fatal(err)
	}
	return p.Report()
}

// noises are the additive events on a Poisson sample, and its rate.
func noises(t *testing.T, event json.RawMessage) (float64, []privacy.Event) {
	t.Helper()
	e, problems := expr.Parse(event, "event")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, ok := e.(privacy.Poisson)
	if !ok {
		t.Fatalf("%T is no Poisson sample", e)
	}
	switch inner := p.Event.(type) {
	case privacy.Compose:
		return p.Rate, inner.Events
	case privacy.Repeat:
		var all []privacy.Event
		for range inner.N {
			all = append(all, inner.Event)
		}
		return p.Rate, all
	}
	return p.Rate, []privacy.Event{p.Event}
}

// worstRatio is the pure ε of Laplace noises on one Poisson sample, by brute
// force: the log of the largest likelihood ratio over all pairs of values of the
// replaced record, on a grid of values and of outputs. The others shift every output.
func worstRatio(t *testing.T, q float64, events []privacy.Event) float64 {
	t.Helper()
	const grid = 4
	worst := 0.0
	density := func(value, out int) float64 { // the record's value and the outputs, in the same corner for all events
		in, absent := 1.0, 1.0
		for _, e := range events {
			l := e.(privacy.DiscreteLaplace)
			step := l.Sensitivity.AddRemove / grid / l.Scale
			in *= math.Exp(-step * math.Abs(float64(out-value)))
			absent *= math.Exp(-step * math.Abs(float64(out)))
		}
		return q*in + (1-q)*absent
	}
	for a := -grid; a <= grid; a++ {
		for b := -grid; b <= grid; b++ {
			for out := -2 * grid; out <= 2*grid; out++ {
				worst = math.Max(worst, math.Log(density(a, out)/density(b, out)))
			}
		}
	}
	return worst
}

// hockeyStick is δ at ε of Gaussian noise on one Poisson sample, by numerical
// integration over all pairs of values of the replaced record.
func hockeyStick(q, eps, sigma, arrival float64) float64 {
	worst := 0.0
	density := func(value, x float64) float64 {
		return q*math.Exp(-(x-value)*(x-value)/2) + (1-q)*math.Exp(-x*x/2)
	}
	unit := arrival / sigma
	for a := -4; a <= 4; a += 4 {
		for b := -4; b <= 4; b += 2 {
			const step = 5e-3 // the integrand is smooth but for one kink
			sum := 0.0
			for x := -10 - unit; x < 10+unit; x += step {
				sum += math.Max(0, density(unit*float64(a)/4, x)-math.Exp(eps)*density(unit*float64(b)/4, x))
			}
			worst = math.Max(worst, sum*step/math.Sqrt(2*math.Pi))
		}
	}
	return worst
}

// hockeyStickOfTwo is the same for the two sums of a ratio, Σ(y−L) and Σ(U−y): a record is a point on the line from one axis to the other.
func hockeyStickOfTwo(q, eps, sigma, arrival float64) float64 {
	unit, worst := arrival/sigma, 0.0
	const step = 0.05
	density := func(share, x, y float64) float64 {
		a, b := x-unit*share, y-unit*(1-share)
		return q*math.Exp(-(a*a+b*b)/2) + (1-q)*math.Exp(-(x*x+y*y)/2)
	}
	for _, pair := range [][2]float64{{0, 1}, {0, 0.5}, {0.5, 0}, {0.25, 0.75}} {
		sum := 0.0
		for x := -7.0; x < 7+unit; x += step {
			for y := -7.0; y < 7+unit; y += step {
				sum += math.Max(0, density(pair[0], x, y)-math.Exp(eps)*density(pair[1], x, y))
			}
		}
		worst = math.Max(worst, sum*step*step/(2*math.Pi))
	}
	return worst
}

// The two sums of a ratio cost no more than was charged, and noise for half of a record's reach would.
func TestRatioOfASampleStaysWithinItsTarget(t *testing.T) {
	for _, q := range []float64{0.1, 0.9} {
		for _, epsilon := range []float64{0.3, 3} {
			r := planned(t, design(t, fmt.Sprintf("samples: {s: {method: poisson, rate: %g}}\n", q),
				fmt.Sprintf("  - {name: m, from: s, mechanism: mean, params: {column: api00, noise: gaussian}, guarantee: {epsilon: %g, delta: 1e-5}}\n", epsilon),
				"limit: {epsilon: 2}", "limit: {epsilon: 9, delta: 1e-3}"))
			rate, events := noises(t, r.Draws[0].Guarantee.Event)
			g := events[0].(privacy.DiscreteGaussian)
			if g.Coordinates != 2 {
				t.Fatalf("a ratio has %d sums", g.Coordinates)
			}
			if d := hockeyStickOfTwo(rate, r.Guarantee.Epsilon, g.Sigma, g.Sensitivity.AddRemove); d > 1e-5*1.001 {
				t.Errorf("q %g, ε %g: brute force reaches δ %g", q, r.Guarantee.Epsilon, d)
			}
			if d := hockeyStickOfTwo(rate, r.Guarantee.Epsilon, g.Sigma, 2*g.Sensitivity.AddRemove); d <= 1e-5 {
				t.Errorf("q %g, ε %g: a record with twice the reach is not seen", q, r.Guarantee.Epsilon)
			}
		}
	}
}

// Noise that is added to a sum of a Poisson sample under replace-one uses its
// target up, and brute force finds no more than the target.
func TestAdditiveReleasesUseTheirTarget(t *testing.T) {
	tier.Full(t, "TestSharedDrawStaysWithinEveryTarget")
	for _, q := range []float64{0.02, 0.1, 0.5, 0.9} {
		for _, epsilon := range []float64{0.3, 3} {
			sample := fmt.Sprintf("samples: {s: {method: poisson, rate: %g}}\n", q)
			limit := []string{"limit: {epsilon: 2}", "limit: {epsilon: 9, delta: 1e-3}"}
			r := planned(t, design(t, sample, fmt.Sprintf("  - {name: m, from: s, mechanism: mean, params: {column: api00, difference: true}, guarantee: {epsilon: %g}}\n", epsilon), limit...))
			rate, events := noises(t, r.Draws[0].Guarantee.Event)
			worst := worstRatio(t, rate, events)
			if r.Guarantee.Epsilon > epsilon || r.Guarantee.Epsilon < 0.9999*epsilon {
				t.Errorf("laplace, q %g: charged %g of %g", q, r.Guarantee.Epsilon, epsilon)
			}
			if worst > epsilon*(1+1e-9) || worst < 0.999*epsilon {
				t.Errorf("laplace, q %g, target %g: brute force reaches %g", q, epsilon, worst)
			}
			if d := r.Draws[0]; d.SampleArrival == nil || d.SampleArrival.Epsilon > d.Sample.Epsilon*0.5001 {
				t.Errorf("q %g: %+v of %+v", q, d.SampleArrival, d.Sample)
			}

			if q == 0.02 || q == 0.5 {
				continue
			}
			r = planned(t, design(t, sample, fmt.Sprintf("  - {name: m, from: s, mechanism: mean, params: {column: api00, noise: gaussian, difference: true}, guarantee: {epsilon: %g, delta: 1e-5}}\n", epsilon), limit...))
			rate, events = noises(t, r.Draws[0].Guarantee.Event)
			g := events[0].(privacy.DiscreteGaussian)
			delta := hockeyStick(rate, r.Guarantee.Epsilon, g.Sigma, g.Sensitivity.AddRemove)
			if r.Guarantee.Epsilon > epsilon || r.Guarantee.Epsilon < 0.97*epsilon || r.Guarantee.Delta > 1e-5 {
				t.Errorf("gaussian, q %g: charged %g, %g of %g", q, r.Guarantee.Epsilon, r.Guarantee.Delta, epsilon)
			}
			if delta > 1e-5*(1+1e-6) || delta < 0.9e-5 {
				t.Errorf("gaussian, q %g, ε %g: brute force reaches δ %g", q, r.Guarantee.Epsilon, delta)
			}
		}
	}
}

// Releases that share a draw share what is left over: together and each alone
// they stay within their targets. A median that selects, whose arrival costs as much as
// a replacement, gets no more alone than before, also at rates above ½, where noise that
// is added might.
func TestSharedDrawStaysWithinEveryTarget(t *testing.T) {
	for _, q := range []string{"0.1", "0.7", "0.95"} {
		r := planned(t, design(t, "samples: {s: {method: poisson, rate: "+q+"}}\n",
			`  - {name: a, from: s, mechanism: mean, params: {column: api00}, guarantee: {epsilon: "0.5"}}
  - {name: b, from: s, mechanism: mean, params: {column: api00}, guarantee: {epsilon: "2"}}
  - {name: c, from: s, mechanism: median, params: {column: api00, method: exponential}, guarantee: {epsilon: "0.5"}}
`, "limit: {epsilon: 2}", "limit: {epsilon: 9}"))
		targets := map[string]float64{"a": 0.5, "b": 2, "c": 0.5}
		for _, x := range r.Releases {
			if !(x.Guarantee.Epsilon <= targets[x.Name]) {
				t.Errorf("q %s: release %s charged %g of %g", q, x.Name, x.Guarantee.Epsilon, targets[x.Name])
			}
		}
		if !(r.Guarantee.Epsilon <= 3) {
			t.Errorf("q %s: charged %g of 3", q, r.Guarantee.Epsilon)
		}
		d := r.Draws[0]
		plain, err := privacy.SampleBudget(privacy.Poisson{Rate: mustFloat(t, q)}, privacy.ReplaceOne, privacy.Point{Epsilon: 3})
		if err != nil || d.Sample.Epsilon < plain.Epsilon*(1-1e-8) {
			t.Errorf("q %s: %g on the sample, less than the %g of any mechanism (%v)", q, d.Sample.Epsilon, plain.Epsilon, err)
		}
	}
}

func mustFloat(t *testing.T, s string) float64 {
	t.Helper()
	var x float64
	if _, err := fmt.Sscan(s, &x); err != nil {
		t.Fatal(err)
	}
	return x
}

// A mechanism whose arrival costs what a replacement does, and a design that is not
// Poisson, keep the plan that holds for any mechanism.
func TestOthersAreNotRaised(t *testing.T) {
	for _, c := range []string{
		"samples: {s: {method: poisson, rate: 0.2}}\nreleases:\n  - {name: m, from: s, mechanism: median, params: {column: api00, method: exponential}, guarantee: {epsilon: 1}}\n",
		"samples: {s: {method: srswor, size: 600}}\nreleases:\n  - {name: m, from: s, mechanism: mean, params: {column: api00}, guarantee: {epsilon: 1}}\n",
	} {
		parts := strings.SplitN(c, "releases:\n", 2)
		r := planned(t, design(t, parts[0], parts[1]))
		if d := r.Draws[0]; d.SampleArrival != nil || r.Guarantee.Epsilon > 1 {
			t.Errorf("%s: %+v", c, d)
		}
	}
}

// A survey, drawn without replacement, is sampled again, and a regression draws
// Poisson batches from it: every amplification is nested in the survey's, and
// nothing costs more than its target.
func TestCollectedAroundPoissonAndBatches(t *testing.T) {
	tier.Full(t, "TestCollected")
	releases := `  - {name: lap, from: s, mechanism: mean, params: {column: api00}, guarantee: {epsilon: "0.4"}}
  - {name: gau, from: s, mechanism: mean, params: {column: api00, noise: gaussian}, guarantee: {epsilon: "0.3", delta: 1e-6}}
  - {name: sgd, mechanism: sgd, params: {model: linear, target: api00, features: [enrolled], steps: 20, rate: 0.02}, guarantee: {epsilon: "0.8", delta: 1e-6}}
`
	path := design(t, "samples: {s: {method: poisson, rate: 0.1}}\n", releases,
		"  unit: row", "  unit: row\n  collected: {method: srswor, population: 61940}",
		"missing: drop", "missing: {impute: 400}", "limit: {epsilon: 2}", "limit: {epsilon: 2, delta: 1e-5}")
	r := planned(t, path)
	if g := r.Guarantee; g.Epsilon > 1.5 || g.Delta > 2e-6*(1+1e-12) || !strings.HasPrefix(g.EventText, "without_replacement(6194 of 61940") ||
		!strings.Contains(g.EventText, "×20") || strings.Count(g.EventText, "poisson") != 2 {
		t.Errorf("charged %g, %g for %s", g.Epsilon, g.Delta, g.EventText)
	}
	alone := map[string]privacy.Point{"lap": {Epsilon: 0.4}, "gau": {Epsilon: 0.3, Delta: 1e-6}, "sgd": {Epsilon: 0.8, Delta: 1e-6}}
	for _, x := range r.Releases {
		if want := alone[x.Name]; x.Guarantee.Epsilon > want.Epsilon || x.Guarantee.Delta > want.Delta || x.Guarantee.Epsilon < want.Epsilon/40 {
			t.Errorf("%s: charged %g, %g of %+v", x.Name, x.Guarantee.Epsilon, x.Guarantee.Delta, want)
		}
	}
	// What the survey allows its table is more than the target, and so is what the
	// plan spends there: ε_n of a tenth of the population.
	inner := math.Log1p(math.Expm1(1.5) / 0.1)
	for _, d := range r.Draws {
		if share := d.Target.Epsilon / 1.5 * inner; d.Name == "s" && d.Sample.Epsilon < share {
			t.Errorf("draw %s may spend %g on the sample, less than the %g of its table", d.Name, d.Sample.Epsilon, share)
		}
	}
	if testing.Short() { // a run plans it all again
		return
	}
	o, err := run(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if o.Report.Guarantee.Epsilon != r.Guarantee.Epsilon {
		t.Errorf("planned %g, charged %g", r.Guarantee.Epsilon, o.Report.Guarantee.Epsilon)
	}
}
