package plan

import (
	"cmp"
	"context"
	"errors"

	"github.com/dprelease/dprelease/internal/calculus/series"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/params"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Draft is a job before any amount is divided: its draws, the mechanisms of its releases, and
// what earlier jobs spent on draws that it uses. It holds for every division of a budget.
type Draft struct {
	draws  []*DraftDraw
	table  *DraftDraw              // the draw that made the table, where that is itself a sample: one for all jobs (P4)
	outer  privacy.Sampling        // how it was drawn, nil where the table is the population
	inside privacy.Relation        // which draws from the table must use
	panel  *planned.Panel          // that the job is about, nil where there is none
	nodes  map[string]*ledger.Node // of the account that earlier jobs left, and the plan asked for, by id
}

// DraftDraw is one sample, or the table, and what is asked of it.
type DraftDraw struct {
	planned.Sampled
	Relations []privacy.Relation // between neighbouring samples, under which all that is released from the draw keeps to its budget
	asks      []ask
	keys      []int                   // the releases that say what a selection of keys may cost
	begun     *SeriesSetup            // of the series of the releases, nil where this run begins it
	matrices  map[string]*series.Plan // of series that this run begins, by name
}

// matrix finds the matrix of a series, once: for Laplace noise where the price is in ε.
func (d *DraftDraw) matrix(s *job.Series, pure bool) (*series.Plan, error) {
	if d.matrices[s.Name] == nil {
		found, err := series.Find(questionOf(s, pure))
		if err != nil {
			return nil, err
		}
		d.matrices[s.Name] = found
	}
	return d.matrices[s.Name], nil
}

// ask is a release with its mechanism.
type ask struct {
	index  int // of the release in the job
	mech   planned.Mechanism
	schema *params.Schema // of the mechanism's parameters
}

// newDraft finds the designs and starts the mechanisms of a job.
func newDraft(ctx context.Context, j *job.Job, set Mechanisms, past Past) (*Draft, error) {
	asked := &recalled{past, map[string]*ledger.Node{}}
	past = asked
	d := &Draft{inside: j.Dataset.Relation, nodes: asked.there}
	table, err := CollectionOf(j)
	if err != nil {
		return nil, job.Problems{sampleProblem(j, "dataset.collected", err)}
	}
	if table != nil {
		d.outer, d.inside = table.Sampling, table.Inside
	}
	var problems job.Problems
	if d.draws, problems, err = newDraws(ctx, j, set, past); len(problems) > 0 {
		for _, x := range d.draws {
			problems = append(problems, x.paramProblems(j)...)
		}
		return nil, problems.Sort()
	}
	if err != nil {
		return nil, err
	}
	setup, err := begun(ctx, j, past)
	if err != nil {
		return nil, err
	}
	for _, x := range d.draws {
		x.begun = setup
		if x.Relations, err = planned.Relations(x.Design, d.inside); err != nil {
			problems = append(problems, j.Problem(job.Key("samples", x.Name), err.Error(), ""))
		}
	}
	if len(problems) > 0 {
		return nil, problems.Sort()
	}
	if d.panel, err = panelOf(ctx, j, past); err != nil {
		return nil, err
	}
	if table != nil {
		d.table, err = collection(ctx, j, table, past)
	}
	return d, err
}

// newDraws makes one draw for each sample that a release reads, and one for the
// table itself, in the order of the job. It starts the mechanisms.
func newDraws(ctx context.Context, j *job.Job, set Mechanisms, past Past) ([]*DraftDraw, job.Problems, error) {
	var draws []*DraftDraw
	samples, problems, err := findSamples(ctx, j, past)
	if err != nil || len(problems) > 0 {
		return nil, problems, err
	}
	var broken error
	byName := map[string]*DraftDraw{}
	refused, schemas := map[string]bool{}, map[string]*params.Schema{}
	for i, r := range j.Releases {
		mech, err := set.Get(ctx, r.Mechanism)
		if err == nil && schemas[r.Mechanism] == nil {
			schemas[r.Mechanism], err = params.Compile(mech.About().Params)
		}
		if err != nil && !refused[r.Mechanism] {
			refused[r.Mechanism] = true
			if at := j.ReleasePath(i) + ".mechanism"; isFault(err) {
				broken = cmp.Or(broken, planned.Faulty(ctx, j, i, err))
			} else {
				problems = append(problems, j.Problem(at, err.Error(), ""))
			}
		}
		d, ok := byName[r.From]
		if !ok {
			design, err := planned.Design(j, r.From, samples[r.From])
			d = &DraftDraw{Sampled: planned.Sampled{Name: r.From, Design: design}, matrices: map[string]*series.Plan{}}
			if err == nil {
				d.Kept, err = newKept(j, r.From, design, samples)
			}
			if err != nil {
				problems = append(problems, sampleProblem(j, job.Key("samples", r.From), err))
			}
			byName[r.From] = d
			draws = append(draws, d)
		}
		d.asks = append(d.asks, ask{i, mech, schemas[r.Mechanism]})
		if r.Keys != nil && r.Keys.From == "" {
			d.keys = append(d.keys, i)
		}
	}
	return draws, problems, broken
}

func sampleProblem(j *job.Job, at string, err error) job.Problem {
	var placed planned.FrameError
	if errors.As(err, &placed) {
		return j.Problem("dataset.frame"+placed.Path, placed.Message, placed.Hint)
	}
	return j.Problem(at, err.Error(), "")
}

// inRho reports whether the guarantees of the draw's releases are in ρ: all, or none.
func (d *DraftDraw) inRho(j *job.Job) bool { return j.Releases[d.asks[0].index].Guarantee.Rho != nil }

// target adds up what the releases of the draw and its selections of keys ask for.
func (d *DraftDraw) target(j *job.Job) job.Guarantee {
	total := sum()
	for _, a := range d.asks {
		total = sum(total, j.Releases[a.index].Guarantee)
	}
	for _, i := range d.keys {
		if r := &j.Releases[i]; !r.Tallied() {
			total = sum(total, r.Keys.Guarantee)
		}
	}
	return total
}

// onSample inverts the draw's amplification, or of a kept draw what one more step
// adds to it.
func (d *DraftDraw) onSample(r privacy.Relation, target privacy.Point) (privacy.Point, error) {
	if d.Kept != nil {
		return d.Kept.Rule.Step(d.Kept.Before(), target)
	}
	return OnSample(samplers.Sampling(d.Design), r, target)
}

// stands refuses events that have no rule on the draw they are run on, such as one
// about more units than the sample holds. A kept draw is charged by what its steps cost
// on the sample, where nobody asks for that.
func (d *DraftDraw) stands(relation privacy.Relation, events []privacy.Event, delta float64) error {
	_, err := privacy.EpsilonWith(d.Design.Event(compose(events)), relation, delta, privacy.Options{Quick: true})
	return err
}

// OnPopulation is an event on the table as the population sees it: amplified, with
// what earlier jobs did, where the table is itself a sample.
func (d *Draft) OnPopulation(e privacy.Event) privacy.Event {
	if d.outer == nil {
		return e
	}
	return d.outer.With(compose(append(d.table.Kept.Earlier(), e)))
}
