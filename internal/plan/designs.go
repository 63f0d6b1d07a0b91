package plan

import (
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
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

// noiseIntervals are the columns in which a mechanism gives an interval for its noise
// alone. A reader takes it for an interval for the population's value, which it is not
// where the rows are a sample: it leaves out the error of the draw (P30).
var noiseIntervals = []string{"noise_low", "noise_high"}

// Withheld reports whether the release leaves out a column of its mechanism.
func (r *PlannedRelease) Withheld(j *job.Job, column string) bool {
	return (j.Dataset.Collected != nil || r.Weights != nil || r.Public.Design.Kind != "full") && slices.Contains(noiseIntervals, column)
}
