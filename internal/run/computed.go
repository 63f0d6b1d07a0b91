package run

import (
	"context"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
)

// Computed counts what the computed columns of a job hold: derived ones and those of lookups. It is for a look at the
// table, so nothing that is missing or outside of a domain ends it.
func Computed(ctx context.Context, j *job.Job, t *table.Table, content *table.Content, visit func(c job.Column, v table.Values, rows int)) error {
	soft := softened(j)
	var wants []job.Column
	for _, c := range soft.Dataset.Columns {
		if len(soft.Dataset.Partners(c.Name)) > 0 {
			continue // it needs another table
		}
		if isComputed(&c, false) && (c.Derived == nil || !c.Derived.AfterFold) {
			wants = append(wants, c)
		}
	}
	if len(wants) == 0 {
		return nil
	}
	lookups, err := readLookups(soft)
	if err != nil {
		return err
	}
	in, err := newReading(soft, lookups, wants, nil, false)
	if err != nil {
		return err
	}
	return newPass(t, content, in).run(ctx, func(b table.Batch) error {
		for i, c := range in.wants {
			visit(c, in.values[i], b.Rows)
		}
		return nil
	})
}
