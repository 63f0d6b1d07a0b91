package planner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/report"
)

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

// Comparison holds designs side by side. All give the population the same guarantee and
// draw the same number of rows.
type Comparison struct {
	Job         string        `json:"job"`
	Release     string        `json:"release"`
	Mechanism   string        `json:"mechanism"`
	Target      privacy.Point `json:"target"`
	Assumptions []string      `json:"assumptions"`
	Simulated   int           `json:"repetitions,omitempty"`
	// Collection tells the part that the draw of the table itself has in the figures, where somebody drew it.
	Collection string   `json:"collection,omitempty"`
	Designs    []Option `json:"designs"`
	Best       int      `json:"best"`
}

// Compare puts designs of one size side by side at the release's (ε, δ). The size 0 stands for that
// of the job's sample, or a tenth of the population. Only this
// release spends from the draw. Compare plans a design that the job could name as the job
// would, and inverts the amplification of any other.
func Compare(ctx context.Context, j *job.Job, size int64, s Settings) (*Comparison, error) {
	u, err := newSubject(ctx, j, s)
	if err != nil {
		return nil, err
	}
	if u.release.Guarantee.Rho != nil {
		return nil, u.wrong(u.path+".guarantee", "is a rho, which no sample makes smaller",
			"give the release epsilon and delta to compare designs")
	}
	if j.Dataset.WeightsOf(&u.release) != nil {
		return nil, u.wrong(u.path, "has survey weights: how far the survey lies from its population is private, whatever is drawn from it",
			"compare with weights: none, or solve for noise with plan --solve")
	}
	if size, err = u.sized(size); err != nil {
		return nil, err
	}
	c := &Comparison{Job: j.Name, Release: u.release.Name, Mechanism: u.release.Mechanism, Best: -1, Assumptions: u.assumptions(),
		Target: privacy.Point{Epsilon: rational.Down(u.release.Guarantee.Epsilon), Delta: rational.Down(u.release.Guarantee.Delta)}}
	if u.table, err = u.collected(); err != nil {
		return nil, err
	}
	c.Collection = u.table.words
	all, err := u.candidates(size)
	if err != nil {
		return nil, err
	}
	for i, k := range all {
		u.begin(i, len(all))
		x, err := u.option(ctx, k, c.Target)
		if err != nil {
			return nil, err
		}
		x.Accuracy = u.table.from(x.Accuracy)
		if x.MonteCarlo > 0 {
			c.Simulated = u.s.Repetitions
		}
		if x.Total > 0 && (c.Best < 0 || x.Total < c.Designs[c.Best].Total) {
			c.Best = i
		}
		c.Designs = append(c.Designs, x)
	}
	u.begin(len(all), len(all))
	return c, nil
}

// sized returns the size of every sample of a comparison.
func (u *subject) sized(size int64) (int64, error) {
	n := u.population()
	if n == 0 {
		return size, u.wrong("dataset.size", "is needed to compare designs of one size", "or give dataset.at_least, a public lower bound")
	}
	if size == 0 {
		size = max(1, n/10)
		if d := u.current(); u.sample != nil && d.size > 0 {
			size = d.size
		} else if d.kind == "poisson" {
			size = max(1, int64(math.Round(d.rate*float64(n))))
		}
	}
	if size < 1 || size >= n {
		return size, fmt.Errorf("compare: the size must lie between 1 and %d", n-1)
	}
	return size, nil
}

func (u *subject) option(ctx context.Context, k candidate, target privacy.Point) (Option, error) {
	x := Option{Name: k.name, Executable: k.executable, Size: k.public.size, Note: k.note}
	if k.refused != "" {
		x.Unknown = "not possible: " + k.refused
		return x, nil
	}
	if k.public.kind == "poisson" {
		x.Size = int64(math.Round(k.public.rate * float64(u.population())))
	}
	if k.made != nil {
		return u.planned(ctx, k, x)
	}
	target, err := plan.OnSample(u.table.sampling, u.job.Dataset.Relation,
		privacy.Point{Epsilon: target.Epsilon * plan.RoundingReserve, Delta: target.Delta * plan.RoundingReserve})
	var under []privacy.Relation
	if err == nil {
		x.Sample, under, err = k.budget(target)
	}
	if err != nil {
		x.Unknown = "not possible: " + err.Error()
		return x, nil
	}
	x.Efficiency = math.Min(1, k.public.rate*x.Sample.Epsilon/target.Epsilon)
	m, ok := u.s.Mechanisms[u.release.Mechanism]
	if !ok {
		x.Unknown = "only built-in mechanisms are compared"
		return x, nil
	}
	public := k.public.public(u.job, u.population(), under)
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
	x.Accuracy = u.analytic(report.ExpectedError{NoiseSD: noise, Ratio: trial.request.Plan.Errors[0].Ratio()}, k.public)
	return x, nil
}

// planned is an option that the job could name.
func (u *subject) planned(ctx context.Context, k candidate, x Option) (Option, error) {
	p, refused, err := u.priceOr(ctx, *k.made)
	if err != nil {
		return x, err
	}
	if refused != "" {
		x.Unknown = "not possible: " + refused
		return x, nil
	}
	x.Sample, x.Efficiency = p.release.Sample, p.draw.Efficiency
	if k.public.kind == "full" {
		x.Efficiency = 1
	}
	x.Accuracy, err = u.accuracy(ctx, p, k.public)
	return x, err
}

// answer is the comparison for people.
func (c *Comparison) answer() *answer {
	a := &answer{title: fmt.Sprintf("job %s, release %s (%s): designs that give the population %s", c.Job, c.Release, c.Mechanism,
		budget(c.Target)), assumptions: c.Assumptions, simulated: c.Simulated, leave: []string{"δₙ", "relative"},
		header: []string{"best", "design", "n", "εₙ", "δₙ", "efficiency", "noise", "sampling", "error", "relative"},
		alt:    "The standard error of each design, and its parts noise and sampling; the table has the numbers."}
	if c.Best >= 0 {
		a.after = append(a.after, fmt.Sprintf("best: %s, error %.4g", c.Designs[c.Best].Name, c.Designs[c.Best].Total))
	}
	a.after = append(a.after, c.Collection)
	for i, d := range c.Designs {
		a.rows = append(a.rows, []string{mark(i == c.Best), d.Name, count(d.Size), cell(d.Sample.Epsilon), cell(d.Sample.Delta),
			cell(d.Efficiency), cell(d.NoiseSD), cell(d.SamplingSD), cell(d.Total), percent(d.Relative)})
		if why := cmp.Or(d.Unknown, d.Note); why != "" {
			a.after = append(a.after, d.Name+": "+why)
		}
	}
	return a
}

// WriteText prints the comparison for a person.
func (c *Comparison) WriteText(w io.Writer) error { return c.answer().write(w) }

// HTML is the comparison as a page.
func (c *Comparison) HTML() ([]byte, error) {
	a := c.answer()
	a.figure, _ = c.Figure() // nil where no design has a known error: the table says why
	return a.page()
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
