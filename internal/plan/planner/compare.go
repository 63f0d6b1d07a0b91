package planner

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Option is one of several designs, with the plan that it leads to.
type Option struct {
	Name string `json:"name"`
	// Value is the smallest ε, ρ, or expected number of rows with which it reaches the goal of a solution; 0 where nothing does.
	Value float64 `json:"value,omitempty"`
	Point `json:"point"`
	Note  string `json:"note,omitempty"` // how it was made
}

// Comparison holds designs side by side. All give the population the same guarantee and
// draw the same number of rows.
type Comparison struct {
	Study
	Target privacy.Point `json:"target"`
	// Collection tells the part that the draw of the table itself has in the figures, where somebody drew it.
	Collection string   `json:"collection,omitempty"`
	Designs    []Option `json:"designs"`
	Best       int      `json:"best"`
}

// Compare puts designs of one size side by side at the release's (ε, δ). The size 0 stands for that
// of the job's sample, or a tenth of the population. Only this
// release spends from the draw.
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
	c := &Comparison{Study: u.study("comparison"), Best: -1,
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
		x, err := u.option(ctx, k)
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

// option plans one of the candidates as the job would.
func (u *subject) option(ctx context.Context, k candidate) (Option, error) {
	x := Option{Name: k.name, Note: k.note, Point: Point{Refused: k.refused}}
	if k.made == nil {
		return x, nil
	}
	var err error
	if x.Point, err = u.plan(ctx, *k.made, k.public, "", 0, Accuracy{}); k.public.kind == "poisson" {
		x.Size = int64(math.Round(k.public.rate * float64(u.population())))
	}
	x.Accuracy = u.table.from(x.Accuracy)
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
		if why := cmp.Or(d.Unknown, d.Note); d.Refused != "" {
			a.after = append(a.after, d.Name+": not possible: "+d.Refused)
		} else if why != "" {
			a.after = append(a.after, d.Name+": "+why)
		}
	}
	a.figure = c.figure(a.title, a.alt)
	return a
}

// WriteText prints the comparison for a person.
func (c *Comparison) WriteText(w io.Writer) error { return c.answer().write(w) }

// HTML is the comparison as a page.
func (c *Comparison) HTML() ([]byte, error) { return c.answer().page() }
