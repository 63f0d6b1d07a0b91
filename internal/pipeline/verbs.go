package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/run/look"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/report"
)

// Job is a job as its file says it: what Load returns and the other verbs take.
type Job = job.Job

// Load reads a job file. getenv answers for the variables that the file names, as
// os.LookupEnv does; set gives values to the variables that the job declares, as
// "month=2026-10". Plugins that releases name as name@version come from the job's catalog.
// The error is Problems, or a *Failure where the file cannot be read.
func Load(path string, getenv func(string) (string, bool), set ...string) (*Job, error) {
	return read(path, getenv, set, func(o language.Options) (*Job, error) { return language.Read(path, o) })
}

// Parse reads the text of a job as Load reads its file. path is where the file stands, or will: it need not be there.
func Parse(path string, text []byte, getenv func(string) (string, bool), set ...string) (*Job, error) {
	return read(path, getenv, set, func(o language.Options) (*Job, error) { return language.Parse(path, text, o) })
}

func read(path string, getenv func(string) (string, bool), set []string, from func(language.Options) (*Job, error)) (*Job, error) {
	values := map[string]string{}
	for _, text := range set {
		name, value, ok := strings.Cut(text, "=")
		if _, twice := values[name]; twice || !ok || name == "" {
			return nil, failure.New(failure.ExitUsage, "USAGE", "--set %s: must be NAME=VALUE, once for each name", text)
		}
		values[name] = value
	}
	j, err := from(language.Options{Getenv: getenv, Set: values})
	var problems job.Problems
	if err != nil && !errors.As(err, &problems) {
		return nil, failure.New(failure.ExitInvalidJob, "JOB_UNREADABLE", "%s cannot be read: %s", path, failure.Reason(err))
	}
	if j != nil {
		problems = append(problems, approve(j, time.Now())...)
		err = problems.Sort().Err()
	}
	return j, err
}

// Check finds everything that is wrong with a job and can be known without
// data. It starts the plugins that the job names.
func Check(ctx context.Context, j *Job, o Options) error {
	if err := run.CheckLookups(j); err != nil {
		return err
	}
	if _, err := priceOf(ctx, j, o); err != nil {
		return err
	}
	_, err := LedgerOf(j)
	return err
}

// Planned is a job with its price, made without data. It does not change any more.
type Planned struct {
	report report.Report
	limit  string // of the budget, "" for none
}

// Plan prices a job and compares the price with what the account has left. It
// starts the mechanisms, and never opens the table. A plan that comes with an error was
// priced, and its account does not allow it.
func Plan(ctx context.Context, j *Job, o Options) (*Planned, error) {
	p, over := priceOf(ctx, j, o)
	if p == nil {
		return nil, over
	}
	var err error
	done := &Planned{limit: p.Job.Budget.Limit.String()}
	if done.report, err = output.Describe(p, o.Version); err != nil {
		return nil, err
	}
	if err := done.report.Judge(); err != nil {
		return nil, err
	}
	if over != nil {
		return done, over
	}
	done.report.Budget, err = forecast(ctx, p)
	return done, err
}

// Pricer starts the mechanisms of a job once. The first function prices variants of the job
// as Plan does, and leaves out whether their account allows them; the second ends it.
func Pricer(ctx context.Context, j *Job, o Options) (price func(context.Context, *Job) (report.Report, error), stop func()) {
	set := run.NewMechanisms(ctx, j, o.programs(j))
	return func(ctx context.Context, variant *Job) (report.Report, error) {
		p, err := plan.Make(ctx, variant, set, remembered{})
		if err != nil {
			return report.Report{}, err
		}
		return output.Describe(p, o.Version)
	}, func() { set.Close() }
}

// priceOf plans a job with mechanisms of its own.
func priceOf(ctx context.Context, j *Job, o Options) (*plan.Priced, error) {
	set := run.NewMechanisms(ctx, j, o.programs(j))
	defer set.Close()
	return plan.Make(ctx, j, set, remembered{})
}

// MarshalJSON is the plan as a report without results.
func (p *Planned) MarshalJSON() ([]byte, error) { return json.Marshal(&p.report) }

// Report is the plan as a report without results.
func (p *Planned) Report() report.Report { return p.report }

// WriteText prints the plan for a person.
func (p *Planned) WriteText(w io.Writer) error { return report.WritePlan(w, &p.report, p.limit, false) }

// WriteDetail prints the plan with every draw, event and expected error.
func (p *Planned) WriteDetail(w io.Writer) error {
	return report.WritePlan(w, &p.report, p.limit, true)
}

// TakeLook looks at the table of a job before anything is spent. The ledger has its
// record before the first row is read. The error says that nothing could
// be looked at; what would make a run fail is in the answer.
func TakeLook(ctx context.Context, j *Job, o Options) (Looked, error) {
	p, err := priceOf(ctx, j, o)
	if err != nil {
		return Looked{}, err
	}
	l, err := look.Take(ctx, p.Plan, func() (string, error) { return recordLook(ctx, j, o) })
	return Looked{l}, err
}

// Requests lists the questions of the plan of j to one mechanism, one for each release that
// names it: parameters, public facts and the target on the sample. No table is opened.
func Requests(ctx context.Context, j *Job, o Options, mechanism string) ([]sdk.PlanRequest, error) {
	p, err := priceOf(ctx, j, o)
	if err != nil {
		return nil, err
	}
	return p.Requests(mechanism), nil
}

// Witnesses returns the releases at and beside the output folder of a job that say that the ledger id
// paid for them. A run is refused where the ledger does not know one.
func Witnesses(j *Job, id string) []ledger.Seen {
	seen, _ := witnesses(j, id)
	return seen
}

// SeriesTexts says of each series that an account paid for what a unit costs in one period, and in all.
func SeriesTexts(ctx context.Context, l *ledger.Ledger, a *ledger.Account) (texts []string, err error) {
	nodes, err := l.Nodes(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if n.Kind != ledger.KindSeries {
			continue
		}
		s, err := plan.ReadSeriesSetup([]byte(n.Facts))
		if err != nil {
			return nil, err
		}
		texts = append(texts, s.Text())
	}
	return texts, nil
}
