package report_test

import (
	"math"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

func side(t *testing.T, name string) report.Side {
	t.Helper()
	r, values := load(t, "schools")
	return report.Side{Name: name, Report: *r, Values: values}
}

func moved(t *testing.T, s report.Side, release string, by float64) report.Side {
	t.Helper()
	for i, c := range s.Values[release].Columns {
		if c.Name == "estimate" {
			values := append([]float64(nil), c.Float64...)
			values[0] += by
			s.Values[release].Columns[i].Float64 = values
			return s
		}
	}
	t.Fatalf("no estimates of %s", release)
	return s
}

func compared(t *testing.T, c *report.Comparison, release string) report.Differences {
	t.Helper()
	for _, d := range c.Results {
		if d.Release == release {
			return d
		}
	}
	t.Fatalf("%s is not compared", release)
	return report.Differences{}
}

// A difference is larger than noise explains from √2 times the noise of one run on, and
// then only as far as sampling is known.
func TestCompareNoise(t *testing.T) {
	for by, want := range map[float64]string{0: "the same", 2: "noise explains it", 200: "larger than noise explains"} {
		c := report.Compare(side(t, "a"), moved(t, side(t, "b"), "api_mean", by))
		d := compared(t, c, "api_mean")
		if len(d.Rows) != 2 {
			t.Fatalf("%d rows", len(d.Rows))
		}
		if got := d.Rows[0].Verdict; got != want {
			t.Errorf("by %g: %q, want %q", by, got, want)
		}
	}
	c := report.Compare(side(t, "a"), moved(t, side(t, "b"), "api_sampled", 700))
	if got := compared(t, c, "api_sampled").Rows[0].Verdict; !strings.Contains(got, "sampling") {
		t.Errorf("a sampled release: %q", got)
	}
}

// The tails behind TestCompareNoise: two noises that lie within h in 95 of 100 cases differ
// by more than √(h²+h²) in at most 5 of 100.
func TestDifferenceOfTwoNoises(t *testing.T) {
	const laplace, normal = 2.995733, 1.959964
	check := func(what string, tail float64) {
		t.Helper()
		if !(tail > 0.02 && tail <= 0.05) {
			t.Errorf("%s: %g", what, tail)
		}
	}
	for _, c := range []float64{0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999} {
		at := laplace * math.Hypot(1, c)
		check("two Laplace noises", (math.Exp(-at)-c*c*math.Exp(-at/c))/(1-c*c))
	}
	for _, s := range []float64{0.1, 0.3, 0.5, 0.8, 1, 1.5, 2, 4, 8} {
		at, dx, tail := math.Hypot(laplace, normal*s), s/500, 0.0
		for x := -10 * s; x < 10*s; x += dx {
			above := 0.0
			if u := at - x; u < 0 {
				above = 1 - 0.5*math.Exp(u)
			} else {
				above = 0.5 * math.Exp(-u)
			}
			tail += 2 * above * math.Exp(-x*x/(2*s*s)) / (s * math.Sqrt(2*math.Pi)) * dx
		}
		check("a Laplace and a normal noise", tail)
	}
}

// What two runs cost together is the sum of both, never rounded down, where there is one.
func TestCompareCost(t *testing.T) {
	a, b := side(t, "a"), side(t, "b")
	a.Report.Budget = nil
	a.Report.Guarantee.Epsilon, b.Report.Guarantee.Epsilon = 0.1, 0.2
	a.Report.Guarantee.Delta, b.Report.Guarantee.Delta = 1e-7, 2e-7
	for _, c := range []struct {
		name   string
		change func()
		want   string
	}{
		{"the sum", func() {}, "at most ε\u00a00.3001, δ\u00a03e-7"},
		{"slices", func() {
			a.Report.Dataset.Slice, b.Report.Dataset.Slice = &report.Slice{Column: "month", Is: "1"}, &report.Slice{Column: "month", Is: "2"}
		}, "in one of the two slices at most ε\u00a00.2, δ\u00a02e-7; for one that is in both at most ε\u00a00.3001"},
		{"public columns", func() { b.Report.Dataset.PublicColumns = []string{"county"} }, "for a change that keeps county"},
		{"data sets", func() { b.Report.Dataset.ID = "other" }, "the data sets differ; for whoever is in both, at most ε\u00a00.3001"},
		{"relations", func() { b.Report.Dataset.Relation = privacy.AddRemove }, "cannot be compared, and there is no sum"},
	} {
		c.change()
		if got := report.Compare(a, b).Together; !strings.Contains(got, c.want) {
			t.Errorf("%s: %q does not say %q", c.name, got, c.want)
		}
	}
	once := side(t, "once")
	if got := report.Compare(once, once).Together; !strings.Contains(got, "one run, which was charged once") {
		t.Error(got)
	}
}

// The facts that changed are named, and no others.
func TestCompareFacts(t *testing.T) {
	a, b := side(t, "a"), side(t, "b")
	b.Report.Dataset.Population++
	b.Report.Releases[0].Where = "x > 1"
	c := report.Compare(a, b)
	if len(c.Data) != 1 || c.Data[0].What != "size" || len(c.Job) != 1 || c.Job[0].B != "x > 1" || c.Job[0].A != "" {
		t.Errorf("%v, %v", c.Job, c.Data)
	}
	var page, text strings.Builder
	if err := c.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"x &gt; 1", "6\u202f195", "What both cost together", "default-src"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %s", want)
		}
	}
	if !strings.Contains(text.String(), "→ x > 1") || strings.Contains(page.String(), "<script") {
		t.Error(text.String())
	}
}
