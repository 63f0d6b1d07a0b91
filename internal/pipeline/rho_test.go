package pipeline_test

import (
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

// plannedWith plans a job that may be refused.
func plannedWith(t *testing.T, path string) (report.Report, error) {
	t.Helper()
	j, err := pipeline.Load(path, os.LookupEnv)
	if err != nil {
		return report.Report{}, err
	}
	p, err := pipeline.Plan(background, j, options())
	if err != nil {
		return report.Report{}, err
	}
	return p.Report(), nil
}

// renyi is the largest D_α/α over some orders, of noise with the given density on a value
// that is x or y with probability q and 0 otherwise, in units of the noise: by numerical
// integration, both ways round.
func renyi(density func(float64) float64, q, x, y float64) float64 {
	worst := 0.0
	for _, alpha := range []float64{1.01, 1.5, 2, 3, 5, 8, 16} {
		for _, pair := range [][2]float64{{x, y}, {y, x}} {
			sum := 0.0
			const step = 0.004
			for o := -60.0; o < 60; o += step {
				p := (1-q)*density(o) + q*density(o-pair[0])
				r := (1-q)*density(o) + q*density(o-pair[1])
				if p > 0 && r > 0 {
					sum += math.Exp(alpha*math.Log(p)+(1-alpha)*math.Log(r)) * step
				}
			}
			worst = math.Max(worst, math.Log(sum)/(alpha-1)/alpha)
		}
	}
	return worst
}

func laplace(x float64) float64  { return math.Exp(-math.Abs(x)) / 2 }
func gaussian(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

// eventOf is the event of a release, and the rate of its Poisson sample.
func eventOf(t *testing.T, r report.Release) (privacy.Event, float64) {
	t.Helper()
	e, problems := expr.Parse(r.Guarantee.Event, "event")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if p, ok := e.(privacy.Poisson); ok {
		return p.Event, p.Rate
	}
	return e, 1
}

// A release that asks for a ρ uses it up, and integration finds no more than what it asks:
// of noise on the whole table, and on a Poisson sample, where a pure release may spend more
// because it was drawn. With a hundredth less ρ the plan would not hold.
func TestRhoIsKept(t *testing.T) {
	for _, c := range []struct {
		sample, noise string
		rho           float64
		uses          float64 // at least this part of what is asked, by integration
	}{
		{"", "gaussian", 0.1, 0.99}, {"", "gaussian", 2, 0.99}, {"", "laplace", 0.1, 0.98}, {"", "laplace", 1.5, 0.98},
		{"samples: {s: {method: poisson, rate: 0.2}}\n", "laplace", 0.02, 0.3}, {"samples: {s: {method: poisson, rate: 0.2}}\n", "gaussian", 0.02, 0.02},
	} {
		from := ""
		if c.sample != "" {
			from = "from: s, "
		}
		r := planned(t, design(t, c.sample, fmt.Sprintf("  - {name: m, %smechanism: mean, params: {column: api00, noise: %s}, guarantee: {rho: %g}}\n", from, c.noise, c.rho),
			"limit: {epsilon: 2}", "limit: {rho: 5}"))
		e, q := eventOf(t, r.Releases[0])
		x, y, density := 0.0, 0.0, laplace
		switch e := e.(type) {
		case privacy.DiscreteLaplace:
			x, y = e.Sensitivity.ReplaceOne/2/e.Scale, -e.Sensitivity.ReplaceOne/2/e.Scale
		case privacy.DiscreteGaussian:
			x, y, density = e.Sensitivity.ReplaceOne/2/e.Sigma, -e.Sensitivity.ReplaceOne/2/e.Sigma, gaussian
		default:
			t.Fatalf("%T", e)
		}
		got := renyi(density, q, x, y)
		if got > c.rho*(1+1e-4) {
			t.Errorf("%+v: a neighbour is told apart by ρ %g", c, got)
		}
		if got < c.uses*c.rho {
			t.Errorf("%+v: only ρ %g is used", c, got)
		}
		if rho := r.Releases[0].Rho; rho == nil || rho.Asked != fmt.Sprint(c.rho) {
			t.Errorf("%+v: %+v", c, rho)
		}
		if a := r.Budget.Amounts; len(a) != 1 || a[0].Unit != "rho" || a[0].Limit != "5" || a[0].Cost != r.Releases[0].Rho.Charged {
			t.Errorf("%+v: %+v", c, r.Budget)
		}
	}
}

// The ρ of releases add up to what an account of ρ is debited with, exactly within its
// limit; and in an account of ε and δ what is charged keeps within what ρ stands for.
func TestRhoAddsUp(t *testing.T) {
	tier.Full(t, "TestRhoIsKept")
	releases := `  - {name: a, mechanism: mean, params: {column: api00, noise: gaussian}, guarantee: {rho: "0.25", delta: 1e-7}}
  - {name: b, mechanism: median, params: {column: api00, method: exponential}, guarantee: {rho: "0.25", delta: 1e-7}}
  - {name: c, from: s, mechanism: mean, params: {column: api00}, guarantee: {rho: "0.5", delta: 1e-7}}
`
	sample := "samples: {s: {method: srswor, size: 800}}\n"
	r := planned(t, design(t, sample, releases, "limit: {epsilon: 2}", "limit: {rho: 1}"))
	if a := r.Budget.Amounts[0]; r.Budget.Filter != "zcdp" || a.Unit != "rho" || !(mustFloat(t, a.Spent) <= 1) || mustFloat(t, a.Spent) < 0.99 {
		t.Errorf("%+v", r.Budget)
	}
	if _, err := plannedWith(t, design(t, sample, releases, "limit: {epsilon: 2}", `limit: {rho: "0.9"}`)); err == nil || !strings.Contains(err.Error(), "budget.limit of the job allows ρ 0.9") {
		t.Errorf("%v", err)
	}
	r = planned(t, design(t, sample, releases, "limit: {epsilon: 2}", "limit: {epsilon: 12, delta: 1e-6}"))
	stands := 0.0
	for _, x := range r.Releases {
		stands += x.Target.Epsilon
		if x.Guarantee.Epsilon > x.Target.Epsilon || x.Guarantee.Delta > 1e-7 {
			t.Errorf("%s: charged %g of %g", x.Name, x.Guarantee.Epsilon, x.Target.Epsilon)
		}
	}
	if r.Budget.Filter != "basic" || !(r.Guarantee.Epsilon <= stands) || r.Guarantee.Delta > 3e-7*(1+1e-12) {
		t.Errorf("charged %+v, ρ stands for ε %g", r.Guarantee, stands)
	}
}

// What has no ρ is refused with the reason.
func TestNoRho(t *testing.T) {
	for says, text := range map[string][2]string{
		"cannot be charged in rho":                                   {"", `  - {name: m, mechanism: median, params: {column: api00, method: smooth-laplace}, guarantee: {rho: "0.5"}}` + "\n"},
		"a guarantee in rho does not go with a guarantee in epsilon": {"", `  - {name: m, mechanism: mean, params: {column: api00}, guarantee: {rho: "0.5"}}` + "\n" + `  - {name: n, mechanism: mean, params: {column: api00}, guarantee: {epsilon: "0.5"}}` + "\n"},
		"a kept sample does not go with a guarantee in rho":          {"samples: {s: {method: srswor, size: 800, keep: true}}\n", `  - {name: m, from: s, mechanism: mean, params: {column: api00}, guarantee: {rho: "0.5"}}` + "\n"},
	} {
		if _, err := plannedWith(t, design(t, text[0], text[1], "limit: {epsilon: 2}", "limit: {rho: 5}")); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}
