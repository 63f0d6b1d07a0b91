package planner

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// collection is the draw by which somebody else made the table from its population.
type collection struct {
	sampling privacy.Sampling // nil where the table is the population
	sd       float64          // of a mean of the whole table about the population's, 0 where it is not known
	words    string           // what the errors hold of it
}

// collected finds the public facts about the collection of the table. The collection
// amplifies every draw from the table once more, and adds its own error.
func (u *subject) collected() (collection, error) {
	var out collection
	if u.job.Dataset.Collected == nil {
		return out, nil
	}
	table, err := plan.CollectionOf(u.job)
	if err != nil {
		return out, u.wrong("dataset.collected", err.Error(), "")
	}
	if table == nil {
		return out, u.wrong("dataset.collected", "is one wave of a panel: what is released in each wave is planned for the whole wave, "+
			"and designs are not compared", "plan the job as it is")
	}
	out.sampling = table.Sampling
	sd, unknown := u.collectionSD(table.Design)
	const both = "the table is a sample itself: ε_n is what its collection and the draw allow together"
	if out.sd = sd; unknown != "" {
		out.words = both + "; error is the distance from the table's value and leaves the error of the collection out: " + unknown
	} else {
		out.words = fmt.Sprintf("%s; sampling and error hold the error of the collection, %.4g", both, sd)
	}
	return out, nil
}

// collectionSD is the standard deviation of a mean of the whole table, or why it is not known.
func (u *subject) collectionSD(table *samplers.Collected) (sd float64, unknown string) {
	r := u.release
	switch c := u.job.Dataset.Collected; {
	case u.statistic != sdk.StatisticMean:
		return 0, "it is worked out for the mean only"
	case len(r.By) > 0 || r.Where.Said() || r.Having.Said() || r.Keys != nil || u.job.Dataset.Cap != nil || u.job.Dataset.Folds():
		return 0, "it is worked out for the mean of all rows only, where each row is a unit"
	case u.model == nil || u.column == nil:
		return 0, "it needs an assumption: assume: {sd: …} for the column"
	case c.Method == job.Poisson:
		return u.model.SD * math.Sqrt((1-rational.Near(c.Rate))/float64(u.population())), ""
	case table.Facts().Population == 0:
		return 0, "it needs the sizes of the strata in the population, which are secret"
	}
	v, unknown := u.framedVariance(table, false)
	return math.Sqrt(v), unknown
}

// from adds the error of the collection to that of a draw from the table: given the table,
// the draw's estimate has the table's value for its mean, so the variances add up.
func (c collection) from(a Accuracy) Accuracy {
	if c.sd == 0 || a.Total == 0 {
		return a
	}
	total := math.Hypot(a.Total, c.sd)
	a.Margin = math.Hypot(a.Margin, a.Margin/a.Total*c.sd)
	a.Relative *= total / a.Total
	a.Total, a.SamplingSD = total, math.Hypot(a.SamplingSD, c.sd)
	return a
}
