package run

import (
	"context"
	"slices"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/asked"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// chooseCaps makes the releases of draw i from which caps are chosen, and caps the units of all releases from their tables with
// what they find. The draw is the first one that a release from such a table reads, so none was made before.
func (r *Runner) chooseCaps(ctx context.Context, i int, picks *picker, src *noise.Source, progress func(int) func(int64)) error {
	d, n := r.Plan.Draws[i], 0
	for at, rel := range d.Releases {
		if !choosesCap(rel) {
			continue
		}
		if err := r.feed(ctx, d, d.Releases[at:at+1], picks, src, progress(n)); err != nil {
			return err
		}
		n++
		table := rel.Job.Table
		bins, sd := unitsOf(r.Results[rel.Job.Name])
		next, err := r.Plan.With(ctx, planned.Found{Rows: map[string]int64{table: r.Plan.Planner.Choose(table, bins, sd)}})
		if err != nil {
			return errKeysPlan
		}
		v := r.view(rel)
		r.Plan, v.job = next, next.Job.Of(table)
		if err := v.capAll(ctx, next, src.Child()); err != nil {
			return err
		}
	}
	return nil
}

func choosesCap(rel *planned.Release) bool { return rel.Job.ChoosesCap() }

// unitsOf reads the noisy numbers of units by their rows, and the standard deviation of the noise in each.
func unitsOf(result sdk.Result) (bins []float64, sd float64) {
	column := func(name string) sdk.ResultColumn {
		return result.Columns[slices.IndexFunc(result.Columns, func(c sdk.ResultColumn) bool { return c.Name == name })]
	}
	for i, about := range column(asked.About).Texts {
		if about == asked.Units {
			bins, sd = append(bins, column(sdk.EstimateField).Float64[i]), column(sdk.SDField).Float64[i]
		}
	}
	return bins, sd
}
