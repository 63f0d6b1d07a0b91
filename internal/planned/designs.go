package planned

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Design makes the design that executes and accounts for a sample of the job. It reads the public frame, and never the table. kept is
// the draw of an earlier job that the sample is, nil for a new one.
func Design(j *job.Job, name string, kept *ledger.Node) (samplers.Design, error) {
	design, err := drawOf(j, name, kept)
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
func drawOf(j *job.Job, name string, kept *ledger.Node) (samplers.Design, error) {
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
		design, err = restored(j, kept)
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

// DesignText is the design of a kept sample, written down for later jobs.
type DesignText struct {
	Kind  string         `json:"kind"`
	Facts samplers.Facts `json:"facts"`
}

// restored is the design of a kept sample.
func restored(j *job.Job, n *ledger.Node) (samplers.Design, error) {
	if n == nil {
		return nil, errors.New("its design is in the ledger, which is not read here")
	}
	event, err := n.Sampling()
	if err != nil {
		return nil, err
	}
	var d DesignText
	if err := json.Unmarshal([]byte(n.Facts), &d); err != nil {
		return nil, errors.New("its design cannot be read")
	}
	if d.Facts.Population != j.Dataset.Size {
		return nil, errors.New("it was drawn when dataset.size was another number")
	}
	return samplers.NewKept(d.Kind, event, d.Facts, j.Dataset.Relation)
}

// Designed compares the draws with those of the job: how each is drawn, and by what draw or panel somebody else made the table, which no
// run carries out. It reads the public frame.
//
// # Contract
//
// A run of a plan that Designed and Held accept draws once by each design of its job, and is charged for the collection, or the panel, that
// its job says, as the one of its account. Proof: told.proof.md. // P4, P36, P38
func (p *Plan) Designed() error {
	names := map[string]bool{}
	for _, d := range p.Draws {
		s, drawn := p.Job.Sample(d.Name)
		own, err := Design(p.Job, d.Name, d.Kept.node())
		if err != nil || names[d.Name] || !reflect.DeepEqual(own, d.Design) || !d.Kept.of(s, drawn) {
			return errOtherwise
		}
		names[d.Name] = true
	}
	table, err := Collection(p.Job)
	panel, rotates := p.Job.Rotates()
	switch {
	case err != nil || (table == nil) != (p.Table == nil) || rotates != (p.Panel != nil):
		return errOtherwise
	case table != nil && (!reflect.DeepEqual(p.Table.Design, samplers.Design(table)) || p.Table.Kept == nil ||
		p.Table.SampleID("") != ledger.CollectedID(AccountOf(p.Job))):
		return errOtherwise
	case rotates && (!reflect.DeepEqual(p.Panel.Panel, panel) || p.Panel.ID != ledger.PanelID(AccountOf(p.Job), panel.Name, panel.Drawn)):
		return errOtherwise
	}
	return nil
}

// Collection is the draw that made the table of a job, nil where the table is the population, or one wave of a panel, or the draw buys no
// privacy.
func Collection(j *job.Job) (*samplers.Collected, error) {
	if c := j.Dataset.Collected; c == nil || c.Method == job.Rotation {
		return nil, nil
	}
	table, err := CollectedBy(j)
	if err != nil || samplers.Sampling(table) == nil {
		return nil, err
	}
	return table, nil
}
