package report_test

import (
	"bytes"
	"math"
	"regexp"
	"testing"

	"github.com/dprelease/dprelease/report"
)

// outside is P(|Z·s + X| > t) for standard normal Z and Laplace X of scale b:
// integrated over X.
func outside(s, b, t float64) float64 {
	if b == 0 {
		return math.Erfc(t / s / math.Sqrt2)
	}
	sum := 0.0
	const steps = 4000
	for i := range steps {
		u := (float64(i) + 0.5) / steps // of |X|, by its quantiles
		x := -b * math.Log1p(-u)
		far := func(x float64) float64 {
			if s == 0 {
				if math.Abs(x) > t {
					return 1
				}
				return 0
			}
			return (math.Erfc((t-x)/s/math.Sqrt2) + math.Erfc((t+x)/s/math.Sqrt2)) / 2
		}
		sum += (far(x) + far(-x)) / 2 / steps
	}
	return sum
}

// The interval of noise and sampling together holds 95 of 100 errors for every mix of
// a normal sampling error with normal or Laplace noise; Chebyshev's is wider.
func TestCombine(t *testing.T) {
	laplace, normal := math.Log(20)/math.Sqrt2, 1.959963984540054
	for _, share := range []float64{0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99} {
		noise, sampling := math.Sqrt(1-share), math.Sqrt(share)
		c := report.Combine(report.ExpectedError{NoiseSD: noise, Half95: laplace * noise}, sampling)
		if p := outside(sampling, noise/math.Sqrt2, c.Half95); math.Abs(c.SD-1) > 1e-12 || p > 0.0505 {
			t.Errorf("laplace noise, %g of the variance from sampling: outside ±%g in %g of cases", share, c.Half95, p)
		}
		c = report.Combine(report.ExpectedError{NoiseSD: noise, Half95: normal * noise}, sampling)
		if p := outside(1, 0, c.Half95); math.Abs(p-0.05) > 1e-6 {
			t.Errorf("normal noise: outside ±%g in %g of cases", c.Half95, p)
		}
		if c.Half95Any <= c.Half95 || math.Abs(c.Half95Any-math.Sqrt(20)) > 1e-12 {
			t.Errorf("chebyshev: ±%g beside ±%g", c.Half95Any, c.Half95)
		}
	}
	// A noise whose law is not known has only Chebyshev's interval.
	if c := report.Combine(report.ExpectedError{NoiseSD: 3}, 4); c.SD != 5 || c.Half95 != 0 {
		t.Errorf("%+v", c)
	}
}

// The parts of an error are said once each, with what they rest on.
func TestExpectedErrorInWords(t *testing.T) {
	zero, some := 0.0, 12.0
	e := report.ExpectedError{Field: "estimate", Note: "api00", NoiseSD: 5, Half95: 10}
	for _, c := range []struct {
		s    *report.Sampling
		want []string
	}{
		{nil, []string{"r: estimate .api00.", "noise alone +5 +±\u202f10 +the law of the noise"}},
		{&report.Sampling{BoundSD: &zero}, []string{"sampling +– +– +the whole table was read"}},
		{&report.Sampling{Unknown: "nobody knows"}, []string{"ampling: how far drawing the sample moves the value is not public: nobody knows"}},
		{&report.Sampling{BoundSD: &some, AssumedSD: 3, Assumption: "api00 has standard deviation 120", Worst: report.Combine(e, 12), Assumed: report.Combine(e, 3)},
			[]string{"sampling alone, at worst +12 +– +whatever", "sampling alone, assumed +3 +– +api00 has standard deviation 120",
				"noise and sampling, at worst +13 +±\u202f26 +normal approximation; ±\u202f58.14 without it", "noise and sampling, assumed +5.831"}},
	} {
		e.Sampling = c.s
		var out bytes.Buffer
		r := report.Report{Releases: []report.Release{{Name: "r", From: "all", Expected: []report.ExpectedError{e}}}}
		if err := report.WritePlan(&out, &r, "", true); err != nil {
			t.Fatal(err)
		}
		for _, w := range c.want {
			if !regexp.MustCompile(w).MatchString(out.String()) {
				t.Errorf("%q is not in\n%s", w, out.String())
			}
		}
	}
}
