package planned

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Release is the view that a mechanism has of the rows of a release, after filters, groups and units, with an amount and the
// plan that the mechanism answered.
type Release struct {
	Index  int // in the job
	Job    job.Release
	Mech   Mechanism
	Public sdk.Public
	Params json.RawMessage // as the mechanism is given them: with its groups
	Cells  *Cells          // nil where the mechanism sees the rows as they are
	Apart  bool            // the mechanism is run on each cell by itself
	Fixed  bool            // apart, and no neighbour moves a row from one cell to another
	Groups int64           // apart, and a unit may have rows in so many groups; 0 stands for 1
	// Weights are the survey weights that the mechanism sees; nil for none.
	Weights *Weigher
	// Clusters are those that the interval of a sample of clusters reads; nil for none.
	Clusters *Clusters

	Answered
}

// Answered is the part of a release that its mechanism's plan for an amount settled. It stays where a selection names the groups.
type Answered struct {
	Target    privacy.Point // what the mechanism is asked to spend: less than the share where it is run by group
	Plan      sdk.Plan
	Replanned bool    // the mechanism planned once more after rows were read, for groups that were selected
	Additive  bool    // the estimates are its sums, each times one constant, by what the mechanism says of their errors
	Series    *Series // nil where the release is in none
	Tally     *Tally  // nil where the mechanism is run
}

// Mechanism answers the questions of a plan. No answer may depend on data.
type Mechanism interface {
	About() sdk.Description
	// Origin says whether the mechanism comes with the program, or else which
	// executable it is.
	Origin() (builtin bool, sha256 string)
	// Confined describes the confinement of the mechanism's processes.
	Confined() string
	Plan(ctx context.Context, r sdk.PlanRequest) (sdk.Plan, error)
}

// Fault is a failure that is the plugin's, not the job's: it did not start, is not the
// one that was named, or does not keep to the protocol. A mechanism that refuses a
// release blames the job, and returns no Fault.
type Fault struct {
	Code string // one of the codes of a plugin
	Err  error
}

// Error is the words of the plugin's host.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap is the error of the plugin's host.
func (f *Fault) Unwrap() error { return f.Err }

// Clusters say which of the units that a draw takes first each row lies in: a column that is not in
// the table.
type Clusters struct {
	Column string
	Of     []int32 // by ultimate unit of the frame
	Number int     // of clusters
}

// In reports whether a mechanism reads the clusters in the column of that name.
func (c *Clusters) In(column string) bool { return c != nil && c.Column == column }

// At asks for a plan that costs at most target.
func (r *Release) At(target privacy.Point) sdk.PlanRequest {
	return sdk.PlanRequest{Params: r.Params, Public: r.Public, Target: target, InRho: r.Job.Guarantee.Rho != nil}
}

// Request is the question to the mechanism once it may read rows.
func (r *Release) Request() sdk.ReleaseRequest {
	return sdk.ReleaseRequest{PlanRequest: r.At(r.Target), Plan: r.Plan}
}

// Event is the event of the release on the sample. It covers all groups together where the
// mechanism is run on each group by itself (P11).
func (r *Release) Event() privacy.Event {
	if r.Series != nil {
		return r.Series.Prices.Event(r.Series.Most)
	}
	if !r.Apart {
		return r.Plan.Event
	}
	e := privacy.ByGroup{Event: r.Plan.Event, Fixed: r.Fixed}
	if r.Groups > 1 {
		return privacy.Repeat{N: r.Groups, Event: e} // P22: a capped unit is in so many groups
	}
	return e
}

// Reads are the columns that the release uses: those of the condition on rows, and those
// that it counts.
func (r *Release) Reads() []string {
	names := r.Counts()
	if f := r.Job.Where.Formula; f != nil {
		names = append(names, f.Columns()...)
	}
	return names
}

// Counts are the columns of what is counted, rows or folded units: those of the mechanism,
// of the groups, and of the condition on units.
func (r *Release) Counts() []string {
	var names []string
	for _, c := range r.Plan.Columns {
		if !r.Cells.Label(c) && !r.Clusters.In(c) {
			names = append(names, c)
		}
	}
	names = append(names, r.Job.By...)
	if r.Weights != nil {
		names = append(names, r.Weights.Column.Name)
	}
	if f := r.Job.Having.Formula; f != nil {
		names = append(names, f.Columns()...)
	}
	return names
}

// Faulty places the failure of the plugin of a release before any data was read. What ends
// because the caller gave up is an interrupt, however it shows.
func Faulty(ctx context.Context, j *job.Job, index int, err error) error {
	if ctx.Err() != nil {
		return failure.New(failure.ExitInterrupted, "INTERRUPTED", "the run was interrupted; nothing was drawn and nothing debited")
	}
	path, f := j.ReleasePath(index)+".mechanism", (*Fault)(nil)
	errors.As(err, &f)
	return failure.New(failure.ExitPlugin, f.Code, "%s: %s: %s; nothing was read and nothing debited", j.Pos(path), path, f.Error())
}

// Changing are the parameters with which a mechanism tells the change between two periods: its noise calls come for
// the later period first, and then for the earlier one. Correlation is that of the noise in the sums of the two.
func (r *Release) Changing(correlation float64) (json.RawMessage, error) {
	var said map[string]json.RawMessage
	if err := json.Unmarshal(r.Params, &said); err != nil || said["interval"] == nil {
		return nil, r.NoChange()
	}
	interval, err := AddParam(said["interval"], "change", map[string]float64{"correlation": correlation})
	if err != nil {
		return nil, err
	}
	return AddParam(r.Params, "interval", interval)
}

// NoChange returns the refusal of a mechanism that cannot compare two periods.
func (r *Release) NoChange() error {
	return fmt.Errorf("%s tells no change between two periods: leave change out of publish", r.Job.Mechanism)
}

// AddParam adds one parameter.
func AddParam(raw json.RawMessage, key string, value any) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	all[key] = text
	return json.Marshal(all)
}
