package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Scaled lists the columns whose values are divided by a bound that is found first, in the
// order of the plan.
func (r *PlannedRelease) Scaled(j *job.Job) []string {
	var out []string
	for _, name := range r.Plan.Columns {
		if c, ok := j.Dataset.Column(name); ok && c.Bounds != nil && r.Job.Bounds != name && !r.Cells.Label(name) {
			out = append(out, name)
		}
	}
	return out
}

// unitsOf lists the scaled columns in whose units a field of the result is.
func (r *PlannedRelease) unitsOf(f sdk.Field) []string {
	return slices.DeleteFunc(slices.Concat(f.Of, f.Per), func(name string) bool { return !slices.Contains(r.scaled, name) })
}

// inUnits refuses a release that reads a column over its bound, where no search finds the
// bound, or nobody knows which of its results are in units of the bound.
func (r *PlannedRelease) inUnits(j *job.Job) error {
	drawn := func(from string) int { // draws are made in the order of their first releases
		return slices.IndexFunc(j.Releases, func(o job.Release) bool { return o.From == from })
	}
	for _, name := range r.scaled {
		search, ok := j.SearchOf(name)
		if !ok {
			return fmt.Errorf("%s reads column %q, which its params do not name, so nothing finds the bounds of the column: say lower and upper",
				r.Job.Mechanism, name)
		}
		if drawn(search.From) > drawn(r.Job.From) {
			return fmt.Errorf("%s reads column %q, which its params do not name, before its bounds are found: "+
				"say lower and upper, or move the release behind one from %s",
				r.Job.Mechanism, name, search.From)
		}
		if !slices.ContainsFunc(r.Plan.Output, func(f sdk.Field) bool { return slices.Contains(r.unitsOf(f), name) }) {
			return fmt.Errorf("%s does not say which of its results are in the unit of column %q, so its bounds cannot be found in private: "+
				"say lower and upper", r.Job.Mechanism, name)
		}
	}
	return nil
}

// UnitsOf lists the columns by whose bounds a field of the plan, and its expected errors, are
// divided.
func (r *PlannedRelease) UnitsOf(field string) []string {
	at := slices.IndexFunc(r.Plan.Output, func(f sdk.Field) bool { return f.Name == field })
	if at < 0 {
		return nil
	}
	return slices.Compact(r.unitsOf(r.Plan.Output[at]))
}

// InUnits multiplies what a mechanism returned by the bounds that were found. It is computed
// from released numbers alone.
//
// A column may have bounds that nobody knows. A release of the job's own, the search, then
// finds a bound B for it, before the releases that read the column. These are planned for
// values in [−1, 1], or in [0, 1]: the run clips the values to the bound and divides them by
// it, and multiplies what comes back. So no plan, no event and no noise in units of B depends
// on B, and what is charged is fixed before any row is read.
//
// # Contract
//
// The event of a draw with a search is the composition of the search's and of the others',
// none of which depends on data. Proof: bounds.proof.md.
func (r *PlannedRelease) InUnits(result sdk.Result) sdk.Result {
	if len(r.scaled) == 0 {
		return result
	}
	result.Columns = slices.Clone(result.Columns)
	for i, c := range result.Columns {
		at := slices.IndexFunc(r.Plan.Output, func(f sdk.Field) bool { return f.Name == c.Name })
		if at < 0 || c.Float64 == nil {
			continue
		}
		by, f := 1.0, r.Plan.Output[at]
		for _, name := range f.Of {
			if b, ok := r.found[name]; ok {
				by *= b
			}
		}
		for _, name := range f.Per {
			if b, ok := r.found[name]; ok {
				by /= b
			}
		}
		result.Columns[i].Float64 = slices.Clone(c.Float64)
		for k, x := range c.Float64 {
			result.Columns[i].Float64[k] = math.Min(math.Max(x*by, -math.MaxFloat64), math.MaxFloat64)
		}
	}
	return result
}
