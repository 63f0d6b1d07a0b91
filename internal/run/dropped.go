package run

import (
	"context"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/rows/units"
)

// CapDrop counts the rows of units that a release reads, and those that the cap leaves out of it.
type CapDrop struct {
	Release string `json:"release"`
	Rows    int64  `json:"rows"`
	Dropped int64  `json:"dropped"`
}

// CapDrops counts for each release what the cap of the job leaves out. Which rows count is drawn
// anew, so where a unit lies in more groups than count a run may drop a few rows more or less.
// It is for a look at the table (P19), so nothing that is missing or outside of a domain ends it.
func CapDrops(ctx context.Context, p *plan.Planned, t *table.Table, content *table.Content) ([]CapDrop, error) {
	soft, j := *p, softened(p.Job)
	soft.Job = j
	lookups, err := readLookups(j)
	if err != nil {
		return nil, err
	}
	o := &OpenedTable{Table: t, Content: content, rows: t, lookups: lookups, memory: Memory()}
	if s := j.Dataset.Slice; s != nil {
		if err = o.slice(ctx, s); err != nil {
			return nil, err
		}
	}
	null := units.NullUnits(j.Dataset.Key.Missing)
	if null == units.RefuseNulls {
		null = units.DropNulls // counted, and told
	}
	index, err := o.numberUnits(ctx, j.Dataset.Key.Column, null)
	if err != nil {
		return nil, err
	}
	defer index.Close()
	source, err := noise.NewSource()
	if err != nil {
		return nil, err
	}
	r := &tableView{job: j, table: o, index: index, population: index.Units(), numbers: map[string]*units.Index{}}
	defer r.close()
	known := map[string]CapDrop{}
	var out []CapDrop
	for _, rel := range soft.Releases() {
		if rel.Job.CountsUnits() { // before the cap
			continue
		}
		one, done := known[capKey(rel)]
		if !done {
			if one, err = r.capDrop(ctx, rel, source); err != nil {
				return nil, err
			}
			known[capKey(rel)] = one
		}
		one.Release = rel.Job.Name
		out = append(out, one)
	}
	return out, nil
}

// capDrop counts for one condition and one grouping.
func (v *tableView) capDrop(ctx context.Context, rel *plan.PlannedRelease, source *noise.Source) (CapDrop, error) {
	var out CapDrop
	var numbers []int32
	kept, err := v.capOf(ctx, rel, source, func(first int64, cells []int32) error {
		numbers = append(numbers[:0], cells...)
		if err := v.index.Numbers(first, numbers); err != nil {
			return err
		}
		for i, cell := range cells {
			if cell >= 0 && numbers[i] >= 0 {
				out.Rows++
			}
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	out.Dropped = out.Rows - kept.Count()
	return out, nil
}

// softened is a job that drops what another would refuse.
func softened(j *job.Job) *job.Job {
	soft := *j
	soft.Dataset.Columns = nil
	for _, c := range j.Dataset.Columns {
		for _, h := range []*job.Handling{&c.Missing, &c.Outside} {
			if h.Rule == job.Refuse {
				h.Rule = job.Drop
			}
		}
		soft.Dataset.Columns = append(soft.Dataset.Columns, c)
	}
	return &soft
}
