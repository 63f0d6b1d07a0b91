package run

import (
	"context"
	"slices"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/plugins/asked"
	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// chooseCap makes the release from which a cap is chosen, if draw i has it, and caps the units of all releases with what it
// finds. The draw is the first one that a release reads, so no release was made before.
func (r *Runner) chooseCap(ctx context.Context, i int, picks *picker, src *noise.Source, progress func(int64)) error {
	d := r.Plan.Draws[i]
	at := slices.IndexFunc(d.Releases, choosesCap)
	if at < 0 {
		return nil
	}
	if err := r.feed(ctx, d, d.Releases[at:at+1], picks, src, progress); err != nil {
		return err
	}
	bins, sd := unitsOf(r.Results[d.Releases[at].Job.Name])
	next, err := r.Plan.With(ctx, plan.Found{Rows: r.Plan.Choose(bins, sd)})
	if err != nil {
		return errKeysPlan
	}
	one := r.sides[""]
	r.Plan, one.job = next, next.Job
	return one.capAll(ctx, next, src.Child())
}

func choosesCap(rel *plan.PlannedRelease) bool { return rel.Job.ChoosesCap() }

// unitsOf reads the noisy numbers of units by their rows, and the standard deviation of the noise in each.
func unitsOf(result sdk.Result) (bins []float64, sd float64) {
	column := func(name string) sdk.ResultColumn {
		return result.Columns[slices.IndexFunc(result.Columns, func(c sdk.ResultColumn) bool { return c.Name == name })]
	}
	for i, about := range column(asked.About).String {
		if about == asked.Units {
			bins, sd = append(bins, column(linear.EstimateField).Float64[i]), column(linear.SDField).Float64[i]
		}
	}
	return bins, sd
}
