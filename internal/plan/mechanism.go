package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Mechanisms are the mechanisms that a job may name.
type Mechanisms interface {
	Get(ctx context.Context, name string) (Mechanism, error)
}

// Mechanism is what a plan asks of a mechanism. No answer may depend on data.
type Mechanism interface {
	About() sdk.Description
	// Origin says whether the mechanism comes with the program, or else which
	// executable it is.
	Origin() (builtin bool, sha256 string)
	// Confined says how the mechanism's processes are confined.
	Confined() string
	// Validate holds the parameters of a release to the mechanism's schema.
	Validate(params json.RawMessage) error
	Plan(ctx context.Context, r sdk.PlanRequest) (sdk.Plan, error)
}

// Fault is a failure that is the plugin's, not the job's: it did not start, is not the
// one that was named, or does not keep to the protocol. A mechanism that refuses a
// release says what is wrong with the job, which is no Fault.
type Fault struct {
	Code string // one of the codes of a plugin
	Err  error
}

// Error is the words of the plugin's host.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap is the error of the plugin's host.
func (f *Fault) Unwrap() error { return f.Err }

func isFault(err error) bool {
	var f *Fault
	return errors.As(err, &f)
}

// faulty places the failure of a plugin before any data was read. What ends
// because the caller gave up is an interrupt, however it shows.
func faulty(ctx context.Context, j *job.Job, path string, err error) error {
	if ctx.Err() != nil {
		return failure.New(failure.ExitInterrupted, "INTERRUPTED", "the run was interrupted; nothing was drawn and nothing debited")
	}
	var f *Fault
	errors.As(err, &f)
	return failure.New(failure.ExitPlugin, f.Code, "%s: %s: %s; nothing was read and nothing debited", j.Pos(path), path, f.Error())
}

// makePlan asks the mechanism and holds it to its share under every relation
// that the draw demands.
func (r *Release) makePlan(ctx context.Context) error {
	for _, rel := range r.Public.SampleRelations {
		if !slices.Contains(r.Mech.About().Relations, rel) {
			return fmt.Errorf("%s does not support %s on the sample", r.Job.Mechanism, rel)
		}
	}
	if !slices.Contains(r.Mech.About().Designs, r.Public.Design.Kind) {
		return fmt.Errorf("%s does not support samples drawn by %s", r.Job.Mechanism, r.Public.Design.Kind)
	}
	if err := r.Mech.Validate(r.Job.Params); err != nil {
		return err
	}
	plan, err := r.Mech.Plan(ctx, sdk.PlanRequest{Params: r.Job.Params, Public: r.Public, Target: r.Share})
	if err != nil {
		return err
	}
	r.cost = 0
	for _, rel := range r.Public.SampleRelations {
		a, err := privacy.EpsilonAt(plan.Event, rel, r.Share.Delta)
		if err != nil {
			return fmt.Errorf("the plan of %s cannot be charged: %w", r.Job.Mechanism, err)
		}
		if a.Epsilon > r.Share.Epsilon {
			return fmt.Errorf("the plan of %s spends more than its share under %s (ε %.6g of %.6g)", r.Job.Mechanism, rel, a.Epsilon, r.Share.Epsilon)
		}
		r.cost = math.Max(r.cost, a.Epsilon)
	}
	for _, name := range plan.Columns {
		if _, ok := r.Public.Column(name); !ok {
			return fmt.Errorf("%s asks for column %q, which is not declared in dataset.columns", r.Job.Mechanism, name)
		}
	}
	r.Plan = plan
	return nil
}

// withoutSampling asks what the error would be on the full table at the same
// guarantee: the question that the report answers about sampling. A mechanism
// that has no plan for the full table leaves it open.
func (r *Release) withoutSampling(ctx context.Context, j *job.Job, relation privacy.Relation) []sdk.ExpectedError {
	design, err := samplers.NewFull(j.Dataset.Size)
	if err != nil {
		return nil
	}
	whole := public(j, &Draw{Design: design, Relations: []privacy.Relation{relation}})
	plan, err := r.Mech.Plan(ctx, sdk.PlanRequest{Params: r.Job.Params, Public: whole, Target: Point(r.Job.Guarantee)})
	if err != nil {
		return nil
	}
	return plan.Errors
}

// planProblems places a mechanism's refusal, or the parameters that it cannot take.
// Before any data is read its words may be shown.
func planProblems(j *job.Job, r *Release, err error) job.Problems {
	var at paramErrors
	if !errors.As(err, &at) {
		return job.Problems{j.Problem(r.path()+".params", err.Error(), "")}
	}
	var problems job.Problems
	for _, e := range at {
		problems = append(problems, j.Problem(r.path()+".params"+e.path, e.message, e.hint))
	}
	return problems
}
