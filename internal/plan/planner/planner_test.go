package planner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/median"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

const text = `version: 1
job: demo
dataset:
  id: demo
  source: {path: no-such-table.parquet}
  relation: replace-one
  size: 2001
  columns:
    income: {lower: 0, upper: 2000, assume: {distribution: lognormal, mean: 168.17, sd: 89.63}}
    age: {lower: 0, upper: 120, assume: {mean: 40, sd: 20}}
budget: {limit: {epsilon: 1, delta: 1e-6}}
samples:
  srs: {method: srswor, size: 200}
releases:
  - {name: mean_age, from: srs, mechanism: mean, params: {column: age}, guarantee: {epsilon: 1}}
  - {name: med, from: all, mechanism: median, params: {column: income, method: smooth-laplace}, guarantee: {epsilon: 0.05, delta: 2.5e-4}}
output: {dir: out}
`

func parse(t *testing.T) *job.Job {
	t.Helper()
	j, err := language.Parse(filepath.Join(t.TempDir(), "job.yaml"), []byte(text), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

var mechanisms = map[string]sdk.Mechanism{"mean": mean.Mechanism{}, "median": median.Mechanism{}}

// direct plans with mechanisms of this process.
type direct struct{}

func (direct) Get(_ context.Context, name string) (planned.Mechanism, error) {
	return called{mechanisms[name]}, nil
}

type called struct{ sdk.Mechanism }

func (c called) About() sdk.Description       { return c.Describe() }
func (called) Origin() (bool, string)         { return true, "" }
func (called) Confined() string               { return "" }
func (called) Validate(json.RawMessage) error { return nil }
func (c called) Plan(_ context.Context, r sdk.PlanRequest) (sdk.Plan, error) {
	return c.Mechanism.Plan(r)
}

// fresh is a ledger that knows no sample.
type fresh struct{}

func (fresh) Node(context.Context, *job.Job, string) (*ledger.Node, error) { return nil, nil }

// price plans as the program does.
func price(ctx context.Context, j *job.Job) (report.Report, error) {
	p, err := plan.Make(ctx, j, direct{}, fresh{})
	if err != nil {
		return report.Report{}, err
	}
	return output.Describe(p, "test")
}

func settings(release string) planner.Settings {
	return planner.Settings{Price: price, Mechanisms: mechanisms, Release: release, Repetitions: 160, Seed: 1}
}

// The error of a mean falls along the rate, and the full table is the best point:
// the verdict is never, and every point bears it out.
func TestSweepOfMeanIsMonotoneAndNever(t *testing.T) {
	for _, a := range []planner.Axis{planner.Rate, planner.Size} {
		w, err := planner.RunSweep(context.Background(), parse(t), a, planner.Range{}, settings("mean_age"))
		if err != nil {
			t.Fatal(err)
		}
		if len(w.Points) != 12 || w.Best != 11 || w.Verdict.Kind != "never" || !strings.Contains(w.Verdict.Reason, "concave") {
			t.Errorf("%s: %d points, best %d, verdict %+v", a, len(w.Points), w.Best, w.Verdict)
		}
		for i, p := range w.Points[1:] {
			before := w.Points[i]
			if !(p.Total < before.Total) || !(p.NoiseSD < before.NoiseSD) || p.Sample.Epsilon > before.Sample.Epsilon || p.Total < p.Full.Total {
				t.Errorf("%s: %+v after %+v", a, p, before)
			}
		}
	}
}

func TestSweepOfEpsilonIsMonotone(t *testing.T) {
	w, err := planner.RunSweep(context.Background(), parse(t), planner.Epsilon, planner.Range{Values: []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5}}, settings("mean_age"))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range w.Points[1:] {
		if !(p.NoiseSD < w.Points[i].NoiseSD) || p.SamplingSD != w.Points[i].SamplingSD || !(p.Full.Total < p.Total) {
			t.Errorf("%+v after %+v", p, w.Points[i])
		}
	}
}

// The figures of a point are those of the textbook: noise √2·R/(n·ε_n) and a
// simple random sample's error.
func TestPointAgainstFormula(t *testing.T) {
	w, err := planner.RunSweep(context.Background(), parse(t), planner.Size, planner.Range{Values: []float64{200}}, settings("mean_age"))
	if err != nil {
		t.Fatal(err)
	}
	p := w.Points[0]
	eps := math.Log1p(2001.0 / 200 * math.Expm1(1))
	noise, sampling := math.Sqrt2*120/(200*eps), 20*math.Sqrt((1-200.0/2001)/200)
	if math.Abs(p.Sample.Epsilon/eps-1) > 1e-8 || math.Abs(p.NoiseSD/noise-1) > 1e-5 || math.Abs(p.SamplingSD/sampling-1) > 1e-12 ||
		math.Abs(p.Total/math.Hypot(noise, sampling)-1) > 1e-5 || math.Abs(p.Relative-p.Total/40) > 1e-12 {
		t.Errorf("got %+v, want ε_n %g, noise %g, sampling %g", p, eps, noise, sampling)
	}
}

// What solve finds reaches the goal when planned, and the next smaller does not.
func TestSolveIsTheInverseOfPlan(t *testing.T) {
	ctx, j := context.Background(), parse(t)
	for _, c := range []struct {
		over, goal string
		axis       planner.Axis
		limit      float64
		measure    func(planner.Point) float64
		less       float64
	}{
		{"epsilon", "se<1.6", planner.Epsilon, 1.6, func(p planner.Point) float64 { return p.Total }, 0.99},
		{"epsilon", "noise<0.5", planner.Epsilon, 0.5, func(p planner.Point) float64 { return p.Noise95 }, 0.99},
		{"n", "rse<2%", planner.Size, 0.02, func(p planner.Point) float64 { return p.Relative }, 0},
		{"n", "moe<4%", planner.Size, 0.04, func(p planner.Point) float64 { return p.Margin * p.Relative / p.Total }, 0},
		{"epsilon", "moe<3.2", planner.Epsilon, 3.2, func(p planner.Point) float64 { return p.Margin }, 0.99},
	} {
		r, err := planner.Solve(ctx, j, c.goal, c.over, settings("mean_age"))
		if err != nil {
			t.Fatal(err)
		}
		smaller := r.Value * c.less
		if c.less == 0 {
			smaller = r.Value - 1
		}
		w, err := planner.RunSweep(ctx, j, c.axis, planner.Range{Values: []float64{r.Value, smaller}}, settings("mean_age"))
		if err != nil {
			t.Fatal(err)
		}
		if at, below := c.measure(w.Points[0]), c.measure(w.Points[1]); at > c.limit || below <= c.limit {
			t.Errorf("%s over %s: %g gives %g, %g gives %g", c.goal, c.over, r.Value, at, smaller, below)
		}
	}
	for _, goal := range []string{"rse<0.01%", "se<0.001"} {
		if r, err := planner.Solve(ctx, j, goal, "epsilon", settings("mean_age")); err == nil {
			t.Errorf("%s: found %+v, though the sampling error alone is larger", goal, r)
		}
	}
	for _, goal := range []string{"", "rse", "rse<", "rse<0", "se<5%", "mse<3", "se<1e400", "rse<-2%", "se<nan", "se>5", "rse<2%%", "rse<2% or so", "noise<2%", "half-kept<5%", "moe<0"} {
		if _, err := planner.ParseGoal(goal); err == nil {
			t.Errorf("%q is a goal", goal)
		}
	}
}

// A median from a small lognormal table gains by sampling at a small ε, and loses
// at a large one (the paper's finding).
func TestVerdictOfMedian(t *testing.T) {
	for _, c := range []struct {
		epsilon string
		want    string
	}{{"0.05", "gain"}, {"3", "loss"}} {
		j := parse(t)
		r, err := language.ParseAmount(c.epsilon)
		if err != nil {
			t.Fatal(err)
		}
		j.Releases[1].Guarantee.Epsilon = r
		w, err := planner.RunSweep(context.Background(), j, planner.Rate, planner.Range{Values: []float64{0.1, 0.3, 1}}, settings("med"))
		if err != nil {
			t.Fatal(err)
		}
		if w.Verdict.Kind != c.want || w.Simulated != 160 {
			t.Errorf("ε %s: %+v", c.epsilon, w.Verdict)
		}
	}
}

// At equal (ε, δ) and size nothing beats the full table for a mean. Without a frame no design of strata or stages is
// compared.
func TestCompare(t *testing.T) {
	c, err := planner.Compare(context.Background(), parse(t), 0, settings("mean_age"))
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]planner.Option{}
	for _, d := range c.Designs {
		name, _, _ := strings.Cut(d.Name, ",")
		by[name] = d
		if refused := !slices.Contains([]string{"full table", "Poisson", "SRSWOR"}, name); refused != (d.Refused != "") || refused != (d.Total <= 0) {
			t.Errorf("%+v", d)
		}
	}
	if c.Best != 0 || by["Poisson"].Sample.Epsilon < by["SRSWOR"].Sample.Epsilon {
		t.Errorf("%+v", c.Designs)
	}
	if _, err := c.HTML(); err != nil {
		t.Error(err)
	}
}

// From a table that is itself a simple random sample, n of N rows, the error of a mean is that of
// a draw from the population: sd²·(1/m − 1/N) for m drawn rows. The twins forget the collection, and are far off.
func TestCompareOfACollectedTable(t *testing.T) {
	j := parse(t)
	plain, err := planner.Compare(t.Context(), j, 400, settings("mean_age"))
	if err != nil {
		t.Fatal(err)
	}
	n := j.Dataset.Size
	j.Dataset.Collected = &job.Collected{Sample: job.Sample{Method: job.SRSWOR, Size: n}, Population: 20 * n}
	c, err := planner.Compare(t.Context(), j, 400, settings("mean_age"))
	if err != nil {
		t.Fatal(err)
	}
	at := func(c *planner.Comparison, name string) planner.Option {
		i := slices.IndexFunc(c.Designs, func(o planner.Option) bool { return o.Name == name })
		return c.Designs[i]
	}
	sd := at(plain, "SRSWOR").SamplingSD / math.Sqrt(1/400.0-1/float64(n))
	outer := sd * math.Sqrt(1/float64(n)-1/float64(20*n))
	for name, want := range map[string]float64{"full table": outer, "SRSWOR": sd * math.Sqrt(1/400.0-1/float64(20*n)), "Poisson": math.Hypot(outer, at(plain, "Poisson").SamplingSD)} {
		got := at(c, name)
		if math.Abs(got.SamplingSD/want-1) > 1e-9 || math.Abs(got.Total/math.Hypot(want, got.NoiseSD)-1) > 1e-9 || math.Abs(at(plain, name).SamplingSD/want-1) < 0.01 {
			t.Errorf("%s: %+v, want a sampling error of %v, and %v without the collection", name, got.Accuracy, want, at(plain, name).SamplingSD)
		}
	}
	if !strings.Contains(at(c, "multistage").Refused, "collected") || !strings.Contains(c.Collection, "hold the error of the collection") {
		t.Errorf("%q, %+v", c.Collection, at(c, "multistage"))
	}
	j.Releases[slices.IndexFunc(j.Releases, func(r job.Release) bool { return r.Name == "mean_age" })].By = []string{"age"}
	if c, err = planner.Compare(t.Context(), j, 400, settings("mean_age")); err != nil || !strings.Contains(c.Collection, "leaves the error of the collection out") {
		t.Errorf("by group: %v, %+v", err, c)
	}
}

// Every answer has a table, JSON, and where it can be drawn a plot.
func TestForms(t *testing.T) {
	w, err := planner.RunSweep(context.Background(), parse(t), planner.Rate, planner.Range{Points: 3}, settings("mean_age"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := w.WriteText(&b); err != nil || !strings.Contains(b.String(), "never") {
		t.Errorf("%v: %s", err, b.String())
	}
	raw, err := json.Marshal(w)
	var back struct {
		Kind   string
		Points []struct {
			Total float64 `json:"total_error"`
		}
	}
	if err != nil || json.Unmarshal(raw, &back) != nil || back.Kind != "sweep" || len(back.Points) != 3 || back.Points[2].Total != w.Points[2].Total {
		t.Errorf("%v: %s", err, raw)
	}
	page, err := w.HTML()
	if err != nil || !bytes.Contains(page, []byte("<svg")) || !bytes.Contains(page, []byte(">noise</text>")) || bytes.Contains(page, []byte("src=")) {
		t.Error("the page has no plot, or loads something", err)
	}
}

// A pilot is a public table that is named as such; a file that is not there is an
// error without its contents.
func TestPilot(t *testing.T) {
	j := parse(t)
	file := filepath.Join(t.TempDir(), "pilot.csv")
	if err := os.WriteFile(file, []byte("x,y\n1,10\n2,20\n3,n/a\n4,30\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j.Dataset.Columns[1].Assume = &job.Assume{Distribution: job.PilotTable, Pilot: file, Column: "y"}
	w, err := planner.RunSweep(context.Background(), j, planner.Size, planner.Range{Values: []float64{100}}, settings("mean_age"))
	if err != nil {
		t.Fatal(err)
	}
	want := math.Sqrt(200.0/3) * math.Sqrt((1-100.0/2001)/100)
	if got := w.Points[0].SamplingSD; math.Abs(got/want-1) > 0.02 {
		t.Errorf("the sampling error is %g, want %g", got, want)
	}
	j.Dataset.Columns[1].Assume.Pilot = file + ".none"
	if _, err := planner.RunSweep(context.Background(), j, planner.Size, planner.Range{}, settings("mean_age")); err == nil || !strings.Contains(err.Error(), "pilot") {
		t.Errorf("got %v", err)
	}
}

// What a design is said to need reaches the goal, and needs no more than a fiftieth of it
// less: the measure is nearly the limit. The recommended one needs least.
func TestRecommendation(t *testing.T) {
	for _, over := range []string{"epsilon", "n"} {
		r, err := planner.Solve(context.Background(), parse(t), "se<2", over, settings("mean_age"))
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Designs) < 2 || r.Recommended < 0 {
			t.Fatalf("over %s: %+v", over, r)
		}
		for _, d := range r.Designs {
			if d.Value > 0 && (d.Point.Total > 2 || d.Point.Total < 2*0.95 || d.Value < r.Designs[r.Recommended].Value) {
				t.Errorf("over %s: %+v", over, d)
			}
			if d.Value == 0 && d.Refused == "" && !(d.Total > 2) {
				t.Errorf("over %s: %s needs nothing, for no reason", over, d.Name)
			}
		}
		if best := r.Designs[r.Recommended].Name; (over == "epsilon") != (best == "full table") {
			t.Errorf("over %s: %s is recommended", over, best)
		}
	}
}
