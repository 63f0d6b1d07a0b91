package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// PublicColumns are the columns in which a neighbour is the same, or else what is
// charged does not hold: those of the design's frame (P5), and those that are declared
// immutable where a release reads them and may count on it (P11).
func (d *Draw) PublicColumns(j *job.Job) []string {
	out := slices.Clone(d.Design.Facts().UnitColumns)
	if k, ok := d.Design.(*samplers.Kept); ok {
		out = k.PublicColumns()
	}
	if j.Dataset.Relation != privacy.ReplaceOne {
		return out
	}
	for _, r := range d.Releases {
		names := r.Plan.Columns
		if r.fixed {
			names = slices.Concat(names, r.Job.By)
		}
		for _, name := range names {
			c, ok := r.Public.Column(name)
			columns := []string{name}
			if r.Cells.Label(name) {
				columns = r.Job.By
			}
			if !ok || !c.Immutable && !(r.fixed && slices.Contains(r.Job.By, name)) {
				continue
			}
			for _, name := range columns {
				if !slices.Contains(out, name) {
					out = append(out, name)
				}
			}
		}
	}
	if s := j.Dataset.Slice; s != nil && !slices.Contains(out, s.Column) {
		out = append(out, s.Column) // P26
	}
	return out
}

// newDraws makes one draw for each sample that a release reads, and one for the
// table itself, in the order of the job. It starts the mechanisms.
func newDraws(ctx context.Context, j *job.Job, set Mechanisms, past Past) ([]*Draw, job.Problems, error) {
	var draws []*Draw
	samples, problems, err := findSamples(ctx, j, past)
	if err != nil || len(problems) > 0 {
		return nil, problems, err
	}
	var broken error
	byName := map[string]*Draw{}
	refused := map[string]bool{}
	for i, r := range j.Releases {
		mech, err := set.Get(ctx, r.Mechanism)
		if err != nil && !refused[r.Mechanism] {
			refused[r.Mechanism] = true
			if at := j.ReleasePath(i) + ".mechanism"; isFault(err) {
				broken = cmp.Or(broken, faulty(ctx, j, at, err))
			} else {
				problems = append(problems, j.Problem(at, err.Error(), ""))
			}
		}
		d, ok := byName[r.From]
		if !ok {
			design, err := newDesign(j, r.From, samples)
			d = &Draw{Name: r.From, Design: design, Target: sum(), Keys: keysIn(j, r.From)}
			for _, k := range d.Keys {
				d.Target = sum(d.Target, k.Job.Keys.Guarantee)
			}
			if err == nil {
				d.Kept, err = newKept(j, r.From, design, samples)
			}
			if err != nil {
				problems = append(problems, sampleProblem(j, r.From, err))
			}
			byName[r.From] = d
			draws = append(draws, d)
		}
		d.Target = sum(d.Target, r.Guarantee)
		d.Releases = append(d.Releases, &Release{index: i, Job: r, Mech: mech})
	}
	return draws, problems, broken
}

func sampleProblem(j *job.Job, name string, err error) job.Problem {
	var placed frameError
	if errors.As(err, &placed) {
		return j.Problem("dataset.frame"+placed.path, placed.message, placed.hint)
	}
	return j.Problem(job.Key("samples", name), err.Error(), "")
}

// Design makes the design that executes and accounts for a sample of the job. It
// reads the public frame, and never the table or the ledger: a kept sample of an
// earlier job is refused.
func Design(j *job.Job, sample string) (samplers.Design, error) { return newDesign(j, sample, nil) }

// newDesign makes the design that executes and accounts for a sample. samples are
// the draws of earlier jobs, by the names that this one gives them.
func newDesign(j *job.Job, name string, samples map[string]*ledger.Sample) (samplers.Design, error) {
	design, err := drawOf(j, name, samples)
	if c := j.Dataset.Collected; err != nil || c == nil || c.Method == job.SRSWOR {
		return design, err
	}
	table, err := CollectedBy(j)
	if err != nil {
		return nil, err
	}
	return samplers.NewGathered(table, design)
}

// CollectedBy makes the design by which the table was drawn from its population.
func CollectedBy(j *job.Job) (*samplers.Collected, error) {
	c := j.Dataset.Collected
	if c.Method == job.SRSWOR {
		return samplers.NewCollected(j.Dataset.Size, c.Population)
	}
	var by samplers.Design
	var err error
	switch {
	case c.Method == job.Poisson:
		var rate samplers.Rate
		if rate, err = samplers.ParseRate(c.Rate.RatString()); err == nil {
			by, err = samplers.NewPoisson(rate, 0)
		}
	case len(c.Takes) > 0:
		units := make([]samplers.Unit, len(c.Sizes))
		for i, s := range c.Sizes {
			units[i] = samplers.Unit{Key: []string{s.Name}, Records: s.Value}
		}
		var f *samplers.Frame
		if f, err = samplers.NewFrame([]string{c.Strata}, units); err == nil {
			by, err = newTakes(f, c.Takes)
		}
	default:
		by, err = newFramed(j, c.Sample)
	}
	if err != nil {
		return nil, err
	}
	if n := by.Facts().SampleSize; n != j.Dataset.Size {
		return nil, fmt.Errorf("its stages take %d rows in all, and dataset.size is %d", n, j.Dataset.Size)
	}
	if err := by.Supports(j.Dataset.Relation); err != nil {
		return nil, err
	}
	return samplers.NewCollectedBy(by)
}

// population is the public number of units that the weights of a draw add up to.
func population(j *job.Job, d samplers.Design) int64 {
	if g, ok := d.(*samplers.Gathered); ok {
		return g.Facts().Population
	}
	return j.Dataset.Size
}

// drawOf makes the design of a draw from the table.
func drawOf(j *job.Job, name string, samples map[string]*ledger.Sample) (samplers.Design, error) {
	d := j.Dataset
	if name == job.Table {
		return samplers.NewFull(d.Size)
	}
	s, ok := j.Sample(name)
	if !ok {
		return nil, fmt.Errorf("no sample of that name")
	}
	var design samplers.Design
	var err error
	switch s.Method {
	case job.Poisson:
		var rate samplers.Rate
		if rate, err = samplers.ParseRate(s.Rate.RatString()); err == nil {
			design, err = samplers.NewPoisson(rate, d.Size)
		}
	case job.SRSWOR:
		if d.Relation == privacy.ReplaceOne {
			design, err = samplers.NewSRSWOR(s.Size, d.Size)
		} else {
			design, err = samplers.NewSRSWORAtLeast(s.Size, d.AtLeast)
		}
	case job.Kept:
		design, err = restored(j, samples[name])
	default:
		design, err = newFramed(j, s)
	}
	if err != nil {
		return nil, err
	}
	return design, design.Supports(d.Relation)
}

// public lists the facts that a mechanism may know about the table and its draw. Values of a
// column whose bounds are found in private are divided by the bound, except for the release
// that finds it.
func public(j *job.Job, d *Draw, r *Release) sdk.Public {
	f := d.Design.Facts()
	p := sdk.Public{
		Relation: j.Dataset.Relation, SampleRelations: d.Relations, Population: population(j, d.Design),
		Design: sdk.Design{
			Kind: d.Design.Kind(), Rate: f.Rate, SampleSize: f.SampleSize, MinWeight: f.MinWeight, MaxWeight: f.MaxWeight,
			EqualWeights: f.EqualWeights, LargestCount: f.LargestCount,
		},
	}
	for _, c := range j.Dataset.Columns {
		if c.Plain() || j.Dataset.Unfolded(c.Name) {
			continue
		}
		col := sdk.Column{Name: c.Name, Domain: c.Domain, Immutable: c.Immutable && sameUnit(j, d.Design) || stratum(d.Design, c.Name), Missing: missing(c)}
		if c.Type == job.Number {
			col.Type, col.Lower, col.Upper = sdk.Number, job.Up(c.Lower), job.Down(c.Upper)
			if c.Bounds != nil && r.Job.Bounds != c.Name {
				col.Lower, col.Upper = leastOf(c), 1
			}
		} else {
			col.Type = sdk.Category
		}
		p.Columns = append(p.Columns, col)
	}
	return p
}

// leastOf is the least value of a column over the bound that is found for it.
func leastOf(c job.Column) float64 {
	if c.Lower.Sign() < 0 {
		return -1
	}
	return 0
}

// sameUnit reports whether a neighbour of the sample differs in the values of one
// and the same unit. In a sample of fixed size any other unit takes its place (P3,
// the trap), with that unit's values in columns that nobody can change (P11).
func sameUnit(j *job.Job, d samplers.Design) bool {
	return j.Dataset.Collected == nil && (d.Kind() == "full" || d.Kind() == "poisson")
}

// stratum reports whether a column names the strata of a public frame by which the rows were
// drawn, or the table collected. There a neighbour stays in its stratum, and so does the unit
// that takes its place in a draw of fixed numbers: the sample differs in rows of one stratum
// (P27).
func stratum(d samplers.Design, column string) bool {
	framed, ok := d.(Framed)
	return ok && d.Kind() == string(job.Stratified) && framed.Frame() != nil && framed.Frame().Records() > 0 &&
		slices.Contains(d.Facts().UnitColumns, column)
}

// missing is the rule that a mechanism sees: a category whose foreign values are
// dropped has missing values even where nulls are refused.
func missing(c job.Column) sdk.Missing {
	if c.Missing.Rule == job.Drop || c.Type == job.Category && c.Outside.Rule == job.Drop {
		return sdk.MissingDrop
	}
	return sdk.Missing(c.Missing.Rule)
}

// noiseIntervals are the columns in which a mechanism gives an interval for its noise
// alone. A reader takes it for an interval for the population's value, which it is not
// where the rows are a sample: it leaves out the error of the draw (P30).
var noiseIntervals = []string{"noise_low", "noise_high"}

// Withheld says that the draw's releases leave out a column of their mechanism.
func (d *Draw) Withheld(j *job.Job, r *Release, column string) bool {
	return (j.Dataset.Collected != nil || r.Weights != nil || d.Design.Kind() != "full") && slices.Contains(noiseIntervals, column)
}
