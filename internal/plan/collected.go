package plan

import (
	"errors"

	"github.com/dprelease/dprelease/internal/job"
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
// population.
func CollectionOf(j *job.Job) (*Collection, error) {
	if j.Dataset.Collected == nil {
		return nil, nil
	}
	design, err := CollectedBy(j)
	if err != nil {
		return nil, err
	}
	c := &Collection{Design: design, Sampling: Sampling(design)}
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

// OnSample inverts one amplification: what may be spent on the sample so that
// the population gets target. A sampling of nil is the whole table.
func OnSample(s privacy.Sampling, r privacy.Relation, target privacy.Point) (privacy.Point, error) {
	if s == nil {
		return target, nil
	}
	return privacy.SampleBudget(s, r, target)
}

// Sampling returns the design's event without an inner event, nil for the whole
// table.
func Sampling(d samplers.Design) privacy.Sampling {
	s, _ := d.Event(nil).(privacy.Sampling)
	return s
}
