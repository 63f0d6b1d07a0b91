package plan

import (
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// Design makes the design that executes and accounts for a sample of the job. It
// reads the public frame, and never the table or the ledger: a kept sample of an
// earlier job is refused.
func Design(j *job.Job, sample string) (samplers.Design, error) { return newDesign(j, sample, nil) }

// newDesign makes the design that executes and accounts for a sample. samples are
// the draws of earlier jobs, by the names that this one gives them.
func newDesign(j *job.Job, name string, samples map[string]*ledger.Node) (samplers.Design, error) {
	design, err := drawOf(j, name, samples)
	c := j.Dataset.Collected
	if err != nil || c == nil || c.Method == job.SRSWOR {
		return design, err
	}
	if panel, ok := j.Rotates(); ok {
		return samplers.NewWave(panel.Rotation, panel.Wave)
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
	table, err := samplers.NewCollectedBy(by)
	if err != nil {
		return nil, err
	}
	if f := by.Facts(); !table.Holds(j.Dataset.Size) {
		if f.SampleSize == 0 {
			return nil, fmt.Errorf("no draw of its stages has dataset.size, %d rows: the largest one has %d", j.Dataset.Size, f.LargestCount)
		}
		return nil, fmt.Errorf("its stages take %d rows in all, and dataset.size is %d", f.SampleSize, j.Dataset.Size)
	}
	return table, by.Supports(j.Dataset.Relation)
}

// population is the public number of units that the weights of a draw add up to.
func population(j *job.Job, d samplers.Design) int64 {
	if g, ok := d.(*samplers.Gathered); ok {
		return g.Facts().Population
	}
	return j.Dataset.Size
}

// drawOf makes the design of a draw from the table.
func drawOf(j *job.Job, name string, samples map[string]*ledger.Node) (samplers.Design, error) {
	d := j.Dataset
	if name == job.All {
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
	case job.Rotation:
		panel, _ := j.Rotates()
		design, err = samplers.NewWave(panel.Rotation, panel.Wave)
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
func public(j *job.Job, d *DraftDraw, r *job.Release) sdk.Public {
	f := d.Design.Facts()
	p := sdk.Public{
		Relation: j.Dataset.Relation, SampleRelations: d.Relations, Population: population(j, d.Design),
		Design: sdk.Design{
			Kind: d.Design.Kind(), Rate: f.Rate, SampleSize: f.SampleSize, MinWeight: f.MinWeight, MaxWeight: f.MaxWeight,
			EqualWeights: f.EqualWeights, LargestCount: f.LargestCount,
		},
	}
	if c := j.Dataset.Collected; c != nil && c.Method == job.SRSWOR && f.EqualWeights && j.Dataset.Size > 0 {
		// A row of the table stands for so many of the population, as those of every other collection do.
		each := float64(c.Population) / float64(j.Dataset.Size)
		p.Population = c.Population
		p.Design.Rate, p.Design.MinWeight, p.Design.MaxWeight = p.Design.Rate/each, p.Design.MinWeight*each, p.Design.MaxWeight*each
	}
	for _, c := range j.Dataset.Columns {
		if c.Plain() || j.Dataset.Unfolded(c.Name) {
			continue
		}
		col := sdk.Column{Name: c.Name, Domain: c.Domain, Immutable: c.Immutable && sameUnit(j, d.Design) || stratum(d.Design, c.Name),
			Missing: missing(c)}
		if c.Type == job.Number {
			col.Type, col.Lower, col.Upper = sdk.Number, rational.Up(c.Lower), rational.Down(c.Upper)
			if c.Bounds != nil && r.Bounds != c.Name {
				col.Lower, col.Upper = leastOf(c), 1
			}
		} else {
			col.Type = sdk.Category
		}
		p.Columns = append(p.Columns, col)
	}
	if r.CountsUnits() {
		c, _ := j.Dataset.Column(job.UnitRows)
		p.Columns = append(p.Columns,
			sdk.Column{Name: c.Name, Type: sdk.Number, Lower: rational.Up(c.Lower), Upper: rational.Down(c.Upper), Missing: sdk.MissingRefuse})
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
	framed, ok := d.(samplers.Framed)
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

// Withheld reports whether the release leaves out a column of its mechanism.
func (r *PlannedRelease) Withheld(j *job.Job, column string) bool {
	return (j.Dataset.Collected != nil || r.Weights != nil || r.Public.Design.Kind != "full") && slices.Contains(noiseIntervals, column)
}
