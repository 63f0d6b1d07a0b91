package design

import (
	"context"
	"fmt"
	"strconv"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/plan/planner"
	"github.com/dprelease/dprelease/plugins/builtin"
)

// compared is the planner's account of one table: how exact it would be, and how samples would change that.
type compared struct {
	*words
	Release     string
	Error       string // ± so much in 95 of 100 cases, noise and sampling together
	Relative    string
	Unknown     string
	Assumptions []string
	Designs     []designed
	Best        string
	Refused     string // why no designs were compared
}

// designed is one design of a comparison.
type designed struct {
	Name, Rows, Noise, Sampling, Error string
	Best                               bool
}

// repetitions of a simulation: a page waits for them.
const repetitions = 120

// compare asks the planner about one release. It reads no row.
func (s *Session) compare(ctx context.Context, w *words, q question) (*compared, error) {
	j, err := s.read(q.Text)
	if err != nil {
		return nil, err
	}
	price, stop := pipeline.Pricer(ctx, j, s.options())
	defer stop()
	settings := planner.Settings{Price: price, Mechanisms: builtin.Mechanisms(), Release: q.Release, Repetitions: repetitions, Seed: 1}
	out := &compared{words: w, Release: q.Release}
	if err := out.error(ctx, j, settings); err != nil {
		return nil, err
	}
	c, err := planner.Compare(ctx, j, 0, settings)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		out.Refused = said(err)
		return out, nil
	}
	for i, d := range c.Designs {
		if d.Refused != "" || d.Unknown != "" && d.Total == 0 {
			continue // what is not possible here
		}
		x := designed{Name: w.Or("design."+d.Name, d.Name), Rows: figures(float64(d.Size), 12), Noise: figures(d.NoiseSD, 3),
			Sampling: figures(d.SamplingSD, 3), Error: figures(d.Total, 3), Best: i == c.Best}
		if out.Designs = append(out.Designs, x); x.Best {
			out.Best = x.Name
		}
	}
	out.Assumptions = c.Assumptions
	return out, nil
}

// error is the error to expect at the job's ε. Where the noise depends on the data, the planner simulates it.
func (c *compared) error(ctx context.Context, j *job.Job, settings planner.Settings) error {
	for _, r := range j.Releases {
		if r.Name != c.Release || r.Guarantee.Epsilon == nil || j.Budget.Spend != nil {
			continue
		}
		epsilon, _ := r.Guarantee.Epsilon.Float64()
		w, err := planner.RunSweep(ctx, j, planner.Epsilon, planner.Range{Values: []float64{epsilon}}, settings)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			c.Unknown = said(err)
		case len(w.Points) == 1:
			p := w.Points[0]
			if c.Unknown = p.Refused; p.Refused == "" {
				c.Unknown = p.Unknown
			}
			if c.Assumptions = w.Assumptions; p.Margin > 0 {
				c.Error = "±\u202f" + figures(p.Margin, 3)
			}
			if p.Relative > 0 {
				c.Relative = figures(100*p.Relative, 3) + "\u202f%"
			}
		}
	}
	return nil
}

// said returns the words of an error of the planner: problems of the job, or why it has no answer. The planner reads no row.
func said(err error) string {
	if problems := command.ProblemsOf(err); len(problems) > 0 {
		return problems[0].Text()
	}
	return err.Error()
}

// figures writes a number for people with so many digits, "–" for none.
func figures(x float64, digits int) string {
	if x == 0 {
		return "–"
	}
	text := fmt.Sprintf("%.*g", digits, x)
	if y, err := strconv.ParseFloat(text, 64); err == nil && y < 1e15 && y > 1e-4 {
		return strconv.FormatFloat(y, 'f', -1, 64)
	}
	return text
}
