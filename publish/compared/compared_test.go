package compared_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/publish/compared"
	"github.com/dprelease/dprelease/report"
)

func side(t *testing.T, name string) compared.Side {
	t.Helper()
	var r report.Report
	var values map[string]report.Table
	for file, into := range map[string]any{"report.json": &r, "values.json": &values} {
		b, err := os.ReadFile(filepath.Join("../../report/testdata/schools", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, into); err != nil {
			t.Fatal(err)
		}
	}
	return compared.Side{Name: name, Report: r, Values: values}
}

func moved(t *testing.T, s compared.Side, release string, by float64) compared.Side {
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

func found(t *testing.T, c *compared.Comparison, release string) compared.Differences {
	t.Helper()
	for _, d := range c.Results {
		if d.Release == release {
			return d
		}
	}
	t.Fatalf("%s is not compared", release)
	return compared.Differences{}
}

// A difference is larger than noise explains from √2 times the noise of one run on, and
// then only as far as sampling is known.
func TestCompareNoise(t *testing.T) {
	for by, want := range map[float64]string{0: "the same", 2: "noise explains it", 200: "larger than noise explains"} {
		c := compared.Compare(side(t, "a"), moved(t, side(t, "b"), "api_mean", by))
		d := found(t, c, "api_mean")
		if len(d.Rows) != 2 {
			t.Fatalf("%d rows", len(d.Rows))
		}
		if got := d.Rows[0].Verdict; got != want {
			t.Errorf("by %g: %q, want %q", by, got, want)
		}
	}
	c := compared.Compare(side(t, "a"), moved(t, side(t, "b"), "api_sampled", 700))
	if got := found(t, c, "api_sampled").Rows[0].Verdict; !strings.Contains(got, "sampling") {
		t.Errorf("a sampled release: %q", got)
	}
}

// A comparison has the words of readers, and pairs values whatever words the two runs have for them.
func TestCompareHasLabels(t *testing.T) {
	a, b := side(t, "a"), side(t, "b")
	b.Report.Publication = &report.Publication{Labels: map[string]string{"api_mean": "Academic index", "api00": "Index of 2000"}}
	c := compared.Compare(a, b)
	d := found(t, c, "api_mean")
	if len(d.Rows) != 2 || d.Title != "Academic index" || d.Rows[0].Label != "Index of 2000" && d.Rows[1].Label != "Index of 2000" {
		t.Errorf("%+v", d)
	}
	var out strings.Builder
	d.Rows[0].Label = "=1+1"
	if err := c.WriteCSV(&out); err != nil || !strings.Contains(out.String(), "api_mean,'=1+1,") {
		t.Errorf("%v: %s", err, out.String())
	}
	d.Rows[0].Label = "Index of 2000"
	out.Reset()
	if err := c.WriteText(&out); err != nil || !strings.Contains(out.String(), "  Academic index: ") || !strings.Contains(out.String(), "    Index of 2000 ") {
		t.Errorf("%v: %s", err, out.String())
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
		if got := compared.Compare(a, b).Together; !strings.Contains(got, c.want) {
			t.Errorf("%s: %q does not say %q", c.name, got, c.want)
		}
	}
	once := side(t, "once")
	if got := compared.Compare(once, once).Together; !strings.Contains(got, "one run, which was charged once") {
		t.Error(got)
	}
}

// The facts that changed are named, and no others.
func TestCompareFacts(t *testing.T) {
	a, b := side(t, "a"), side(t, "b")
	b.Report.Dataset.Population++
	b.Report.Releases[0].Where = "x > 1"
	c := compared.Compare(a, b)
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

// A comparison as CSV holds both intervals; that of sampling is blank where it is not public.
func TestComparisonAsCSV(t *testing.T) {
	made := func(from string, value float64) compared.Side {
		e := report.Release{Name: "r", From: from, Mechanism: report.Mechanism{Name: "count"}}
		return compared.Side{Name: from, Report: report.Report{Releases: []report.Release{e}}, Values: map[string]report.Table{"r": {Columns: []report.Column{
			{Name: "region", Texts: []string{"north", "south"}}, {Name: "estimate", Float64: []float64{value, 5}, Blank: []bool{false, true}},
			{Name: "noise_sd", Float64: []float64{3, 3}}, {Name: "noise_low", Float64: []float64{value - 6, 0}}, {Name: "noise_high", Float64: []float64{value + 6, 0}}}}}}
	}
	const head = "release,value,a,b,difference,noise_low,noise_high,interval_low,interval_high,verdict\n"
	for from, want := range map[string]string{
		"all":    head + "r,north,100.0,120.0,20.0,11.5,28.5,11.5,28.5,larger than noise explains\nr,south,,,,,,,,suppressed\n",
		"sample": head + "r,north,100.0,120.0,20.0,11.5,28.5,,,\"larger than noise explains; sampling adds more, which is not public\"\nr,south,,,,,,,,suppressed\n",
	} {
		var out bytes.Buffer
		if err := compared.Compare(made(from, 100), made(from, 120)).WriteCSV(&out); err != nil || out.String() != want {
			t.Errorf("%v\n%s\nnot\n%s", err, out.String(), want)
		}
	}
}
