package pipeline

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/report"
)

// account keeps a job from being drawn twice and from spending what it has not
// got. Its steps come in this order: released, debit, published (P21).
type account interface {
	// released returns the outcome of an earlier run of the same job, or nil.
	released() (*Outcome, error)
	// debit makes the spend durable; nothing is drawn before it returns.
	debit() error
	// published makes it durable that the output is in place.
	published() error
}

// openBudget opens the account that a job spends from: the plain record beside
// the output folder.
func openBudget(p *Plan) (account, error) {
	return &plainAccount{plan: p, record: recordOf(p.job.Output.Dir)}, nil
}

type plainAccount struct {
	plan   *Plan
	record record
}

func (a *plainAccount) entry(state string) entry {
	g := a.plan.guaranteed()
	r := a.plan.report
	return entry{State: state, Job: r.Job.Name, Digest: r.Job.Digest, Dataset: r.Dataset.ID, Epsilon: g.Epsilon, Delta: g.Delta}
}

func (a *plainAccount) released() (*Outcome, error) {
	j := a.plan.job
	state, err := a.record.last(a.plan.report.Job.Digest)
	if err != nil {
		return nil, fail(ExitLedger, "RECORD_UNUSABLE", "%s cannot be read as a record of runs; move it away to start a new one", a.record.path)
	}
	taken, err := inspectOutput(j.Output.Dir)
	if err != nil {
		return nil, fail(ExitUsage, "OUTPUT_UNWRITABLE", "output.dir: %s cannot be read", j.Output.Dir)
	}
	if taken == outputTaken {
		if r, ok := storedReport(j.Output.Dir); ok && r.Job.Digest == a.plan.report.Job.Digest {
			return &Outcome{Already: true, Dir: j.Output.Dir, Report: r}, nil
		}
		return nil, oneProblem(j, "output.dir", "already holds something else, which is never overwritten", "name another folder")
	}
	switch state {
	case stateDebited:
		return nil, fail(ExitLedger, "RUN_UNFINISHED", "an earlier run of this job was cut off after its debit, which stays spent; to spend again, give the job another name")
	case statePublished:
		return nil, fail(ExitLedger, "OUTPUT_GONE", "this job was released to %s and its output is gone; to spend again, give the job another name", j.Output.Dir)
	}
	return nil, nil
}

func (a *plainAccount) debit() error {
	if err := a.record.append(a.entry(stateDebited)); err != nil {
		return fail(ExitLedger, "RECORD_UNUSABLE", "%s cannot be written; nothing was drawn", a.record.path)
	}
	return nil
}

func (a *plainAccount) published() error {
	if err := a.record.append(a.entry(statePublished)); err != nil {
		return fail(ExitLedger, "RECORD_UNUSABLE", "the releases are published, and %s cannot be written", a.record.path)
	}
	return nil
}

// storedReport reads the report in an output folder.
func storedReport(dir string) (report.Report, bool) {
	var r report.Report
	b, err := os.ReadFile(filepath.Join(dir, reportFile))
	if err != nil || json.Unmarshal(b, &r) != nil {
		return r, false
	}
	return r, true
}

// problems makes a single problem of a job.
func oneProblem(j *job.Job, path, message, hint string) error {
	return job.Problems{j.Problem(path, message, hint)}
}
