package planner_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/internal/say/prose"
	"github.com/dprelease/dprelease/privacy"
)

const framedText = `version: 1
job: framed
dataset:
  id: framed
  source: {path: no-such-table.parquet}
  frame: {path: FRAME, records: n}
  relation: replace-one
  size: 300
  columns:
    y: {lower: 0, upper: 100, assume: {mean: 40, sd: 20, icc: 0.1}}
budget: {limit: {epsilon: 1}}
samples:
  s: SAMPLE
releases:
  - {name: m, from: s, mechanism: mean, params: {column: y}, guarantee: {epsilon: 1}}
output: {dir: out}
`

// frame has ten units of 21 to 39 records, 300 in all.
const frame = "unit,n\na,21\nb,23\nc,25\nd,27\ne,29\nf,31\ng,33\nh,35\ni,37\nj,39\n"

func framed(t *testing.T, sample string, replace ...string) *job.Job {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "frame.csv")
	if err := os.WriteFile(file, []byte(frame), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(append(replace, "FRAME", file, "SAMPLE", sample)...).Replace(framedText)
	j, err := language.Parse(filepath.Join(dir, "job.yaml"), []byte(text), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

const stages = "{method: multistage, stages: [{unit: unit, take: 5}, {take: 10, if_fewer: all}]}"

// The rate of a multistage sample is swept by its last stage, then by the stage
// above; that of a stratified one by the numbers of all strata. What is swept is the
// expected share of the records, from a few to all of them.
func TestSweepOfFramedDesigns(t *testing.T) {
	for _, sample := range []string{stages, "{method: stratified, strata: unit, take: {a: 2, b: 2, c: 2, d: 2, e: 4, f: 4, g: 4, h: 4, i: 4, j: all}}"} {
		for _, a := range []planner.Axis{planner.Rate, planner.Size} {
			w, err := planner.RunSweep(context.Background(), framed(t, sample), a, planner.Range{}, settings("m"))
			if err != nil {
				t.Fatal(err)
			}
			last := w.Points[len(w.Points)-1]
			if len(w.Points) < 6 || last.Design != "full" || w.Verdict.Kind != "loss" {
				t.Errorf("%s over %s: %d points, the last %+v, verdict %+v", sample, a, len(w.Points), last, w.Verdict)
			}
			for i, p := range w.Points {
				if p.Refused != "" || p.Unknown != "" || p.Total <= 0 {
					t.Errorf("%s over %s: %+v", sample, a, p)
				}
				if i > 0 && !(p.Rate > w.Points[i-1].Rate && p.X > w.Points[i-1].X) {
					t.Errorf("%s over %s: rate %g after %g", sample, a, p.Rate, w.Points[i-1].Rate)
				}
			}
		}
	}
}

// The point at a job's own rate is the job's own design, with the sampling error of the
// textbook: clusters of equal size would give icc·sd²(1/m − 1/M) + (1−icc)·sd²(1/n − 1/N), and unequal ones more.
func TestPointOfFramedDesign(t *testing.T) {
	w, err := planner.RunSweep(context.Background(), framed(t, stages), planner.Rate, planner.Range{Values: []float64{50.0 / 300}}, settings("m"))
	if err != nil {
		t.Fatal(err)
	}
	p := w.Points[0]
	if p.Size != 50 || math.Abs(p.Rate-50.0/300) > 1e-12 {
		t.Errorf("%+v", p)
	}
	equal := math.Sqrt(400 * (0.1*(1.0/5-0.1) + 0.9*(1.0/50-1.0/300)))
	// Units of 21 to 39 records differ by a fifth, and the mean lies 10 from the middle: 10²·0.2²/5 more, about.
	if p.SamplingSD < equal || p.SamplingSD > equal*1.2 {
		t.Errorf("sampling error %g, with equal units %g", p.SamplingSD, equal)
	}
	r, err := planner.Solve(context.Background(), framed(t, stages), "rse<20%", "n", settings("m"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Point.Design != "multistage" || r.Value != float64(r.Point.Size) || r.Point.Relative > 0.2 {
		t.Errorf("%+v", r)
	}
}

// Compared over the real frame the strata take public numbers in proportion, and the
// job's own stages are scaled to the size.
func TestCompareOverTheFrame(t *testing.T) {
	c, err := planner.Compare(context.Background(), framed(t, stages), 100, settings("m"))
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]planner.Option{}
	for _, d := range c.Designs {
		name, _, _ := strings.Cut(d.Name, ",")
		by[name] = d
	}
	strat, stages := by["stratified"], by["multistage"]
	if !strings.Contains(strat.Note, "over the public frame") || !strings.Contains(stages.Note, "of the sample s") ||
		strat.Size < 98 || strat.Size > 102 || stages.Size < 90 || stages.Size > 110 ||
		!(strat.SamplingSD < by["SRSWOR"].SamplingSD) || !(stages.SamplingSD > by["SRSWOR"].SamplingSD) {
		t.Errorf("%+v\n%+v\n%+v", strat, stages, by["SRSWOR"])
	}
	if p := by["Poisson"]; !(p.Sample.Epsilon > by["SRSWOR"].Sample.Epsilon*1.3) {
		t.Errorf("Poisson may spend %g, no more than %g", p.Sample.Epsilon, by["SRSWOR"].Sample.Epsilon)
	}
}

// Under add-remove the designs whose rule is proved there are compared, and the others
// are named with the reason.
func TestCompareUnderAddRemove(t *testing.T) {
	j := framed(t, "{method: srswor, size: 30}", "relation: replace-one", "relation: add-remove", "size: 300", "at_least: 300", "  frame: {path: FRAME, records: n}\n", "")
	c, err := planner.Compare(context.Background(), j, 0, settings("m"))
	if err != nil {
		t.Fatal(err)
	}
	possible := map[string]bool{"full table": true, "Poisson": true, "SRSWOR": true}
	for _, d := range c.Designs {
		if refused := d.Refused != ""; refused == possible[d.Name] {
			t.Errorf("%s: %q", d.Name, d.Refused)
		}
	}
}

// Every line of an answer fits a terminal of 80 columns, on which the rows of tables
// are not broken.
func TestAnswersFitTheTerminal(t *testing.T) {
	ctx, j := context.Background(), framed(t, stages)
	var b bytes.Buffer
	for _, a := range []planner.Axis{planner.Rate, planner.Size, planner.Epsilon} {
		w, err := planner.RunSweep(ctx, j, a, planner.Range{}, settings("m"))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteText(&b); err != nil {
			t.Fatal(err)
		}
	}
	c, err := planner.Compare(ctx, j, 0, settings("m"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(prose.Wrap(b.String(), 80)) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// A goal that cannot be reached, or not be known, says why and where.
func TestSolveSaysWhy(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		assume, goal, over, want string
	}{
		{"{mean: 40, sd: 20, icc: 0.1}", "se<0.5", "epsilon", "nearly all of that is sampling error"},
		{"{mean: 40, sd: 20, icc: 0.1}", "rmse<0.1", "n", "even from the whole table rmse is 0.4714 at ε 1, all of it noise"},
		{"{sd: 20}", "rse<5%", "epsilon", "job.yaml:10:31: dataset.columns.y.assume: has no mean"},
		{"", "se<5", "epsilon", "job.yaml:10:5: dataset.columns.y: nothing is assumed of the column"},
	} {
		replace := []string{", assume: {mean: 40, sd: 20, icc: 0.1}", ", assume: " + c.assume}
		if c.assume == "" {
			replace[1] = ""
		}
		_, err := planner.Solve(ctx, framed(t, stages, replace...), c.goal, c.over, settings("m"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %q: %v", c.goal, c.assume, err)
		}
	}
}

// At rates above one half a Poisson sample under replace-one can beat the table
// (additive.proof.md): the verdict says so, and "never" only up to one half.
func TestVerdictOfPoissonUnderReplaceOne(t *testing.T) {
	j := framed(t, "{method: poisson, rate: 0.3}", "size: 300", "size: 12", "  frame: {path: FRAME, records: n}\n", "",
		"assume: {mean: 40, sd: 20, icc: 0.1}", "assume: {mean: 50, sd: 2}", "guarantee: {epsilon: 1}", "guarantee: {epsilon: 3}",
		"params: {column: y}", "params: {column: y, difference: true}")
	for _, c := range []struct {
		values []float64
		want   string
	}{{[]float64{0.2, 0.5, 1}, "never"}, {[]float64{0.2, 0.7, 1}, "gain"}} {
		w, err := planner.RunSweep(context.Background(), j, planner.Rate, planner.Range{Values: c.values}, settings("m"))
		if err != nil {
			t.Fatal(err)
		}
		if w.Verdict.Kind != c.want {
			t.Errorf("%v: %+v", c.values, w.Verdict)
		}
	}
	b, err := privacy.SampleBudgetAdditive(privacy.Poisson{Rate: 0.7}, privacy.ReplaceOne, privacy.Point{Epsilon: 3}, 0.5)
	if err != nil || 0.7*b.Epsilon <= 3 {
		t.Errorf("%+v %v", b, err)
	}
}

// The numbers that public facts allocate have a smaller error than those in proportion, and
// than Neyman's, by the plans of the same designs.
func TestCompareAllocates(t *testing.T) {
	j := framed(t, "{method: stratified, strata: unit, take: {a: 2, b: 2, c: 2, d: 2, e: 4, f: 4, g: 4, h: 4, i: 4, j: 5}}",
		"icc: 0.1", "icc: 0.1, sd_by: {a: 40, b: 40, j: 2, i: 2, h: 2}", "epsilon: 1}}\nout", "epsilon: 1}}\nout")
	c, err := planner.Compare(context.Background(), j, 60, settings("m"))
	if err != nil {
		t.Fatal(err)
	}
	total := map[string]float64{}
	for _, d := range c.Designs {
		total[d.Name] = d.Total
	}
	allocated, neyman, proportional := total["stratified, allocated"], total["stratified, Neyman"], total["stratified, 10 strata"]
	if !(allocated > 0 && allocated < neyman*0.999 && allocated < proportional*0.999) {
		t.Errorf("allocated %g, Neyman %g, in proportion %g: %+v", allocated, neyman, proportional, c.Designs)
	}
}
