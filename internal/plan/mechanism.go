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

// Faulty places the failure of the release's plugin.
func (r *Release) Faulty(ctx context.Context, j *job.Job, err error) error {
	return faulty(ctx, j, r.path(j)+".mechanism", err)
}

// makePlan asks the mechanism and holds it to its share under every relation
// that the draw demands.
func (r *Release) makePlan(ctx context.Context, j *job.Job, d *Draw) error {
	q, err := newRequest(j, d, r)
	if err != nil {
		return err
	}
	r.Public, r.Params, r.Cells, r.Apart, r.groups, r.Weights = q.public, q.params, q.cells, q.apart, q.groups, q.weights
	// A row that a filter lets through in one table and not in the other comes or goes.
	r.fixed = q.apart && !Filtered(j, &r.Job) && q.cells.fixed(j, d)
	for _, rel := range r.Public.SampleRelations {
		if !slices.Contains(r.Mech.About().Relations, rel) {
			return fmt.Errorf("%s does not support %s on the sample", r.Job.Mechanism, rel)
		}
	}
	if !slices.Contains(r.Mech.About().Designs, r.Public.Design.Kind) {
		return fmt.Errorf("%s does not support samples drawn by %s", r.Job.Mechanism, r.Public.Design.Kind)
	}
	if err := r.Mech.Validate(r.Params); err != nil {
		return err
	}
	if r.Job.Guarantee.Rho != nil {
		if err := r.solveRho(ctx, d); err != nil {
			return err
		}
		return r.settled(j)
	}
	r.target = r.Share
	for range mostPlans {
		if r.Plan, err = r.Mech.Plan(ctx, r.request()); err != nil {
			return err
		}
		if err = r.charge(d.Relations); err != nil {
			return err
		}
		if r.cost <= r.Share.Epsilon || !r.Apart {
			break
		}
		// A row that leaves one group for another may cost more than one that is replaced.
		r.target.Epsilon = r.target.Epsilon * (r.Share.Epsilon / r.cost) * keptBack
		if r.target.Delta == r.Share.Delta {
			r.target.Delta /= 2
		}
	}
	if r.cost > r.Share.Epsilon {
		return fmt.Errorf("the plan of %s spends more than its share (ε %.6g of %.6g)", r.Job.Mechanism, r.cost, r.Share.Epsilon)
	}
	return r.settled(j)
}

// settled compares the plan with what the job declares.
func (r *Release) settled(j *job.Job) error {
	if r.Weights != nil {
		r.Plan.Errors = surveyed(r.Plan.Errors)
	}
	if err := r.readable(j); err != nil {
		return err
	}
	return r.checkSuppress()
}

// mostPlans bounds how often a mechanism that is run group by group is asked to spend less.
const mostPlans = 5

// request is the question to the mechanism in planning.
func (r *Release) request() sdk.PlanRequest {
	return sdk.PlanRequest{Params: r.Params, Public: r.Public, Target: r.target, InRho: r.Job.Guarantee.Rho != nil}
}

// Request is the question to the mechanism once it may read rows.
func (r *Release) Request() sdk.ReleaseRequest {
	return sdk.ReleaseRequest{Params: r.Params, Public: r.Public, Target: r.target, InRho: r.Job.Guarantee.Rho != nil, Plan: r.Plan}
}

// Event is the event of the release on the sample. It covers all groups together where the
// mechanism is run on each group by itself (P11).
func (r *Release) Event() privacy.Event {
	if !r.Apart {
		return r.Plan.Event
	}
	e := privacy.ByGroup{Event: r.Plan.Event, Fixed: r.fixed}
	if r.groups > 1 {
		return privacy.Repeat{N: r.groups, Event: e} // P22: a capped unit is in so many groups
	}
	return e
}

// charge finds what the release costs under the relations that hold on the sample.
func (r *Release) charge(relations []privacy.Relation) error {
	r.cost = 0
	for _, rel := range relations {
		a, err := privacy.EpsilonAt(r.Event(), rel, r.Share.Delta)
		if err != nil {
			return fmt.Errorf("the plan of %s cannot be charged: %w", r.Job.Mechanism, err)
		}
		r.cost = math.Max(r.cost, a.Epsilon)
	}
	return nil
}

// readable refuses columns that a mechanism asks for and cannot have.
func (r *Release) readable(j *job.Job) error {
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
	if len(r.Plan.Columns) == 0 && (r.Apart || Filtered(j, &r.Job)) {
		return fmt.Errorf("%s reads no column, so neither a filter nor a group can apply to it", r.Job.Mechanism)
	}
	return nil
}

// Output lists the columns of the release: its groups, and those of the mechanism.
func (r *Release) Output() []sdk.Field {
	fields := slices.Clone(r.Plan.Output)
	for i, f := range fields {
		if len(r.unitsOf(f)) > 0 { // its lattice and range are in units of a bound
			fields[i].Granularity, fields[i].Low, fields[i].High = 0, 0, 0
		}
	}
	if r.Cells != nil {
		fields = slices.DeleteFunc(slices.Clone(fields), func(f sdk.Field) bool { return r.Cells.Labelled(f.Name) })
		fields = slices.Concat(r.Cells.Fields(), fields)
	}
	if r.Job.Suppress != nil {
		fields = append(slices.Clone(fields), sdk.Field{Name: suppressed, Type: sdk.Int64,
			Doc: "1 where " + r.SuppressBy() + " is below " + job.FormatAmount(r.Job.Suppress.Below) + " and the row is blank, else 0"})
	}
	return fields
}

// withoutSampling asks what the error would be on the full table at the same
// guarantee: the question that the report answers about sampling. A mechanism
// that has no plan for the full table leaves it open.
func (r *Release) withoutSampling(ctx context.Context, j *job.Job, d *Draw, relation privacy.Relation) []sdk.ExpectedError {
	design, err := newDesign(j, job.Table, nil)
	if err != nil {
		return nil
	}
	whole := &Release{Job: r.Job, Mech: r.Mech, Share: Point(r.Job.Guarantee)}
	if j.Dataset.Collected != nil {
		whole.Share = portion(d.OnTable(), r.Job.Guarantee, d.Target)
	}
	if err := whole.makePlan(ctx, j, &Draw{Design: design, Relations: []privacy.Relation{relation}}); err != nil {
		return nil
	}
	return whole.Plan.Errors
}

// planProblems places a mechanism's refusal, or the parameters that it cannot take.
// Before any data is read its words may be shown.
func planProblems(j *job.Job, r *Release, err error) job.Problems {
	var at refusals
	if !errors.As(err, &at) {
		return job.Problems{j.Problem(r.path(j)+".params", err.Error(), "")}
	}
	var problems job.Problems
	for _, e := range at {
		problems = append(problems, j.Problem(r.path(j)+e.path, e.message, e.hint))
	}
	return problems
}
