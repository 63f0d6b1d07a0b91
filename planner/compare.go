package planner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
)

// Designs says which hypothetical designs to compare.
type Designs struct {
	// Size of every sample; 0 stands for the job's, or a tenth of the population.
	Size int64
	// Units is how many strata, or first-stage units, of equal size there are.
	Units int64

	_ struct{}
}

// Option is one design of a comparison.
type Option struct {
	Name       string        `json:"name"`
	Executable bool          `json:"executable"`
	Size       int64         `json:"n"`
	Sample     privacy.Point `json:"sample_budget"`
	Efficiency float64       `json:"efficiency,omitempty"`
	Accuracy
	Note string `json:"note,omitempty"`
}

// Comparison is designs side by side, all of which give the population the same
// guarantee and draw the same number of rows.
type Comparison struct {
	Job         string        `json:"job"`
	Release     string        `json:"release"`
	Mechanism   string        `json:"mechanism"`
	Target      privacy.Point `json:"target"`
	Assumptions []string      `json:"assumptions"`
	Simulated   int           `json:"repetitions,omitempty"`
	Designs     []Option      `json:"designs"`
	Best        int           `json:"best"`
}

// candidate is a design with its event and its sampling variance for sd = 1.
type candidate struct {
	name       string
	executable bool
	draw       privacy.Sampling // nil: the whole table
	public     design
	variance   float64
	note       string
}

// Compare puts designs of one size side by side at the release's (ε, δ). Nobody
// but the release spends from the draw.
func Compare(ctx context.Context, j *job.Job, o Designs, s Settings) (*Comparison, error) {
	u, err := newSubject(j, s)
	if err != nil {
		return nil, err
	}
	n := j.Dataset.Size
	if n == 0 || j.Dataset.Relation != privacy.ReplaceOne {
		return nil, errors.New("compare: designs of fixed size are compared under replace-one, where the number of units is public")
	}
	if o.Size == 0 {
		o.Size = max(1, n/10)
		if u.sample != nil && u.sample.Size > 0 {
			o.Size = u.sample.Size
		}
	}
	if o.Size < 1 || o.Size > n {
		return nil, fmt.Errorf("compare: the size must lie between 1 and %d", n)
	}
	if o.Units < 2 || o.Units > o.Size || o.Units > n/2 {
		return nil, errors.New("compare: units must be at least 2, and no more than the size of the samples")
	}
	c := &Comparison{Job: j.Name, Release: u.release.Name, Mechanism: u.release.Mechanism, Best: -1, Assumptions: u.assumptions(),
		Target: privacy.Point{Epsilon: job.Down(u.release.Guarantee.Epsilon), Delta: job.Down(u.release.Guarantee.Delta)}}
	all := u.candidates(o)
	for i, k := range all {
		u.s.progress(i, len(all))
		x, err := u.option(ctx, k, c.Target)
		if err != nil {
			return nil, err
		}
		if x.MonteCarlo > 0 {
			c.Simulated = u.s.Repetitions
		}
		if x.Total > 0 && (c.Best < 0 || x.Total < c.Designs[c.Best].Total) {
			c.Best = i
		}
		c.Designs = append(c.Designs, x)
	}
	u.s.progress(len(all), len(all))
	return c, nil
}

// candidates are the designs. Strata and clusters are hypothetical and equal; the
// sampling variances are those of the usual estimators with the assumed
// correlation within units.
func (u *subject) candidates(o Designs) []candidate {
	n, size := u.job.Dataset.Size, o.Size
	rate := float64(size) / float64(n)
	icc := 0.0
	if u.model != nil {
		icc = u.model.icc
	}
	out := []candidate{
		{name: "full table", executable: true, public: design{kind: "full", rate: 1, size: n}},
		{name: "Poisson", executable: true, draw: privacy.Poisson{Rate: rate}, public: design{kind: "poisson", rate: rate}},
		{name: "SRSWOR", executable: true, draw: privacy.WithoutReplacement{Take: size, Of: n},
			public: design{kind: "srswor", rate: rate, size: size}, variance: (1 - rate) / float64(size)},
	}
	// Strata of N/H units, n/H from each: as many as fit evenly, never more than size.
	inStratum, take := n/o.Units, size/o.Units
	got := take * o.Units
	out = append(out, candidate{name: fmt.Sprintf("stratified, %d strata", o.Units), executable: true,
		draw:     privacy.Multistage{Stages: []privacy.Stage{{Take: o.Units, Of: o.Units}, {Take: take, Of: inStratum}}},
		public:   design{kind: "srswor", rate: float64(got) / float64(n), size: got},
		variance: (1 - icc) * (1 - float64(take)/float64(inStratum)) / float64(got), note: "hypothetical equal strata"})
	// Half of the clusters, and as many rows in each as give the same size.
	units := max(1, o.Units/2)
	below := min(inStratum, max(1, size/units))
	h1, h2 := float64(units)/float64(o.Units), float64(below)/float64(inStratum)
	got = units * below
	out = append(out, candidate{name: fmt.Sprintf("multistage, %d of %d units", units, o.Units), executable: true,
		draw:     privacy.Multistage{Stages: []privacy.Stage{{Take: units, Of: o.Units}, {Take: below, Of: inStratum}}},
		public:   design{kind: "srswor", rate: float64(got) / float64(n), size: got},
		variance: icc*(1-h1)/float64(units) + (1-icc)*(1-h2)/float64(got), note: "hypothetical equal units"})
	return append(out, candidate{name: "with replacement", draw: privacy.WithReplacement{Take: size, Of: n},
		public: design{kind: "with-replacement", rate: rate, size: size}, variance: 1 / float64(size),
		note: "accounted for, not executable"})
}

// keptBack leaves a billionth to outward rounding, as a plan does.
const keptBack = 1 - 1e-9

func (u *subject) option(ctx context.Context, k candidate, target privacy.Point) (Option, error) {
	x := Option{Name: k.name, Executable: k.executable, Size: k.public.size, Sample: target, Efficiency: 1, Note: k.note}
	relation := u.job.Dataset.Relation
	under := []privacy.Relation{relation}
	if k.public.kind == "poisson" {
		x.Size = int64(math.Round(k.public.rate * float64(u.job.Dataset.Size)))
	}
	if k.draw != nil {
		var err error
		kept := privacy.Point{Epsilon: target.Epsilon * keptBack, Delta: target.Delta * keptBack}
		if x.Sample, err = privacy.SampleBudget(k.draw, relation, kept); err == nil {
			x.Efficiency, err = privacy.Efficiency(k.draw, relation, kept)
		}
		if err == nil {
			under, err = privacy.SampleRelations(k.draw, relation)
		}
		if err != nil {
			x.Unknown = err.Error()
			return x, nil
		}
	}
	m, ok := u.s.Mechanisms[u.release.Mechanism]
	if !ok {
		x.Unknown = "only built-in mechanisms are compared"
		return x, nil
	}
	public := k.public.public(u.job, u.job.Dataset.Size, under)
	trial, err := NewTrial(m, u.release.Params, public, x.Sample)
	if err != nil {
		x.Unknown = err.Error()
		return x, nil
	}
	noise := trial.request.Plan.Errors[0].NoiseSD
	if noise == 0 {
		x.Accuracy, err = u.simulate(ctx, u.release.Params, public, x.Sample, k.public)
		return x, err
	}
	x.Accuracy = u.analytic(noise, k.public)
	if k.variance > 0 && x.Unknown == "" {
		x.SamplingSD = math.Sqrt(k.variance) * u.model.sd
		x.Total = math.Hypot(noise, x.SamplingSD)
		if u.model.hasMean && u.model.mean != 0 {
			x.Relative = x.Total / math.Abs(u.model.mean)
		}
	}
	return x, nil
}

func (c *Comparison) header() []string {
	return []string{"", "design", "n", "ε on sample", "δ on sample", "efficiency", "noise", "sampling", "error", "relative", "note"}
}

func (c *Comparison) rows() [][]string {
	var out [][]string
	for i, d := range c.Designs {
		mark, note := "", d.Note
		if i == c.Best {
			mark = "best"
		}
		if d.Unknown != "" {
			note = d.Unknown
		}
		out = append(out, []string{mark, d.Name, count(d.Size), cell(d.Sample.Epsilon), cell(d.Sample.Delta), cell(d.Efficiency),
			cell(d.NoiseSD), cell(d.SamplingSD), cell(d.Total), percent(d.Relative), note})
	}
	return out
}

// WriteText prints the comparison for a person.
func (c *Comparison) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "job %s, release %s (%s): designs that give the population ε %.4g, δ %.3g\n", c.Job, c.Release, c.Mechanism, c.Target.Epsilon, c.Target.Delta)
	assumed(b, c.Assumptions, c.Simulated)
	table(b, c.header(), c.rows())
	return b.Flush()
}

// MarshalJSON writes the comparison with the version of its format.
func (c *Comparison) MarshalJSON() ([]byte, error) {
	type plain Comparison
	return json.Marshal(struct {
		Version int    `json:"version"`
		Kind    string `json:"kind"`
		*plain
	}{1, "comparison", (*plain)(c)})
}
