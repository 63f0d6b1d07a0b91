package plan

import (
	"context"
	"errors"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Collection is the draw by which somebody else made a table from its population.
type Collection struct {
	Design   *samplers.Collected
	Sampling privacy.Sampling
	Inside   privacy.Relation // between neighbouring tables: draws from the table must use it
}

// CollectionOf returns the draw that made the table of a job, nil where the table is the
// population, or one wave of a panel, or the draw buys no privacy.
func CollectionOf(j *job.Job) (*Collection, error) {
	design, err := planned.Collection(j)
	if design == nil {
		return nil, err
	}
	c := &Collection{Design: design, Sampling: samplers.Sampling(design)}
	under, err := privacy.SampleRelations(c.Sampling, j.Dataset.Relation)
	if err == nil && len(under) != 1 {
		err = errors.New("this relation is not supported for a table that is itself a sample")
	}
	if err != nil {
		return nil, err
	}
	c.Inside = under[0]
	return c, nil
}

// panelOf reads what is known of the panel of a job, nil where it is about none.
func panelOf(ctx context.Context, j *job.Job, past Past) (*planned.Panel, error) {
	of, ok := j.Rotates()
	if !ok {
		return nil, nil
	}
	p := &planned.Panel{Panel: of, ID: ledger.PanelID(planned.AccountOf(j), of.Name, of.Drawn)}
	var err error
	p.Node, err = past.Node(ctx, j, p.ID)
	return p, err
}

// Collection returns the design by which the table was collected; nil where it is the
// population.
func (p *Priced) Collection() samplers.Design {
	switch {
	case p.Job.Dataset.Collected == nil:
		return nil
	case p.panel != nil:
		return p.Draws[0].Design
	}
	if d, err := planned.CollectedBy(p.Job); err == nil { // the plan was made with it
		return d
	}
	return nil
}

// Charged returns what a run of the plan is charged for. Of a wave that was released before that is the
// wave alone, as of units that are known to be in it (P34): all waves together were paid for once.
func (p *Priced) Charged() (e privacy.Event, a privacy.Answer, again bool, err error) {
	r, ok := p.Event.(privacy.Rotation)
	if p.panel == nil || !ok || p.panel.Node == nil || !slices.Contains(p.panel.Node.Done, p.panel.Wave) {
		return p.All, p.Answer, false, nil
	}
	a, err = privacy.Bill{Event: r.Event, Delta: p.Bill.Delta}.Price(p.Job.Dataset.Relation)
	return r.Event, a, true, err
}

// OnSample inverts one amplification: what may be spent on the sample so that
// the population gets target. A sampling of nil is the whole table.
func OnSample(s privacy.Sampling, r privacy.Relation, target privacy.Point) (privacy.Point, error) {
	if s == nil {
		return target, nil
	}
	return privacy.SampleBudget(s, r, target)
}
