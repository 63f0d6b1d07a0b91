package look

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/report"
)

// LookTable is one of several tables, as if it were the only one, and how its units meet the other tables.
type LookTable struct {
	Name string `json:"name"`
	Look
	Without map[string]int64 `json:"units_without_a_row_in"`
}

// takeTables looks at the tables of a data set one by one, and at the keys by which they are joined (P32).
func takeTables(ctx context.Context, p *plan.Planned, record func() (string, error)) (*Look, error) {
	l := &Look{Warning: "private facts, no differential privacy: never publish this", Version: 1, Job: report.Job{Name: p.Job.Name, Digest: p.Job.Digest()},
		Columns: []LookColumn{}, Others: []string{}, Draws: []LookDraw{}, Groups: []LookGroups{}, Failures: []LookedFailure{}}
	var err error
	if l.Record, err = record(); err != nil {
		return nil, err
	}
	computable := true
	for _, name := range p.Tables() {
		one, err := takeOne(ctx, p.Seen(name), func() (string, error) { return l.Record, nil })
		if err != nil {
			return nil, err
		}
		l.Rows += one.Rows
		l.Declared = one.Declared
		for _, f := range one.Failures {
			computable = computable && f.Code != "SOURCE_NO_SUCH_COLUMN"
			l.Failures = append(l.Failures, LookedFailure{f.Code, "table " + name + ": " + f.Why})
		}
		l.Tables = append(l.Tables, LookTable{Name: name, Look: *one})
	}
	if !computable {
		return l, nil
	}
	keys, err := run.KeysOf(ctx, p)
	var known job.Problems
	if errors.As(err, &known) && ctx.Err() == nil { // keys that cannot be compared
		l.fails("INVALID_JOB", "%s", known.Error())
		return l, nil
	}
	switch m := p.Job.Dataset.Key.Members; {
	case errors.Is(err, run.ErrMember):
		l.fails("DATA_UNIT", "table %s: column %s: a member has two rows, and tables that name members do not say whose their rows are", m.Table, m.Column)
		return l, nil
	case errors.Is(err, units.ErrNullKey):
		l.fails("DATA_UNIT", "a row names a member that table %s does not have, or none; say unit.missing: drop in its table to leave it out", m.Table)
		return l, nil
	case err != nil:
		return nil, run.SourceFailure(ctx, p.Job, err)
	}
	for i := range l.Tables {
		l.Tables[i].Without = keys[l.Tables[i].Name]
	}
	return l, nil
}
