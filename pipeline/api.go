package pipeline

import (
	"context"
	"encoding/json"
	"io"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// Job is a job as its file says it. Load and Parse make one. Its fields describe it: to run another job, change the
// file, or the values of its variables.
type Job struct {
	Name     string
	Dataset  string // the id of its data set
	Unit     string // the column that names the units, or "row"
	Relation string // add-remove or replace-one
	Releases []Release
	Dir      string // the folder or address of its releases

	whole *job.Job
}

// Release is one release that a job asks for.
type Release struct {
	Name      string
	From      string // the sample, or the whole table
	Mechanism string
}

// Load reads a job file. getenv answers for the variables that the file names, as
// os.LookupEnv does; set gives values to the variables that the job declares, as
// "month=2026-10". Plugins that releases name as name@version come from the job's catalog.
// The error is Problems, or a *Failure where the file cannot be read.
func Load(path string, getenv func(string) (string, bool), set ...string) (*Job, error) {
	return described(pipeline.Load(path, getenv, set...))
}

// Parse reads the text of a job as Load reads its file. path is where the file stands, or will: it need not be there.
func Parse(path string, text []byte, getenv func(string) (string, bool), set ...string) (*Job, error) {
	return described(pipeline.Parse(path, text, getenv, set...))
}

// described tells a job to other programs; nil where it has problems.
func described(j *job.Job, err error) (*Job, error) {
	if err != nil {
		return nil, told(context.Background(), err)
	}
	out := &Job{Name: j.Name, Dataset: j.Dataset.ID, Unit: j.Dataset.Unit, Relation: j.Dataset.Relation.String(), Dir: j.Output.Dir, whole: j}
	for _, r := range j.Releases {
		out.Releases = append(out.Releases, Release{Name: r.Name, From: r.From, Mechanism: r.Mechanism})
	}
	return out, nil
}

// Check finds everything that is wrong with a job and can be known without
// data. It starts the plugins that the job names.
func Check(ctx context.Context, j *Job, o Options) error {
	return told(ctx, pipeline.Check(ctx, j.whole, o.inner()))
}

// Planned is a job with its price, made without data.
type Planned struct {
	Report report.Report // without results

	whole *pipeline.Planned
}

// Plan prices a job and compares the price with what the account has left. It
// starts the mechanisms, and never opens the table. Where the account has not enough left, the
// plan is there beside the error.
func Plan(ctx context.Context, j *Job, o Options) (*Planned, error) {
	p, err := pipeline.Plan(ctx, j.whole, o.inner())
	if p == nil {
		return nil, told(ctx, err)
	}
	return &Planned{Report: p.Report(), whole: p}, told(ctx, err)
}

// MarshalJSON returns the report.
func (p *Planned) MarshalJSON() ([]byte, error) { return p.whole.MarshalJSON() }

// WriteText prints the plan for a person.
func (p *Planned) WriteText(w io.Writer) error { return p.whole.WriteText(w) }

// WriteDetail prints the plan with every draw, event and expected error.
func (p *Planned) WriteDetail(w io.Writer) error { return p.whole.WriteDetail(w) }

// Outcome is the result of a run.
type Outcome struct {
	// Already says that the releases were there: nothing was drawn or debited.
	Already bool
	Dir     string        // the folder that holds the releases
	Report  report.Report // what stands in its report.json
	// Results are the released values by the names of the releases. Where Already,
	// those that could be read back.
	Results map[string]sdk.Result

	whole *pipeline.Outcome
}

// Run carries a job out. Before it reads the first row, it makes the plan, checks
// the table's structure and that the output may be written, and debits the budget
// (P21).
//
// With an hour to publish at, it returns at that hour, whatever happened, and no event is observed before (P33).
func Run(ctx context.Context, j *Job, o Options) (*Outcome, error) {
	done, err := pipeline.Run(ctx, j.whole, o.inner())
	if err != nil {
		return nil, told(ctx, err)
	}
	return &Outcome{Already: done.Already, Dir: done.Dir, Report: done.Report, Results: done.Results, whole: done}, nil
}

// MarshalJSON is the outcome for programs.
func (o *Outcome) MarshalJSON() ([]byte, error) { return json.Marshal(o.whole) }

// WriteText prints a summary for a person.
func (o *Outcome) WriteText(w io.Writer) error { return o.whole.WriteText(w) }

// WriteDetail prints everything that the report says in words.
func (o *Outcome) WriteDetail(w io.Writer) error { return o.whole.WriteDetail(w) }

// LedgerOf returns the address of the ledger that the job names, or of the default
// one in the job's folder.
func LedgerOf(j *Job) (ledger.Address, error) { return pipeline.LedgerOf(j.whole) }
