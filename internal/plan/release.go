package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// PlannedRelease is a question with an amount, and the plan that the mechanism answered.
type PlannedRelease struct {
	Question
	Share  privacy.Point // of the budget of the sample
	cost   float64       // the ε of the plan at the share's δ
	scaled []string      // the columns that it reads over a bound that is found first
	found  planned.Bounds
	whose  Whose       // apart from periods; see PlannedRelease.Whose
	raises bool        // rows that do not count may make a figure larger than that of all rows
	start  SeriesStart // where the release is in a series
	// Instead is the other estimator that the mechanism has for the value, which is not taken; nil where there is none.
	Instead *sdk.ExpectedError
}

// plan asks the mechanism for a plan that costs at most target, and charges it at the δ of
// the share under every relation of the draw.
func (q *Question) plan(ctx context.Context, share, target privacy.Point) (*PlannedRelease, error) {
	answer, err := q.Mech.Plan(ctx, q.At(target))
	if err != nil {
		return nil, err
	}
	r := &PlannedRelease{Question: *q, Share: share}
	r.Plan, r.Target = answer, target
	if err := r.choose(ctx); err != nil {
		return nil, err
	}
	for _, rel := range q.under {
		a, err := privacy.Bill{Event: r.Event(), Delta: share.Delta}.Price(rel) // the ledger asks for the same price
		if err != nil {
			return nil, fmt.Errorf("the plan of %s cannot be charged: %w", q.Job.Mechanism, err)
		}
		r.cost = math.Max(r.cost, a.Epsilon)
	}
	return r, nil
}

// within asks for a plan that keeps to its share of the sample's budget.
func (q *Question) within(ctx context.Context, share privacy.Point) (*PlannedRelease, error) {
	tries, last := 1, 0.0
	if q.Apart {
		tries = mostPlans
	}
	best, err := Fit(func(factor float64) (*PlannedRelease, float64, error) {
		// A row that leaves one group for another may cost more than one that is replaced.
		target := share
		if factor < 1 {
			target.Epsilon *= factor
			target.Delta /= 2
		}
		r, err := q.plan(ctx, share, target)
		if err == nil {
			last = r.cost
		}
		return r, last, err
	}, share.Epsilon, 0, tries, &Scale{From: 1, Power: 1, Aim: RoundingReserve})
	if err != nil {
		return nil, err
	}
	if !best.Good {
		return nil, fmt.Errorf("the plan of %s spends more than its share (ε %.6g of %.6g)", q.Job.Mechanism, last, share.Epsilon)
	}
	return best.Made.settled()
}

// mostPlans bounds how often a mechanism that is run group by group is asked to spend less.
const mostPlans = 5

// at asks for the plan at a target, and holds it to what the job declares.
func (q *Question) at(ctx context.Context, share, target privacy.Point) (*PlannedRelease, error) {
	r, err := q.plan(ctx, share, target)
	if err != nil {
		return nil, err
	}
	return r.settled()
}

// settled is the release as the job declares it, or what the plan does not keep to.
func (r *PlannedRelease) settled() (*PlannedRelease, error) {
	one, j := *r, r.job
	one.Additive = r.Additive || additive(r.Plan.Errors)
	if one.scaled = r.Scaled(j); r.Weights != nil {
		one.Plan.Errors = surveyed(r.Plan.Errors)
	}
	if err := one.readable(j); err != nil {
		return nil, err
	}
	if r.Job.AssumeShare != nil && r.Plan.Estimates() != sdk.StatisticShare {
		return nil, refusals{{".assume_share", "is about a share, and " + r.Job.Mechanism + " gives none",
			"leave it out, or say what you assume of the column (dataset.columns.NAME.assume)"}}
	}
	one.settleWhose(j)
	return &one, one.checkSuppress()
}

// readable refuses columns that a mechanism asks for and cannot have.
func (r *PlannedRelease) readable(j *job.Job) error {
	if err := r.inUnits(j); err != nil {
		return err
	}
	for _, name := range r.Plan.Columns {
		if _, ok := r.Public.Column(name); ok {
			continue
		}
		if c, declared := j.Dataset.Column(name); declared && c.Plain() {
			return fmt.Errorf("%s asks for column %q, which has neither bounds nor a domain", r.Job.Mechanism, name)
		} else if declared {
			return fmt.Errorf("%s asks for column %q: say in dataset.fold what becomes of the values of a unit", r.Job.Mechanism, name)
		}
		return fmt.Errorf("%s asks for column %q, which is not declared in dataset.columns", r.Job.Mechanism, name)
	}
	if len(r.Plan.Columns) == 0 && (r.Apart || planned.Filtered(j, &r.Job)) {
		return fmt.Errorf("%s reads no column, so neither a filter nor a group can apply to it", r.Job.Mechanism)
	}
	return nil
}

// Output lists the columns of the release: its groups, and those of the mechanism.
func (r *PlannedRelease) Output() []sdk.Field {
	fields := slices.Clone(r.Plan.Output)
	for i, f := range fields {
		if len(r.unitsOf(f)) > 0 { // its lattice and range are in units of a bound
			fields[i].Granularity, fields[i].Low, fields[i].High = 0, 0, 0
		}
	}
	if r.Cells != nil {
		fields = slices.DeleteFunc(slices.Clone(fields), func(f sdk.Field) bool { return r.Cells.Labelled(f.Name) })
		for i, name := range r.groupColumns() {
			fields = slices.Insert(fields, i, sdk.Field{Name: name, Type: sdk.String, Doc: "which group the row is about"})
		}
	}
	if r.Series != nil {
		fields = inSeries(fields)
	}
	if r.SuppressBy() != "" {
		fields = append(slices.Clone(fields), sdk.Field{Name: suppressed, Type: sdk.Int64,
			Doc: "1 where " + r.SuppressBy() + " is below " + rational.Format(r.Job.Suppress.Below) + " and the row is blank, else 0"})
	}
	return r.said(fields)
}

// planProblems places a mechanism's refusal, or the parameters that it cannot take.
// Before any data is read its words may be shown.
func planProblems(j *job.Job, index int, err error) job.Problems {
	var at refusals
	if !errors.As(err, &at) {
		path := j.ReleasePath(index)
		if r := &j.Releases[index]; r.Measures == "" && r.Bounds == "" { // else the job has no params
			path += ".params"
		}
		return job.Problems{j.Problem(path, err.Error(), "")}
	}
	var problems job.Problems
	for _, e := range at {
		problems = append(problems, j.Problem(j.ReleasePath(index)+e.path, e.message, e.hint))
	}
	return problems
}
